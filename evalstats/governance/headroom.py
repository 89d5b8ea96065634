"""Which cases can still show a difference? The headroom screen, before trials are spent on a comparison.

A case that always passes, with the skill and without, cannot show that the skill helps; one that never passes
cannot either. A few trials that agree prove neither, so each word comes with the bound behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalstats import suite as suites
from evalstats.contract import Arm, Axis
from evalstats.errors import UsageError
from evalstats.suite import Suite

if TYPE_CHECKING:
    import pandas as pd

SATURATED, FLOOR, SEPARATED, OPEN, UNMEASURED = "saturated", "floor", "separated", "open", "unmeasured"
WORDS = (SATURATED, FLOOR, SEPARATED, OPEN, UNMEASURED)
ROOM = 0.05  # pass rates within this of 0 or 1 leave none; the bundled suites are written for the same
LEVEL = 0.95
ROUNDING = 1e-9
ARMS = {
    Axis.SKILL: (Arm.SKILL_ON, Arm.SKILL_OFF),
    Axis.CONTEXT: (Arm.CONTEXT_ON, Arm.CONTEXT_OFF),
    Axis.CANDIDATE: (Arm.CANDIDATE, Arm.BASELINE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmCount:
    """What a case did in one arm: usable trials, those that passed, and the sum of their scores."""

    arm: str
    n_usable: int = 0
    n_passed: int = 0
    score_sum: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """What one case can still show.

    Parameters
    ----------
    case_id : str
        The case.
    arms : tuple of ArmCount
        Its trials, treatment first.
    word : str
        ``saturated``, ``floor``, ``separated``, ``open`` or ``unmeasured``: what the trials look like.
    why : str
        What speaks for the word.
    certain : bool
        Whether the bound, not only the trials seen, says so.
    bound : float or None
        saturated: both pass rates are at least this; floor: at most; separated: the difference is at least
        this far from 0; each at the level of the screen. None where the word claims nothing.
    more_trials : int or None
        saturated and floor: trials each arm still needs, all like those seen; 0 when certain. None elsewhere.
    """

    case_id: str
    arms: tuple[ArmCount, ArmCount]
    word: str
    why: str
    certain: bool = False
    bound: float | None = None
    more_trials: int | None = None


def believable(case_runs: pd.DataFrame | None, suite: Suite) -> tuple[pd.DataFrame | None, list[str]]:
    """Return the runs that may be looked at together, and a sentence for each that may not; None without any.

    Mock runs prove nothing; of the rest those of the newest identity are kept. A suite that has changed since
    is told.
    """
    from evalstats import estimates

    if case_runs is None:
        return None, []
    real = case_runs[~case_runs["is_mock"].fillna(False).astype(bool)]
    mocks = case_runs["run_id"].nunique() - real["run_id"].nunique()
    notes = [f"{mocks} mock run(s) left out"] if mocks else []
    if real.empty:
        return None, notes
    kept, left_out = estimates.comparable(real)
    if (kept["suite_scoring"] != suites.hashes(suite)["scoring"]).any():
        notes.append("the suite has changed since these runs; run it again to know where it stands")
    return kept, [*notes, *left_out]


def screen(
    case_runs: pd.DataFrame | None,
    *,
    cases: Sequence[str] = (),
    axis: Axis = Axis.SKILL,
    room: float = ROOM,
    level: float = LEVEL,
) -> list[Headroom]:
    """Which cases can still show a difference between the arms? One entry a case, ``cases`` first.

    Parameters
    ----------
    case_runs : pandas.DataFrame or None
        The case table of the store, of runs that belong together (see `believable`); None without any.
    cases : sequence of str
        Case ids of the suite; those without a row are unmeasured.
    axis : Axis
        Which pair of arms, treatment and yardstick.
    room : float
        A pass rate nearer than this to 0 or 1 leaves no room; a proportion inside (0, 0.5).
    level : float
        Confidence of each bound, above 0.5: one-sided for saturated and floor, two-sided for separated.

    Notes
    -----
    Trials of a case in one arm are taken as independent reruns of it (population FIXED). separated: Newcombe's
    interval of the difference in pass rates leaves 0 out. saturated: every trial of both arms passed, or both
    lower bounds (Clopper-Pearson) are within ``room`` of 1. floor: the same at 0, where a trial that earned
    part of its score is no zero. Each case is judged alone: among a hundred cases without any effect a few
    separate by chance, so a separated case is one to look at, not a finding.
    """
    if not (0 < room < 0.5 and 0.5 < level < 1):
        raise UsageError(f"room must lie in (0, 0.5) and level in (0.5, 1), got {room:g} and {level:g}")
    on, off = ARMS[axis]
    counts = {} if case_runs is None else _counts(case_runs, (on, off))
    ids = dict.fromkeys([*cases, *sorted(case_id for case_id, _ in counts)])
    return [
        _judge(
            case_id,
            (counts.get((case_id, on), ArmCount(arm=on)), counts.get((case_id, off), ArmCount(arm=off))),
            room,
            level,
        )
        for case_id in ids
    ]


# --------------------------------------------------------------------------------------------------


def _counts(case_runs: pd.DataFrame, arms: tuple[str, str]) -> dict[tuple[str, str], ArmCount]:
    from evalstats import estimates

    rows = case_runs[case_runs["arm"].isin(list(arms))]
    table = estimates.case_table(rows).to_dict("records") if len(rows) else []
    return {
        (str(row["case_id"]), str(row["arm"])): ArmCount(
            arm=str(row["arm"]),
            n_usable=int(row["n_usable"]),
            n_passed=int(row["n_passed"]),
            score_sum=float(row["score_sum"]),
        )
        for row in table
    }


def _judge(case_id: str, arms: tuple[ArmCount, ArmCount], room: float, level: float) -> Headroom:
    if lacking := " and ".join(count.arm for count in arms if not count.n_usable):
        return Headroom(case_id=case_id, arms=arms, word=UNMEASURED, why=f"no usable trial in {lacking}")
    return (
        _separated(case_id, arms, level)
        or _saturated(case_id, arms, room, level)
        or _floor(case_id, arms, room, level)
        or Headroom(case_id=case_id, arms=arms, word=OPEN, why="some trials differ")
    )


def _separated(case_id: str, arms: tuple[ArmCount, ArmCount], level: float) -> Headroom | None:
    from evalstats import stats

    on, off = ((count.n_passed, count.n_usable) for count in arms)
    found = stats.newcombe(on, off, level=level, population="FIXED")
    if found.conf_low <= 0 <= found.conf_high:
        return None
    return Headroom(
        case_id=case_id,
        arms=arms,
        word=SEPARATED,
        why=f"by {found.estimate:+.2f} [{found.conf_low:+.2f}, {found.conf_high:+.2f}]",
        certain=True,
        bound=max(found.conf_low, -found.conf_high),
    )


def _saturated(case_id: str, arms: tuple[ArmCount, ArmCount], room: float, level: float) -> Headroom | None:
    edge = _edge([(count.n_passed, count.n_usable) for count in arms], room, level)
    if edge is None:
        return None
    bound, more = edge
    return Headroom(
        case_id=case_id,
        arms=arms,
        word=SATURATED,
        why=f"rates at least {bound:.4f}",
        certain=more == 0,
        bound=bound,
        more_trials=more,
    )


def _floor(case_id: str, arms: tuple[ArmCount, ArmCount], room: float, level: float) -> Headroom | None:
    """Return floor where failing is as good as sure, unless a trial that failed still earned a score."""
    edge = _edge([(count.n_usable - count.n_passed, count.n_usable) for count in arms], room, level)
    if edge is None or any(count.score_sum > count.n_passed + ROUNDING for count in arms):
        return None
    bound, more = 1 - edge[0], edge[1]
    return Headroom(
        case_id=case_id,
        arms=arms,
        word=FLOOR,
        why=f"rates at most {bound:.4f}",
        certain=more == 0,
        bound=bound,
        more_trials=more,
    )


def _edge(counts: list[tuple[int, int]], room: float, level: float) -> tuple[float, int] | None:
    """Return the lower bound of both rates and the trials still needed to bring it within ``room`` of 1.

    None where the counts are not at the edge: some trial differs, and the bound does not make up for it.
    """
    from evalstats import stats

    bound = min(stats.clopper_pearson(k, n, level=2 * level - 1).conf_low for k, n in counts)
    if bound >= 1 - room:
        return bound, 0
    if any(k < n for k, n in counts):
        return None
    return bound, stats.zero_failure_runs(room, level=level) - min(n for _, n in counts)
