"""Benchmarks of skill-creator: ``benchmark.json`` with its runs, in two shapes, and ``grading.json`` of one run.

Many files called benchmark.json hold other things, so the shape is recognised by its keys. Aggregates without
runs are refused: they have no trials. What a file declares is computed again from its expectations; a model name
that is a placeholder, a time of 0 and the characters that stand in for tokens then are not known.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalstats.contract import Arm, ExpectationType
from evalstats.importers.logs import Log, number, whole
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row, arm_of
from evalstats.trials import ExpectationResult

NAME = "skill-creator"
_ROUNDED = 5e-5  # the aggregator writes four decimals
_SUMMARIES = ("run_summary", "configurations", "configs", "summary")


def sniff(log: Log) -> str | None:
    """Recognise a benchmark by its runs or its aggregates, a grading by its expectations and their summary."""
    keys = set(log.top_keys)
    if {"metadata", "runs"} <= keys and keys & {"run_summary", "skill_name", "notes"}:
        return "a benchmark with its runs"
    if {"expectations", "summary"} <= keys and not keys & {"cases", "baseline"}:
        return "the grading of one run"
    if keys & {"skill_name", "metadata"} and keys & set(_SUMMARIES) and "runs" not in keys:
        return "a benchmark, aggregates only" if _is_aggregate(log) else None
    return None


def _is_aggregate(log: Log) -> bool:
    arms = _aggregates(log.first_object or {})
    return any(arm_of(name) is not None for name in arms)


def _aggregates(document: Mapping[str, Any]) -> Mapping[str, Any]:
    found = [document[name] for name in _SUMMARIES if isinstance(document.get(name), dict)]
    return found[0] if found else {}


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row a run of an eval in a configuration."""
    document = log.json()
    if not isinstance(document, dict):
        raise log.error("must be an object")
    if "expectations" in document:
        yield from _grading(log, document)
    elif not isinstance(document.get("runs"), list):
        raise log.error(_refusal(document))
    elif _gradings_beside(log):
        run = LoggedRun(suite="benchmark", key=(NAME, log.sha256), tool=NAME)
        run.warnings.append("its gradings lie beside it and are read instead: they say more")
        yield run, None
    else:
        yield from _benchmark(log, document)


def _refusal(document: Mapping[str, Any]) -> str:
    """Return why aggregates cannot be read, with the sizes of the arms where they differ."""
    arms = _aggregates(document)
    sizes = {name: str(arm["pass_rate"]).rpartition("/")[2] for name, arm in arms.items()
             if isinstance(arm, dict) and "/" in str(arm.get("pass_rate"))}  # fmt: skip
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} on {size}" for name, size in sizes.items())
        return f"the arms were graded on different expectations ({told}): no lift; and it holds no runs"
    return "holds aggregates only: no run, so no trial, and no interval; import the gradings of the runs"


def _gradings_beside(log: Log) -> bool:
    return next(log.path.parent.glob("eval-*/**/grading.json"), None) is not None


class _Runs:
    """The two arms of one benchmark, made as they are met."""

    def __init__(self, log: Log, suite: str, key: tuple[str, ...], **facts: Any) -> None:
        self.log, self.suite, self.key, self.facts = log, suite, key, facts
        self.found: dict[str, LoggedRun] = {}
        self.rates: dict[str, list[float]] = defaultdict(list)

    def of(self, configuration: str) -> LoggedRun:
        if configuration not in self.found:
            arm = arm_of(configuration)
            self.found[configuration] = LoggedRun(
                suite=self.suite, key=(*self.key, configuration), group=self.key, arm=arm or Arm.CANDIDATE,
                tool=NAME, **self.facts,
            )  # fmt: skip
            if arm is None:
                note = f"{configuration!r} is no known arm and is taken as a candidate; see --arm"
                self.found[configuration].warnings.append(note)
        return self.found[configuration]

    def declare(self, summary: Mapping[str, Any]) -> None:
        for name, run in self.found.items():
            run.declared = lambda name=name: _declared(name, _mapping(summary.get(name)), self.rates[name])  # type: ignore[misc]


def _benchmark(log: Log, document: Mapping[str, Any]) -> Iterator[Item]:
    meta = _mapping(document.get("metadata"))
    name = _text(meta.get("skill_name")) or _text(document.get("skill_name")) or log.path.stem
    when = _text(meta.get("timestamp"))
    key = (NAME, name, when or log.sha256)
    runs = _Runs(log, name, key, created_at=when, model=_model(meta.get("executor_model")))
    counted: Counter[tuple[str, str]] = Counter()
    for locator, case, trial, configuration, result in _results(log, document["runs"]):
        run = runs.of(configuration)
        row = _row(log, locator, case, trial, result)
        counted[configuration, case] += 1
        if row.score is not None:
            runs.rates[configuration].append(row.score)
        yield run, row
    runs.declare(_mapping(document.get("run_summary")))
    if len(set(counted.values())) > 1:
        most = max(counted.values())
        short = [f"{case} {name} {n}" for (name, case), n in counted.items() if n < most]
        for run in runs.found.values():
            run.warnings.append(f"runs are missing (others have {most}): {', '.join(short[:5])}")


def _results(log: Log, runs: Sequence[Any]) -> Iterator[tuple[str, str, int, str, Mapping[str, Any]]]:
    """Yield (place, case, trial, configuration, result) from either shape of the runs."""
    for index, run in enumerate(runs):
        place = f"/runs/{index}"
        if not isinstance(run, dict) or not isinstance(run.get("eval_id"), (str, int)):
            raise log.error("a run needs its eval_id", field=place)
        case = str(run.get("eval_id"))
        if isinstance(run.get("configuration"), str):
            result = _mapping(run.get("result"))
            yield place, case, whole(run.get("run_number")) or 1, run["configuration"], {**run, **result}
            continue
        arms = [name for name, arm in run.items() if isinstance(arm, dict) and arm_of(name) is not None]
        if not arms:
            raise log.error("a run needs its configuration", field=place)
        for name in arms:
            yield f"{place}/{name}", case, (whole(run.get("run_index")) or 0) + 1, name, run[name]


def _row(log: Log, locator: str, case: str, trial: int, result: Mapping[str, Any]) -> Row:
    graded = result.get("expectations") or result.get("assertion_results") or result.get("assertions") or []
    checks = tuple(_checks(log, locator, graded))
    passed, total = whole(result.get("passed")), whole(result.get("total"))
    if checks:
        passed, total = sum(check.passed is True for check in checks), len(checks)
    metrics, timing = _mapping(result.get("execution_metrics")), _mapping(result.get("timing"))
    tokens = _mapping(metrics.get("token_counts"))
    seconds = number(result.get("time_seconds")) or number(timing.get("elapsed_seconds"))
    return Row(
        case_id=case,
        trial_index=trial,
        locator=locator,
        score=passed / total if passed is not None and total else None,
        reason=None if total else "neither expectations nor counts",
        content={"eval": case, "expectations": [check.detail for check in checks] or total},
        about=result,
        expectations=checks,
        duration_s=seconds or None,  # the aggregator writes 0 for a time that is not known
        tokens_in=whole(tokens.get("input_tokens")),
        tokens_out=whole(tokens.get("output_tokens")),
        tokens_cache=whole(tokens.get("cache_read_input_tokens")),
        tool_calls=whole(
            result.get("tool_calls", metrics.get("total_tool_calls", metrics.get("tool_calls")))
        ),
    )


def _checks(log: Log, locator: str, graded: Any) -> Iterator[ExpectationResult]:
    if not isinstance(graded, list):
        raise log.error("must be an array", field=f"{locator}/expectations")
    for index, each in enumerate(graded):
        if not isinstance(each, dict):
            raise log.error("must be an object", field=f"{locator}/expectations/{index}")
        passed = each.get("passed")
        yield ExpectationResult(
            index=index,
            type=ExpectationType.JUDGE,
            required=True,
            passed=passed if isinstance(passed, bool) else None,
            detail=str(each.get("text", ""))[:500],
        )


def _declared(name: str, summary: Mapping[str, Any], rates: Sequence[float]) -> list[Declared]:
    rate = summary.get("pass_rate")
    told = rate if isinstance(rate, dict) else {}
    mean = number(told.get("mean", summary.get("mean_pass_rate")))
    spread = number(told.get("stddev", summary.get("stddev_pass_rate")))
    found = []
    if mean is not None and rates:
        found.append(_figure(f"{name} pass_rate mean", mean, statistics.fmean(rates)))
    if spread is not None and len(rates) > 1:
        found.append(_figure(f"{name} pass_rate stddev", spread, statistics.stdev(rates)))
    return found


def _figure(name: str, declared: float, recomputed: float) -> Declared:
    return Declared(name=name, declared=declared, recomputed=recomputed, tolerance=_ROUNDED)


def _grading(log: Log, document: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the one run of a grading; case, arm and number are the folders it lies in."""
    case, configuration, trial = _place(log.path.resolve().parts[:-1])
    iteration = "/".join(log.path.resolve().parts[-6:-3])
    runs = _Runs(log, "skill", (NAME, iteration))
    result = {**document, **_mapping(document.get("summary"))}
    row = _row(log, "/expectations", case, trial, result)
    run = runs.of(configuration)
    summary = _mapping(document.get("summary"))
    counted = [c.passed is True for c in row.expectations]
    figures = {"passed": float(sum(counted)), "total": float(len(counted))}
    run.declared = lambda: [
        Declared(name=f"{case} {name}", declared=value, recomputed=again)
        for name, again in figures.items()
        if (value := number(summary.get(name))) is not None
    ]
    yield run, row


def _place(folders: Sequence[str]) -> tuple[str, str, int]:
    """Return (case, configuration, trial) from .../eval-NAME/CONFIGURATION[/run-K]."""
    above: Iterable[str] = reversed(folders)
    trial, configuration, case = 1, "with_skill", folders[-1] if folders else "eval"
    for folder in above:
        if folder.startswith("run-") and folder[4:].isdigit():
            trial = int(folder[4:])
        elif arm_of(folder) is not None:
            configuration = folder
        else:
            case = folder.removeprefix("eval-")
            break
    return case, configuration, trial


def _model(value: Any) -> str | None:
    """Return the model, unless it is the placeholder that the template leaves."""
    name = _text(value)
    return None if name is None or name.startswith("<") else name


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
