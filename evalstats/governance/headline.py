"""May the lift of a report be a headline? Recomputed from what the report itself lists, or refused.

The lift is shown over four units side by side: cases (the primary one), expectations (micro), and mean and median
of archetypes. A report whose figures do not follow from its own parts, or whose parts are not there, is refused
and the difference is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from evalstats import contract
from evalstats.contract import ExpectationType
from evalstats.governance.lift_counts import (
    ArchetypeLift,
    Count,
    Pair,
    by_archetype,
    case_tables,
    cited,
    lift_of,
    pairs_of,
    total,
)
from evalstats.importers.lift_reports import ROUNDING, Figures, LiftReport, Shape
from evalstats.runner.answers import Rule

if TYPE_CHECKING:
    import numpy as np

EXACT = 1e-9
LEVEL = 0.80


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """The lift over one unit, with its interval where there is one. None where it is undefined."""

    over: str
    estimate: float | None
    conf_low: float | None
    conf_high: float | None
    level: float
    method: str
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A figure that the report states, and the same one recomputed from its own parts."""

    name: str
    declared: float
    recomputed: float

    def __str__(self) -> str:
        return f"{self.name} is stated as {self.declared:.4g}, but its own parts give {self.recomputed:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """What a lift report amounts to. With ``refusals`` it is no headline, and they say why."""

    report: LiftReport
    scoring: Rule
    prompts: int
    baseline: Count
    with_skill: Count
    lifts: tuple[Lift, ...]
    archetypes: tuple[ArchetypeLift, ...]
    cited: dict[ExpectationType, tuple[Count, Count]]
    differences: tuple[Difference, ...]
    refusals: tuple[str, ...]
    caveats: tuple[str, ...]


def headline(
    report: LiftReport, *, rng: np.random.Generator, scoring: Rule = Rule.OURS, level: float = LEVEL
) -> Headline:
    """Recompute the lift of a report from what it lists, and say whether it may be a headline.

    Parameters
    ----------
    report : LiftReport
        As `evalstats.importers.vegastack.read_report` returns it.
    rng : numpy.random.Generator
        For the intervals.
    scoring : Rule
        Whether a manifest check without a manifest is unscored (ours) or passed (the source's rule).
    level : float
        Level of the intervals.
    """
    pairs = pairs_of(report, scoring)
    differences = tuple(_differences(report))
    baseline, with_skill = total(pairs)
    nothing = ("no expectation is decided in both arms",) if not baseline.total else ()
    refusals = (*_incomplete(report), *_unequal(report), *map(str, differences), *nothing)
    return Headline(
        report=report,
        scoring=scoring,
        prompts=len(pairs),
        baseline=baseline,
        with_skill=with_skill,
        lifts=() if refusals else _lifts(pairs, rng, level),
        archetypes=by_archetype(pairs),
        cited=cited(report),
        differences=differences,
        refusals=refusals,
        caveats=tuple(_caveats(report, pairs, scoring)),
    )


def document(found: Headline) -> dict[str, Any]:
    """Return a headline as a JSON document (schema ``lift-headline.v1``)."""
    named = {kind: {"baseline": asdict(a), "with_skill": asdict(b)} for kind, (a, b) in found.cited.items()}
    result = {
        "schema_version": 1,
        "path": str(found.report.path),
        "scoring": found.scoring.value,
        "prompts": found.prompts,
        "baseline": asdict(found.baseline),
        "with_skill": asdict(found.with_skill),
        "lifts": [{**asdict(one), "caveats": list(one.caveats)} for one in found.lifts],
        "archetypes": [asdict(one) for one in found.archetypes],
        "cards": named.get(ExpectationType.CITES_CARD),
        "recipes": named.get(ExpectationType.CITES_RECIPE),
        "declared": asdict(found.report.declared),
        "differences": [asdict(one) for one in found.differences],
        "refusals": list(found.refusals),
        "caveats": list(found.caveats),
    }
    contract.validate(result, "lift-headline.v1")
    return result


# --- estimates ------------------------------------------------------------------------------------


def _lifts(pairs: Sequence[Pair], rng: np.random.Generator, level: float) -> tuple[Lift, ...]:
    from evalstats import estimates

    case_runs, expectations = case_tables(pairs)
    frame = estimates.lift(case_runs, rng=rng, level=level, expectations=expectations)
    return tuple(
        Lift(
            over=row["over"],
            **{name: _known(row[name]) for name in ("estimate", "conf_low", "conf_high")},
            level=row["level"],
            method=row["method"],
            caveats=tuple(row["caveats"]),
        )
        for row in frame.to_dict("records")
    )


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)


# --- refusals and caveats -------------------------------------------------------------------------


def _incomplete(report: LiftReport) -> Iterator[str]:
    """Yield what is missing for a headline: an arm, or prompts."""
    if not report.baseline or not report.with_skill:
        yield "one arm is not there: a lift needs both"
    listed = len({p.id for p in report.baseline} & {p.id for p in report.with_skill})
    if report.n_prompts is not None and listed < report.n_prompts:
        yield f"it lists {listed} of its {report.n_prompts} prompts: the rest cannot be recomputed"


def _unequal(report: LiftReport) -> Iterator[str]:
    """Yield that the arms were held to different expectations, or asked different prompts."""
    arms = [{p.id: p for p in prompts} for prompts in (report.baseline, report.with_skill)]
    if not all(arms):
        return
    alone = sorted(arms[0].keys() ^ arms[1].keys())
    if alone:
        yield f"{len(alone)} prompt(s) are in one arm only, {alone[0]!r} for one"
    shared = arms[0].keys() & arms[1].keys()
    told = [(arms[0][i].expectations, arms[1][i].expectations) for i in shared]
    unequal = sum(bool(a and b) and _ids(a) != _ids(b) for a, b in told)
    if unequal:
        both = sum(len(_ids(a) & _ids(b)) for a, b in told)
        yield f"{unequal} prompt(s) were held to different expectations; {both} are in both arms"


def _ids(expectations: Sequence[Any]) -> set[tuple[str, str]]:
    return {(e.id, str(e.kind)) for e in expectations}


def _differences(report: LiftReport) -> Iterator[Difference]:
    """Yield where the report's own figures, by its own rule, do not follow from its parts."""
    if report.shape is Shape.PROMPTS:
        pairs = pairs_of(report, Rule.SOURCE)
        parts = {a.archetype: (a.baseline.rate, a.with_skill.rate) for a in by_archetype(pairs)}
        both, tolerance = total(pairs), EXACT
        rates = (both[0].rate, both[1].rate)
    else:
        parts = {name: (f.baseline, f.with_skill) for name, f in report.archetypes.items()}
        rates, tolerance = _weighted(report), 2 * ROUNDING
    for name, figures in report.archetypes.items():
        yield from _compared(f"of archetype {name} the", figures, parts.get(name, (None, None)), tolerance)
    yield from _compared("the", report.declared, rates, tolerance)


def _weighted(report: LiftReport) -> tuple[float | None, float | None]:
    """Return the mean rate of each arm over archetypes, each counting by its prompts."""
    prompts = sum(report.prompts_of.values())
    sides = []
    for side in ("baseline", "with_skill"):
        rates = {name: getattr(figures, side) for name, figures in report.archetypes.items()}
        known = bool(prompts) and None not in rates.values()
        sides.append(sum(report.prompts_of[n] * rates[n] for n in rates) / prompts if known else None)
    return sides[0], sides[1]


def _compared(
    what: str, stated: Figures, rates: tuple[float | None, float | None], tolerance: float
) -> Iterator[Difference]:
    baseline, with_skill = rates
    headroom = 1 - baseline if baseline is not None and baseline < 1 else 1.0
    figures = (
        ("baseline pass rate", stated.baseline, baseline, tolerance),
        ("pass rate with the skill", stated.with_skill, with_skill, tolerance),
        # What rounding does to rates, the headroom divides.
        ("lift", stated.lift, lift_of(baseline, with_skill), tolerance * (1 + 2 / headroom)),
    )
    for name, declared, recomputed, allowed in figures:
        if declared is not None and recomputed is not None and abs(declared - recomputed) > allowed:
            yield Difference(name=f"{what} {name}", declared=declared, recomputed=recomputed)


def _caveats(report: LiftReport, pairs: Sequence[Pair], scoring: Rule) -> Iterator[str]:
    baseline, with_skill = total(pairs)
    if with_skill.total and with_skill.met == with_skill.total:
        yield (
            f"degenerate: with the skill all {with_skill.total} expectations are met, so the lift is at its upper"
            " limit of 1 whatever the baseline; see the difference"
        )
    if baseline.total and baseline.met == baseline.total:
        yield "degenerate: the baseline meets everything, so there is no headroom and no lift"
    alike = sum(a == b for _, a, b in pairs)
    if pairs and 2 * alike >= len(pairs):
        yield f"{alike} of {len(pairs)} prompts came out alike in both arms: were they answered at all?"
    free = sum(e.passed is None for prompt in report.baseline for e in prompt.expectations)
    if free:
        said = "are unscored" if scoring is Rule.OURS else "count as met, by the source's rule"
        yield f"{free} manifest checks without a manifest {said}"
    if report.shape is Shape.PROMPTS:
        yield "one trial per prompt and arm: the noise of trials cannot be seen"
