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
from evalstats.importers.logs import Log, number
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.trials import ExpectationResult

NAME = "swe-bench"
# list of the report -> outcome, score, reason; the first that names an instance decides.
_LISTS: tuple[tuple[str, Outcome, float | None, str | None], ...] = (
    ("error_ids", Outcome.INFRASTRUCTURE, None, "the evaluation of the patch failed"),
    ("resolved_ids", Outcome.OK, 1.0, None),
    ("unresolved_ids", Outcome.OK, 0.0, None),
    ("empty_patch_ids", Outcome.OK, 0.0, "empty patch"),
    ("infra_failure_ids", Outcome.INFRASTRUCTURE, None, "infrastructure failure"),
    ("ambiguous_failure_ids", Outcome.INFRASTRUCTURE, None, "ambiguous failure"),
    ("incomplete_ids", Outcome.MISSING, None, "submitted, never evaluated"),
)
_COUNTS = {"resolved_instances": "resolved_ids", "unresolved_instances": "unresolved_ids",
           "empty_patch_instances": "empty_patch_ids", "error_instances": "error_ids"}  # fmt: skip
_INSTANCE = {"patch_successfully_applied", "resolved"}


def sniff(log: Log) -> str | None:
    """Recognise a run by its lists of ids, an instance by what it says of its patch."""
    if {"resolved_ids", "unresolved_ids"} <= set(log.top_keys):
        return "the report of a run"
    first = log.first_object or {}
    reports = [value for value in first.values() if isinstance(value, dict)]
    if reports and len(reports) == len(first) and all(_INSTANCE <= set(report) for report in reports):
        return "the report of one instance"
    return None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield one row for each instance."""
    report = log.json()
    if not isinstance(report, dict):
        raise log.error("must be an object")
    yield from _of_run(log, report) if "resolved_ids" in report else _of_instances(log, report)


def _of_run(log: Log, report: Mapping[str, Any]) -> Iterator[Item]:
    lists = {name: _ids(log, report, name) for name, *_ in _LISTS}
    named = [instance for ids in lists.values() for instance in ids]
    every = list(dict.fromkeys([*_ids(log, report, "submitted_ids"), *named]))
    model, _, run_id = log.path.stem.rpartition(".")
    run = LoggedRun(
        suite="swe-bench",
        key=("swe-bench", log.path.stem),
        model=model or None,
        tool="swe-bench",
        facts={"run": run_id, "total_instances": report.get("total_instances")},
    )
    run.declared = lambda: _declared(report, lists)
    total, left = number(report.get("total_instances")), len(every)
    if total is not None and total > left:
        run.warnings.append(
            f"{total - left:g} of {total:g} instances are in no list; the tool counts them as failed"
        )
    resolved = len(lists["resolved_ids"])
    scored = sum(_judged(instance, lists)[0].usable for instance in every)
    if total and scored and scored != total:
        run.warnings.append(
            f"resolved: {resolved} of {scored} with a score, {resolved} of {total:g} as the tool counts"
        )
    for instance in every:
        outcome, score, reason = _judged(instance, lists)
        kinds = _mapping(report.get("failure_reasons"))
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
    if not every:
        yield run, None


def _ids(log: Log, report: Mapping[str, Any], name: str) -> list[str]:
    ids = report.get(name, [])
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise log.error("must be a list of instance ids", field=f"/{name}")
    repeated = [each for each, count in Counter(ids).items() if count > 1]
    if repeated:
        raise log.error(f"names {repeated[0]!r} twice", field=f"/{name}")
    return ids


def _judged(instance: str, lists: Mapping[str, list[str]]) -> tuple[Outcome, float | None, str | None]:
    for name, outcome, score, reason in _LISTS:
        if instance in lists[name]:
            return outcome, score, reason
    return Outcome.MISSING, None, "submitted, in no other list"


def _declared(report: Mapping[str, Any], lists: Mapping[str, list[str]]) -> list[Declared]:
    return [
        Declared(name=name, declared=value, recomputed=float(len(lists[of])))
        for name, of in _COUNTS.items()
        if (value := number(report.get(name))) is not None
    ]


def _of_instances(log: Log, report: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the instances of one file; run and model are the folders it lies in, as the harness lays them out."""
    parts = log.path.resolve().parts
    model, run_id = (parts[-3], parts[-4]) if len(parts) > 4 else ("", "")
    run = LoggedRun(
        suite="swe-bench",
        key=("swe-bench", f"{model}.{run_id}"),
        model=model or None,
        tool="swe-bench",
        facts={"run": run_id},
    )
    for instance, found in report.items():
        if not isinstance(found, dict):
            raise log.error("must be an object", field=f"/{instance}")
        resolved = found.get("resolved")
        if not isinstance(resolved, bool):
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
                expectations=tuple(_tests(_mapping(found.get("tests_status")))),
            ),
        )


def _tests(status: Mapping[str, Any]) -> Iterator[ExpectationResult]:
    index = 0
    for group in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        for ending in ("success", "failure"):
            for name in _mapping(status.get(group)).get(ending) or []:
                yield ExpectationResult(
                    index=index, type=ExpectationType.EXIT_CODE, required=True, passed=ending == "success",
                    detail=f"{group}: {name}"[:500],
                )  # fmt: skip
                index += 1


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
