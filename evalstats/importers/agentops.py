"""Evidence of the AgentOps family: run records, scorecards, verdicts; what comes as lines is in `agentops_lines`.

A run record and a scorecard tell one result a case, so each is one trial; what they average over is not there to
be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalstats import contract
from evalstats.contract import Arm, ExpectationType, Outcome
from evalstats.importers import agentops_lines
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row, arm_of
from evalstats.importers.values import flag, items, mapping, number, text, whole
from evalstats.trials import ExpectationResult

NAME = "agentops"
_STATUS = {
    "pass": Outcome.OK, "fail": Outcome.OK, "error": Outcome.INFRASTRUCTURE, "skipped": Outcome.SKIPPED,
    "inconclusive": Outcome.UNSCORED,
}  # fmt: skip
_RIGHT = {"caught": 1.0, "correct_ack": 1.0, "escaped": 0.0, "false_refute": 0.0}

Reader = Callable[[Log, Options], Iterator[Item]]


def sniff(log: Log) -> str | None:
    """Recognise each kind of evidence by the keys of its object, or of its first line."""
    kind = _kind(log)
    return None if kind is None else kind[0]


def _kind(log: Log) -> tuple[str, Reader] | None:
    keys = set(log.top_keys)
    return next(((name, reader) for wanted, name, reader in _KINDS if wanted <= keys), None)


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the rows of whichever kind the file is."""
    kind = _kind(log)
    if kind is None:
        raise log.error("is no evidence of a known kind")
    yield from kind[1](log, options)


def _array(log: Log, document: Mapping[str, Any], name: str) -> list[Any]:
    """Return an array of objects at the top of a document. Raises LogError."""
    found = document.get(name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise log.error("must be an array of objects", field=f"/{name}")
    return found


def _record(log: Log, options: Options) -> Iterator[Item]:
    record = log.object()
    if contract.is_private(record):
        raise log.refused("is a run of a private suite, which stays in its own tree")
    suite, runtime = mapping(record.get("suite")), mapping(record.get("runtime"))
    cases = _array(log, record, "case_results")
    if not text(suite.get("id")) or not text(record.get("run_id")):
        raise log.error("a run record needs its run_id and the id of its suite", field="/suite/id")
    arm = arm_of(str(record.get("arm", ""))) or Arm.SKILL_ON
    run = LoggedRun(
        suite=suite["id"],
        key=(NAME, "run", record["run_id"]),
        arm=Arm.SKILL_OFF if mapping(record.get("environment")).get("hooks_disabled") else arm,
        model=text(runtime.get("model")),
        judge_model=text(record.get("judge_model")),
        tool=text(runtime.get("name")),
        tool_version=text(runtime.get("version")),
        created_at=text(record.get("started_at")),
        is_mock=bool(record.get("is_mock")) or runtime.get("name") == "mock",
        scoring=suite.get("sha256"),
        facts={"run_id": record["run_id"], "status": record.get("status"), "git": record.get("git")},
    )
    yield run, None
    if (log.path.parent / "journal").is_dir():
        run.warn("its journal lies beside it and is read instead: it says more")
        return
    for index, case in enumerate(cases):
        yield run, _case(log, case, f"/case_results/{index}")


def _case(log: Log, case: Mapping[str, Any], locator: str) -> Row:
    status = case.get("status")
    outcome = _STATUS.get(status) if isinstance(status, str) else None
    if not text(case.get("id")) or outcome is None:
        raise log.error(f"a case result needs its id, and a status: {', '.join(_STATUS)}", field=locator)
    milliseconds = number(case.get("duration_ms"))
    notes = items(case.get("diagnostics"))
    return Row(
        case_id=case["id"],
        trial_index=1,
        locator=locator,
        outcome=outcome,
        score=number(case.get("score")) if outcome is Outcome.OK else None,
        passed=status == "pass" if outcome is Outcome.OK else None,
        reason=None if outcome is Outcome.OK else status,
        scores={name: number(value) for name, value in mapping(case.get("dimension_scores")).items()},
        about=case,
        duration_s=None if milliseconds is None else milliseconds / 1000,
        stop_reason="; ".join(str(note) for note in notes)[:200] or None,
    )


def _scorecard(log: Log, options: Options) -> Iterator[Item]:
    """Read a scorecard of two arms: one trial for each case and arm."""
    card = log.object()
    cases, suite = _array(log, card, "per_case"), text(card.get("suite_id"))
    if suite is None:
        raise log.error("must be the id of a suite", field="/suite_id")
    group = (NAME, "scorecard", str(card.get("skill_on_run_id")), str(card.get("skill_off_run_id")))
    for side, arm in (("skill_on", Arm.SKILL_ON), ("skill_off", Arm.SKILL_OFF)):
        run = LoggedRun(
            suite=suite, key=(*group, side), group=group, arm=arm, tool=NAME,
            created_at=text(card.get("generated_at")),
        )  # fmt: skip
        run.warn("a scorecard tells one result a case and arm: run-to-run noise is not in it")
        yield run, None
        for index, case in enumerate(cases):
            one = {
                "id": case.get("case_id"),
                "status": case.get(f"{side}_status"),
                "score": case.get(f"{side}_score"),
            }
            yield run, _case(log, one, f"/per_case/{index}")


def _plugin_scorecard(log: Log, options: Options) -> Iterator[Item]:
    """Read a scorecard of criteria: the share met of each case in each configuration, pooled over its runs."""
    card = log.object()
    behavior = mapping(card.get("behavior"))
    cases = mapping(behavior.get("cases"))
    if not cases or not all(isinstance(case, dict) for case in cases.values()):
        raise log.error("must hold cases by name", field="/behavior/cases")
    names = dict.fromkeys(
        name for case in cases.values() for name, arm in case.items() if isinstance(arm, dict)
    )
    group = (NAME, "plugin-eval", str(card.get("date")), str(card.get("model")))
    for name in names:
        run = LoggedRun(
            suite="plugin-eval",
            key=(*group, name),
            group=group,
            label=name,
            arm=Arm.SKILL_OFF if name.startswith("without") else Arm.SKILL_ON,
            model=text(card.get("model")),
            judge_model=text(card.get("grader")),
            tool=text(card.get("evaluator")),
            created_at=text(card.get("date")),
            facts={"configuration": name},
        )
        run.warn("the runs of a case are pooled: run-to-run noise is not in it")
        met = Counter[str]()
        run.declared = _totals(name, mapping(mapping(behavior.get("totals_all_cases")).get(name)), met)
        yield run, None
        for case, arms in cases.items():
            if isinstance(arms.get(name), dict):
                met["met"] += whole(arms[name].get("criteria_met")) or 0
                met["total"] += whole(arms[name].get("criteria_total")) or 0
                yield run, _criteria(case, arms[name], arms.get("criteria"))


def _totals(name: str, told: Mapping[str, Any], met: Mapping[str, int]) -> Callable[[], list[Declared]]:
    pairs = (("criteria_met", "met"), ("criteria_total", "total"))
    return lambda: [
        Declared(name=f"{name} {figure}", declared=value, recomputed=float(met[own]))
        for figure, own in pairs
        if (value := number(told.get(figure))) is not None
    ]


def _criteria(case: str, arm: Mapping[str, Any], texts: Any) -> Row:
    met, total, runs = (whole(arm.get(k)) for k in ("criteria_met", "criteria_total", "runs"))
    return Row(
        case_id=case,
        trial_index=1,
        locator=f"/behavior/cases/{case}",
        score=met / total if met is not None and total else None,
        reason=None if total else "no criteria",
        content=texts,
        expectations=tuple(
            ExpectationResult(
                index=i, type=ExpectationType.JUDGE, required=True, detail=f"met in {count} of {runs}",
                passed=True if count == runs else False if count == 0 else None,
            )
            for i, count in enumerate(items(arm.get("per_criterion")))
        ),
    )  # fmt: skip


def _verdicts(log: Log, options: Options) -> Iterator[Item]:
    """Read a verifier's verdicts: it is right when it refutes false work and accepts true work."""
    card = log.object()
    run = LoggedRun(
        suite="membrane", key=(NAME, "membrane", str(card.get("generated_at"))), model=text(card.get("verifier")),
        tool=NAME, created_at=text(card.get("generated_at")), is_mock=bool(card.get("dry_run")),
    )  # fmt: skip
    yield run, None
    for index, task in enumerate(_array(log, card, "per_task")):
        degraded, judged = flag(task.get("degraded")) or False, task.get("class")
        if not text(task.get("task")) or not (degraded or (isinstance(judged, str) and judged in _RIGHT)):
            raise log.error(f"needs its task and a class: {', '.join(_RIGHT)}", field=f"/per_task/{index}")
        yield (
            run,
            Row(
                case_id=task["task"],
                trial_index=1,
                locator=f"/per_task/{index}",
                outcome=Outcome.DEGRADED if degraded else Outcome.OK,
                score=_RIGHT.get(judged) if isinstance(judged, str) else None,
                reason="the verifier was degraded" if degraded else None,
            ),
        )


_KINDS: tuple[tuple[set[str], str, Reader], ...] = (
    ({"run_id", "suite", "case_results"}, "a run record", _record),
    ({"suite_id", "per_case", "skill_on_run_id"}, "a scorecard of two arms", _scorecard),
    ({"schema", "behavior", "runs_per_case"}, "a scorecard of criteria", _plugin_scorecard),
    ({"per_task", "verifier", "totals"}, "verdicts of a verifier", _verdicts),
    ({"run_id", "n_false_dones", "n_missed"}, "a series of escapes", agentops_lines.escapes),
    ({"task", "score", "arm"}, "trials, one a line", agentops_lines.trials),
    ({"task", "score", "rep"}, "trials, one a line", agentops_lines.trials),
    ({"sample_id", "arm", "value"}, "inputs of a bootstrap, one a line", agentops_lines.trials),
    ({"sample_id", "arm", "score"}, "inputs of a bootstrap, one a line", agentops_lines.trials),
)
