"""Reports of SWE-bench: the report of a run, and the report of one instance.

An instance may stand in several lists of a report: an unreadable one is both completed and an error. Error wins
over resolved, resolved over unresolved, that over an empty patch, that over incomplete. The harness counts every
failure against the whole set; here an error carries no score and an empty patch is the subject's own failure,
and both rates are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evalstats.contract import ExpectationType, Outcome
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.importers.values import flag, items, mapping, number
from evalstats.trials import ExpectationResult

NAME = "swe-bench"
# list of the report -> outcome, score, reason; the first that names an instance decides.
_LISTS: dict[str, tuple[Outcome, float | None, str | None]] = {
    "error_ids": (Outcome.INFRASTRUCTURE, None, "the evaluation of the patch failed"),
    "resolved_ids": (Outcome.OK, 1.0, None),
    "unresolved_ids": (Outcome.OK, 0.0, None),
    "empty_patch_ids": (Outcome.OK, 0.0, "empty patch"),
    "infra_failure_ids": (Outcome.INFRASTRUCTURE, None, "infrastructure failure"),
    "ambiguous_failure_ids": (Outcome.INFRASTRUCTURE, None, "ambiguous failure"),
    "incomplete_ids": (Outcome.MISSING, None, "submitted, never evaluated"),
}
_NOWHERE = (Outcome.MISSING, None, "submitted, in no other list")
_COUNTS = {"submitted_instances": "submitted_ids", "completed_instances": "completed_ids",
           "resolved_instances": "resolved_ids", "unresolved_instances": "unresolved_ids",
           "empty_patch_instances": "empty_patch_ids", "error_instances": "error_ids"}  # fmt: skip
_INSTANCE = {"patch_successfully_applied", "resolved"}
_REPORTS = "logs/run_evaluation"  # below it: run, model, instance, each with its own report


def sniff(log: Log) -> str | None:
    """Recognise a run by its lists of ids, an instance by what it says of its patch."""
    if {"resolved_ids", "unresolved_ids"} <= set(log.top_keys):
        return "the report of a run"
    reports = [mapping(value) for value in log.first.values()] if not log.is_array else []
    if reports and all(set(report) >= _INSTANCE for report in reports):
        return "the report of one instance"
    return None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row for each instance."""
    report = log.object()
    yield from _of_run(log, report) if "resolved_ids" in report else _of_instances(log, report)


def _of_run(log: Log, report: Mapping[str, Any]) -> Iterator[Item]:
    lists = {name: _ids(log, report, name) for name in (*_LISTS, "submitted_ids", "completed_ids")}
    every = list(dict.fromkeys(instance for ids in ("submitted_ids", *_LISTS) for instance in lists[ids]))
    model, _, run_id = log.path.stem.rpartition(".")
    run = _run(model, run_id, log.path.stem, total_instances=report.get("total_instances"))
    run.declared = lambda: _declared(report, lists)
    known = {each.parent.name for each in (log.path.parent / _REPORTS / run_id / model).glob("*/report.json")}
    if known:
        run.warn(
            f"{len(known)} instances have reports of their own beside it, which say more and are read instead"
        )
    strangers = [instance for instance in every if instance not in lists["submitted_ids"]]
    if strangers and "submitted_ids" in report:
        run.warn(
            f"{len(strangers)} instances have a result and were not submitted: {', '.join(strangers[:5])}"
        )
    judged = {instance: _judged(instance, lists) for instance in every}
    _note_denominators(run, number(report.get("total_instances")), judged)
    yield run, None
    kinds = mapping(report.get("failure_reasons"))
    for instance, (outcome, score, reason) in judged.items():
        if instance in known:
            continue
        yield (
            run,
            Row(
                case_id=instance,
                trial_index=1,
                locator=f"instance {instance}",
                outcome=outcome,
                score=score,
                reason=str(kinds[instance]) if outcome is not Outcome.OK and instance in kinds else reason,
                archetype=instance.rpartition("-")[0] or None,
                error_class="evaluation" if outcome is Outcome.INFRASTRUCTURE else None,
            ),
        )


def _run(model: str, run_id: str, name: str, **facts: Any) -> LoggedRun:
    return LoggedRun(
        suite="swe-bench",
        key=("swe-bench", name),
        model=model or None,
        tool="swe-bench",
        facts={"run": run_id, **facts},
    )


def _ids(log: Log, report: Mapping[str, Any], name: str) -> dict[str, None]:
    ids = report.get(name, [])
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise log.error("must be a list of instance ids", field=f"/{name}")
    repeated = next((each for each, count in Counter(ids).items() if count > 1), None)
    if repeated is not None:
        raise log.error(f"names {repeated!r} twice", field=f"/{name}")
    return dict.fromkeys(ids)


def _judged(instance: str, lists: Mapping[str, Any]) -> tuple[Outcome, float | None, str | None]:
    return next((judged for name, judged in _LISTS.items() if instance in lists[name]), _NOWHERE)


def _note_denominators(run: LoggedRun, total: float | None, judged: Mapping[str, Any]) -> None:
    """Say what the tool counts as failed although it has no score."""
    scored = [score for outcome, score, _ in judged.values() if outcome.usable]
    if total is not None and total > len(judged):
        run.warn(
            f"{total - len(judged):g} of {total:g} instances are in no list; the tool counts them as failed"
        )
    if total and scored and len(scored) != total:
        resolved = sum(score or 0 for score in scored)
        run.warn(
            f"resolved: {resolved:g} of {len(scored)} with a score, {resolved:g} of {total:g} as the tool counts"
        )


def _declared(report: Mapping[str, Any], lists: Mapping[str, Any]) -> list[Declared]:
    found = [
        Declared(name=name, declared=value, recomputed=float(len(lists[of])))
        for name, of in _COUNTS.items()
        if (value := number(report.get(name))) is not None and of in report
    ]
    total, named = number(report.get("total_instances")), len({i for ids in lists.values() for i in ids})
    if total is not None and total < named:
        found.append(Declared(name="total_instances", declared=total, recomputed=float(named)))
    return found


def _of_instances(log: Log, report: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the instances of one file; run and model are the folders it lies in, as the harness lays them out."""
    parts = log.path.resolve().parts
    model, run_id = (parts[-3], parts[-4]) if len(parts) > 4 else ("", "")
    run = _run(model, run_id, f"{model}.{run_id}" if run_id else log.sha256)
    for instance, found in report.items():
        resolved = flag(mapping(found).get("resolved"))
        if resolved is None:
            raise log.error("must be true or false", field=f"/{instance}/resolved")
        yield (
            run,
            Row(
                case_id=instance,
                trial_index=1,
                locator=f"/{instance}",
                score=float(resolved),
                reason="empty patch" if found.get("patch_is_None") else None,
                archetype=instance.rpartition("-")[0] or None,
                expectations=tuple(_tests(mapping(found.get("tests_status")))),
            ),
        )


def _tests(status: Mapping[str, Any]) -> Iterator[ExpectationResult]:
    index = 0
    for group in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        for ending in ("success", "failure"):
            for name in items(mapping(status.get(group)).get(ending)):
                yield ExpectationResult(
                    index=index, type=ExpectationType.EXIT_CODE, required=True, passed=ending == "success",
                    detail=f"{group}: {name}",
                )  # fmt: skip
                index += 1
