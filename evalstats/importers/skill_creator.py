"""Benchmarks of skill-creator: ``benchmark.json`` with its runs, in two shapes, and ``grading.json`` of one run.

Many files called benchmark.json hold other things, so the shape is recognised by its keys. Aggregates without
runs are refused: they have no trials. What a file declares is computed again from its expectations; a model name
that is a placeholder, a time of 0 and the characters that stand in for tokens then are not known.
"""

from __future__ import annotations

import contextlib
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstats.contract import Arm, ExpectationType
from evalstats.errors import LogError
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row, arm_of
from evalstats.importers.values import flag, mapping, number, text, whole
from evalstats.trials import ExpectationResult

NAME = "skill-creator"
_ROUNDED = 5e-5  # the aggregator writes four decimals
_GRADED = ("expectations", "assertion_results", "assertions")  # how the checks of a run are called
_SUMMARIES = ("run_summary", "configurations", "configs", "summary")


def sniff(log: Log) -> str | None:
    """Recognise a benchmark by its runs or its aggregates, a grading by its expectations and their summary."""
    keys = set(log.top_keys)
    if "runs" in keys and keys & {"run_summary", "skill_name"} and keys & {"metadata", "skill_name"}:
        return "a benchmark with its runs"
    if "summary" in keys and keys & set(_GRADED) and not keys & {"cases", "baseline", "with_skill"}:
        return "the grading of one run"
    if keys & {"skill_name", "metadata"} and keys & set(_SUMMARIES) and "runs" not in keys:
        return "a benchmark, aggregates only" if _is_aggregate(log) else None
    return None


def _is_aggregate(log: Log) -> bool:
    arms = _aggregates(log.first)
    return any(arm_of(name) is not None for name in arms)


def _aggregates(document: Mapping[str, Any]) -> Mapping[str, Any]:
    found = [document[name] for name in _SUMMARIES if isinstance(document.get(name), dict)]
    return found[0] if found else {}


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row a run of an eval in a configuration."""
    document = log.object()
    if "runs" not in document and set(document) & set(_GRADED):
        yield from _grading(log, document)
    elif "runs" not in document:
        raise log.refused(_refusal(document))
    elif not isinstance(document["runs"], list):
        raise log.error("must be an array", field="/runs")
    elif _gradings_beside(log):
        run = LoggedRun(suite="benchmark", key=(NAME, log.sha256), tool=NAME)
        run.warn("its gradings lie beside it and are read instead: they say more")
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
    """The arms of one benchmark, made as they are met."""

    def __init__(self, suite: str, key: tuple[str, ...], **facts: Any) -> None:
        self.suite, self.key, self.facts = suite, key, facts
        self.found: dict[str, LoggedRun] = {}
        self.rates: dict[str, list[float]] = defaultdict(list)
        self.told: dict[str, list[Declared]] = defaultdict(list)

    def of(self, configuration: str) -> LoggedRun:
        run = self.found.get(configuration)
        if run is None:
            arm = arm_of(configuration)
            run = self.found[configuration] = LoggedRun(
                suite=self.suite, key=(*self.key, configuration), group=self.key, arm=arm or Arm.CANDIDATE,
                label=configuration, tool=NAME, **self.facts,
            )  # fmt: skip
            if arm is None:
                run.warn(f"{configuration!r} is no known arm and is taken as a candidate; see --arm")
        return run

    def meet(self, configuration: str, row: Row, result: Mapping[str, Any]) -> LoggedRun:
        """Return the run of a row, and keep what the row's own counts and its expectations disagree about."""
        if row.score is not None:
            self.rates[configuration].append(row.score)
        again = {"passed": sum(c.passed is True for c in row.expectations), "total": len(row.expectations)}
        for name, count in again.items() if row.expectations else ():
            said = number(result.get(name))
            if said is not None and said != count:
                label = f"{name} of {configuration} {row.case_id}, run {row.trial_index}"
                self.told[configuration].append(Declared(name=label, declared=said, recomputed=float(count)))
        return self.of(configuration)

    def declare(self, summary: Mapping[str, Any]) -> None:
        """Let each run tell what the benchmark says of its arm."""
        for name, run in self.found.items():
            found = [*_declared(name, mapping(summary.get(name)), self.rates[name]), *self.told[name]]
            run.declared = lambda found=found: found  # type: ignore[misc]

    def warn(self, sentence: str) -> None:
        for run in self.found.values():
            run.warn(sentence)


def _benchmark(log: Log, document: Mapping[str, Any]) -> Iterator[Item]:
    meta = mapping(document.get("metadata"))
    name = text(meta.get("skill_name")) or text(document.get("skill_name")) or log.path.stem
    when = text(meta.get("timestamp"))
    runs = _Runs(
        name, (NAME, name, when or log.sha256), created_at=when, model=_model(meta.get("executor_model"))
    )
    counted: Counter[tuple[str, str]] = Counter()
    asked: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for locator, case, trial, configuration, result in _results(log, document["runs"]):
        row = _row(log, locator, case, trial, result)
        counted[configuration, case] += 1
        asked[case][configuration] = frozenset(check.detail for check in row.expectations)
        yield runs.meet(configuration, row, result), row
    runs.declare(mapping(document.get("run_summary")))
    if len(set(counted.values())) > 1:
        most = max(counted.values())
        short = [f"{case} {name} {n}" for (name, case), n in counted.items() if n < most]
        runs.warn(f"runs are missing (others have {most}): {', '.join(short[:5])}")
    unequal = [case for case, arms in asked.items() if len(set(arms.values())) > 1]
    if unequal:
        runs.warn(f"the arms were graded on different expectations: no lift on {', '.join(unequal[:5])}")


def _results(log: Log, runs: Sequence[Any]) -> Iterator[tuple[str, str, int, str, Mapping[str, Any]]]:
    """Yield (place, case, trial, configuration, result) from either shape of the runs."""
    for index, run in enumerate(runs):
        place, case = f"/runs/{index}", mapping(run).get("eval_id")
        if not isinstance(case, (str, int)) or isinstance(case, bool):
            raise log.error("a run needs its eval_id", field=place)
        if text(run.get("configuration")):
            result = mapping(run.get("result"))
            yield (
                place,
                str(case),
                _number_of(log, place, run, "run_number", 1),
                run["configuration"],
                run | result,
            )
            continue
        arms = [name for name, arm in run.items() if isinstance(arm, dict) and arm_of(name) is not None]
        if not arms:
            raise log.error("a run needs its configuration", field=place)
        for name in arms:
            yield (
                f"{place}/{name}",
                str(case),
                _number_of(log, place, run, "run_index", 0) + 1,
                name,
                run[name],
            )


def _number_of(log: Log, place: str, run: Mapping[str, Any], name: str, first: int) -> int:
    found = whole(run.get(name, first))
    if found is None or found < first:
        raise log.error(f"counts from {first}", field=f"{place}/{name}")
    return found


def _row(log: Log, locator: str, case: str, trial: int, result: Mapping[str, Any]) -> Row:
    checks = tuple(_checks(log, locator, next((result[n] for n in _GRADED if result.get(n)), [])))
    passed, total = whole(result.get("passed")), whole(result.get("total"))
    reason = None if checks or total else "neither expectations nor counts"
    if checks:
        passed, total = sum(check.passed is True for check in checks), len(checks)
        undecided = sum(check.passed is None for check in checks)
        if undecided:
            passed, reason = None, f"{undecided} of {total} expectations are undecided"
    metrics, timing = mapping(result.get("execution_metrics")), mapping(result.get("timing"))
    tokens = mapping(metrics.get("token_counts"))
    seconds = [
        result.get("time_seconds"),
        timing.get("elapsed_seconds"),
        timing.get("total_duration_seconds"),
    ]
    calls = [result.get("tool_calls"), metrics.get("total_tool_calls"), metrics.get("tool_calls")]
    return Row(
        case_id=case,
        trial_index=trial,
        locator=locator,
        score=passed / total if passed is not None and total else None,
        reason=reason,
        content={"eval": case, "expectations": [check.detail for check in checks] or total},
        about=result,
        expectations=checks,
        # the aggregator writes 0 for a time that is not known
        duration_s=next((found for each in seconds if (found := number(each))), None),
        tokens_in=whole(tokens.get("input_tokens")),
        tokens_out=whole(tokens.get("output_tokens")),
        tokens_cache=whole(tokens.get("cache_read_input_tokens")),
        tool_calls=next((found for each in calls if (found := whole(each)) is not None), None),
    )


def _checks(log: Log, locator: str, graded: Any) -> Iterator[ExpectationResult]:
    if not isinstance(graded, list):
        raise log.error("must be an array", field=f"{locator}/expectations")
    for index, each in enumerate(graded):
        if not isinstance(each, dict):
            raise log.error("must be an object", field=f"{locator}/expectations/{index}")
        yield ExpectationResult(
            index=index,
            type=ExpectationType.JUDGE,
            required=True,
            passed=flag(each.get("passed")),
            detail=str(each.get("text", "")),
        )


def _declared(name: str, summary: Mapping[str, Any], rates: Sequence[float]) -> list[Declared]:
    told = mapping(summary.get("pass_rate"))
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
    case, configuration, trial, above = _place(log.path.resolve().parts[:-1])
    summary, timing = mapping(document.get("summary")), _beside(log, "timing.json")
    result = {**document, **summary}
    result["timing"] = {**timing, **mapping(document.get("timing"))}
    row = _row(log, "/expectations", case, trial, result)
    runs = _Runs(above[0].removesuffix("-workspace"), (NAME, *above))
    run = runs.meet(configuration, row, summary)
    runs.declare({})
    yield run, row


def _beside(log: Log, name: str) -> Mapping[str, Any]:
    """Return the document called ``name`` in the same folder, where there is one that can be read."""
    other = log.beside(name)
    with contextlib.suppress(LogError):
        return mapping(other.json()) if other.exists() else {}
    return {}


def _place(folders: Sequence[str]) -> tuple[str, str, int, tuple[str, ...]]:
    """Return (case, configuration, trial, folders above) from .../eval-NAME/CONFIGURATION[/run-K]."""
    rest = list(folders)
    trial, configuration = 1, "with_skill"
    if rest and rest[-1].startswith("run-") and rest[-1][4:].isdecimal():
        trial = int(rest.pop()[4:]) or 1
    if rest and arm_of(rest[-1]) is not None:
        configuration = rest.pop()
    case = rest.pop().removeprefix("eval-") if rest else "eval"
    if rest and rest[-1] == "runs":  # a level that older layouts have
        rest.pop()
    return case or "eval", configuration, trial, tuple(rest[-2:]) or ("skill",)


def _model(value: Any) -> str | None:
    """Return the model, unless it is the placeholder that the template leaves."""
    name = text(value)
    return None if name is None or name.startswith("<") else name
