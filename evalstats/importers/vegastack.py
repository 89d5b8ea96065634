"""The lift reports of the VegaStack suite as runs: one without the skill and one with it.

Neither shape names its suite or a trial: each prompt was tried once in each arm.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalstats.contract import Arm
from evalstats.importers.lift_reports import (
    ARM_KEYS,
    ROUNDING,
    LiftPrompt,
    LiftReport,
    Shape,
    read_report,
    report_of,
    shape_of,
)
from evalstats.importers.logs import Log
from evalstats.importers.rows import Declared, Item, LoggedRun, Options, Row
from evalstats.trials import ExpectationResult

NAME = "vegastack"
SUITE = "lift-suite"  # the reports do not name theirs
_ARMS = {"baseline": Arm.SKILL_OFF, "with_skill": Arm.SKILL_ON}

__all__ = ["NAME", "read", "read_report", "sniff"]


def sniff(log: Log) -> str | None:
    """Recognise a lift report by its keys."""
    shape = None if log.is_zip else shape_of(log.top_keys)
    return None if shape is None else f"a lift report ({shape})"


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield each prompt of each arm, as the source scores it; with ``rescore``, over what could be decided."""
    report, found = report_of(log.json(), log.path)
    if report is None or found:
        raise log.error(found[0].message, field=found[0].pointer or None)
    for key, prompts in zip(ARM_KEYS, (report.baseline, report.with_skill), strict=True):
        if prompts:
            run = _run(report, key)
            yield run, None
            for index, prompt in enumerate(prompts):
                yield run, _row(report, prompt, f"/{key}/{index}", rescore=options.rescore)


def _run(report: LiftReport, key: str) -> LoggedRun:
    rates = {name: getattr(report.declared, name) for name in ARM_KEYS}
    named = (NAME, report.generated_at or "", report.model or "", report.cli_version or "")
    run = LoggedRun(
        suite=SUITE,
        key=(*named, key),
        group=named,
        arm=_ARMS[key],
        model=report.model,
        tool=NAME,
        created_at=report.generated_at,
        facts={k: v for k in ("registry_version", "cli_version") if (v := getattr(report, k)) is not None},
    )
    prompts = report.baseline if key == "baseline" else report.with_skill
    total = sum(prompt.total for prompt in prompts)
    if report.n_prompts is not None and report.n_prompts != len(prompts):
        run.warnings.append(f"the report lists {len(prompts)} of {report.n_prompts} prompts")
    elif rates[key] is not None and total:
        tolerance = 1e-9 if report.shape is Shape.PROMPTS else ROUNDING + 1e-9
        again = sum(prompt.met for prompt in prompts) / total
        run.declared = lambda: [
            Declared(name=f"{key} pass rate", declared=rates[key], recomputed=again, tolerance=tolerance)
        ]
    return run


def _row(report: LiftReport, prompt: LiftPrompt, place: str, *, rescore: bool) -> Row:
    decided = [e for e in prompt.expectations if e.passed is not None]
    ours = rescore and bool(decided)
    met = sum(e.passed is True for e in decided) if ours else prompt.met
    total = len(decided) if ours else prompt.total
    return Row(
        case_id=prompt.id,
        trial_index=1,
        locator=place if report.shape is Shape.PROMPTS else f"/prompts/{place.rpartition('/')[2]}",
        archetype=prompt.archetype,
        score=met / total if total else None,
        passed=met == total if total else None,
        reason=None if total else "the prompt has no expectation",
        expectations=tuple(
            ExpectationResult(index=i, type=e.kind, required=True, passed=e.passed, detail=e.detail)
            for i, e in enumerate(prompt.expectations)
        ),
        tool_calls=prompt.tool_calls,
        cited_cards=prompt.cited_cards,
        cited_recipes=prompt.cited_recipes,
    )
