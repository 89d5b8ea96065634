"""What can this judge resolve? What the judge notebook reads and measures of judgements, labels and a sentinel.

The noise of a judge is measured on the same transcripts, judged again (FIXED: these transcripts); whether it is
right needs labels of people. What was not measured is said, with the way to measure it, and is never zero. It is
shown by `judge_tables` and put into words by `judge_wording`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.errors import UsageError
from evalstats.judging.rewordings import steadiness
from evalstats.report import inputs, material, tables
from evalstats.report.material import Material

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.stats.judges import Repeats

_TWO_SIDED = 1.959963984540054  # a floor is this many standard deviations of a difference by the judge alone
_TEXT = ["run_id", "case_id", "arm", "trial_index", "expectation"]  # what one verdict is about


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The judgements and labels of one suite. ``found`` are the runs they are of.

    ``wordings`` are verdicts under every wording of a question, ``checks`` those of a sentinel, oldest first.
    ``every`` are the judgements and labels of all runs of the suite, whatever their identity: whether a judge
    favours its own family is seen across models alone.
    """

    found: Material
    judgements: pd.DataFrame
    labels: pd.DataFrame
    wordings: pd.DataFrame
    every: tuple[pd.DataFrame, pd.DataFrame]
    checks: list[dict[str, Any]]

    @property
    def judges(self) -> list[str]:
        """Return the judges, the one that said most first."""
        said = self.judgements["judge"].value_counts()
        return sorted(map(str, said.index), key=lambda judge: (-int(said[judge]), judge))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Every number of the notebook, of one judge.

    ``floors`` is `estimates.noise_floor`, ``accuracy`` `estimates.judge_accuracy`, empty without labels,
    as is ``confusion``; ``fails`` are the failure rates as judged, with the skill and without, None for one arm;
    ``steady`` is `rewordings.steadiness`, empty where no question was put in other words; ``preference`` the
    self-preference as a row, None where runs of its own family and of another were not both judged; ``repeats``
    the stopping rule. ``n_repeats`` counts how often a verdict was asked for at most.
    """

    judge: str
    model: str
    floors: pd.DataFrame
    accuracy: pd.DataFrame
    confusion: pd.DataFrame
    steady: pd.DataFrame
    preference: dict[str, Any] | None
    repeats: Repeats | None
    n_judgements: int
    n_verdicts: int
    n_repeats: int
    n_labels: int
    fails: tuple[float, float] | None
    family_known: bool
    same_family: str

    def floor(self, measure: str) -> dict[str, Any] | None:
        """Return one row of the floors; None where it is not among them."""
        return next((row for row in tables.rows(self.floors) if row["measure"] == measure), None)

    def known(self, measure: str) -> float | None:
        """Return the estimate of a floor; None where it was not measured."""
        row = self.floor(measure)
        return None if row is None or tables.is_missing(row["estimate"]) else float(row["estimate"])


def read(store: str, suite: str, run: str = "", sentinel: str = "") -> Judged:
    """Read the judgements and labels of the newest identity of a suite, or of one of its runs.

    ``sentinel`` is the file of a sentinel, whose checks lie beside it. Raises UsageError for a run that is not one
    of them, and for a sentinel that is not there.
    """
    checks = _checks(sentinel)
    found = material.read(store, suite)
    if run:
        known = found.runs[found.runs["run_id"] == run].reset_index(drop=True)
        if known.empty:
            raise UsageError(f"no run {run} of the newest identity of {suite}", field="run")
        found = replace(found, runs=known)
    ids = sorted(set(found.runs["run_id"]))
    with warehouse.open(inputs.find_store(store), read_only=True) as opened:
        every = opened.judgements(suite), opened.labels(suite)
        wordings = opened.rewordings(suite, run_ids=ids)
    said, labels = (frame[frame["run_id"].isin(ids)].reset_index(drop=True) for frame in every)
    return Judged(found=found, judgements=said, labels=labels, wordings=wordings, every=every, checks=checks)


def _checks(sentinel: str) -> list[dict[str, Any]]:
    from evalstats.judging.sentinel import history

    return history(inputs.find_file(sentinel, "sentinel")) if sentinel else []


def measure(read: Judged, *, deployed: int = 1, level: float = 0.80) -> list[Measured]:
    """Measure each judge: its noise, whether it is right, and how often it must be asked.

    ``deployed`` is how many judgements of a transcript a run averages.
    """
    return [_measured(read, judge, deployed, level) for judge in read.judges]


def _measured(read: Judged, judge: str, deployed: int, level: float) -> Measured:
    from evalstats import estimates, stats

    said = read.judgements[read.judgements["judge"] == judge]
    arms = read.found.pair
    floors = estimates.noise_floor(said, deployed=deployed, level=level, arms=arms)
    labels = _labels_of(said, read.labels)
    accuracy = (
        estimates.judge_accuracy(said, labels, level=level, arms=arms) if len(labels) else floors.iloc[:0]
    )
    single = estimates.noise_floor(said, deployed=1, level=level, arms=arms)
    share = next((r for r in tables.rows(single) if r["measure"] == "share"), None)
    known = share is not None and not tables.is_missing(share["estimate"])
    units = said.groupby(_TEXT)["score"]
    return Measured(
        judge=judge,
        model=str(said["judge_model"].iloc[0]),
        floors=floors,
        accuracy=accuracy,
        confusion=estimates.confusion(said, labels),
        steady=steadiness(read.wordings[read.wordings["judge"] == judge], level=level),
        preference=_preference(read, said, level),
        repeats=stats.repeats_needed(_estimate(share)) if known and share is not None else None,
        n_judgements=len(said),
        n_verdicts=units.ngroups,
        n_repeats=int(units.count().max()),
        n_labels=len(labels),
        fails=_fails(said, arms),
        family_known=bool(_families_of(said)),
        same_family=_same_family(read, said),
    )


def _labels_of(said: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return the labels of the texts that a judge was asked about."""
    known = labels[labels["label"].notna()]
    return known.merge(said[_TEXT].drop_duplicates(), on=_TEXT)


def _estimate(row: Mapping[str, Any]) -> Any:
    from evalstats.stats import Estimate

    return Estimate(**{f.name: row[f.name] for f in fields(Estimate)})


def _fails(said: pd.DataFrame, arms: tuple[str, str]) -> tuple[float, float] | None:
    rates = 1 - said.groupby(["arm", "case_id"])["score"].mean().groupby("arm").mean().dropna()
    known = arms[0] != arms[1] and set(arms) <= set(rates.index)
    return (float(rates[arms[0]]), float(rates[arms[1]])) if known else None


def _same_family(read: Judged, said: pd.DataFrame) -> str:
    """Return the family that judge and subject share; empty where they do not, or it is not known."""
    from evalstats.judging.families import families

    subjects = {str(model) for model in read.found.runs["model"].dropna()}
    return ", ".join(sorted(_families_of(said) & {name for model in subjects for name in families(model)}))


def _families_of(said: pd.DataFrame) -> frozenset[str]:
    from evalstats.judging.families import families

    declared = said["family"].dropna()
    return families(str(said["judge_model"].iloc[0]), str(declared.iloc[0]) if len(declared) else None)


def _preference(read: Judged, said: pd.DataFrame, level: float) -> dict[str, Any] | None:
    """Return by how much a judge favours its own family, over runs of this and of another one.

    Runs take part whose suite scores as the newest one does, and whose model tells its family.
    """
    from evalstats import estimates
    from evalstats.judging.families import families

    kin, runs = _families_of(said), read.found.every_run
    alike = runs[(runs["suite_scoring"] == read.found.runs["suite_scoring"].iloc[-1]) & runs["model"].notna()]
    models = dict(zip(alike["run_id"], alike["model"], strict=True))
    own = {run: bool(kin & families(model)) for run, model in models.items() if kin and families(model)}
    verdicts, labels = read.every
    verdicts = verdicts[(verdicts["judge"] == said["judge"].iloc[0]) & verdicts["run_id"].isin(list(own))]
    labels = _labels_of(verdicts, labels)
    if {own[run] for run in labels["run_id"]} != {True, False}:
        return None
    return tables.rows(estimates.own_family(verdicts, labels, own=own, level=level))[0]


# --- what follows from it --------------------------------------------------------------------------


def goes_red(measured: Measured, margin: float) -> float | None:
    """Return how often an unchanged run, judged anew, drops by more than ``margin`` by the judge alone."""
    floor = measured.known("difference floor")
    return None if floor is None else _red(floor, margin)


def red_between(measured: Measured, margin: float) -> tuple[float, float] | None:
    """Return the least and the most that this may be, by the interval of the floor; None where it has none."""
    row = measured.floor("difference floor")
    if row is None or tables.is_missing(row["conf_low"]) or tables.is_missing(row["conf_high"]):
        return None
    low, high = (_red(float(row[end]), margin) for end in ("conf_low", "conf_high"))
    return low, high


def _red(floor: float, margin: float) -> float:
    return 1 - NormalDist(0, floor / _TWO_SIDED).cdf(margin) if floor > 0 else 0.0


def lift_without_flips(measured: Measured) -> tuple[float, float] | None:
    """Return the lift as judged, and as it would be if the flips were errors at random; None where that is unknown.

    Two verdicts differ with chance 2e(1-e) where each is wrong with chance e; then `stats.flipped_lift` is undone.
    """
    flips, fails = measured.known("flips"), measured.fails
    if flips is None or fails is None or not 0 < flips < 0.5 or not fails[1] > 0:
        return None
    error = (1 - (1 - 2 * flips) ** 0.5) / 2
    with_skill, base = ((seen - error) / (1 - 2 * error) for seen in fails)
    return (1 - fails[0] / fails[1], 1 - with_skill / base) if with_skill >= 0 and 0 < base <= 1 else None


def sees(floor: float, difference: float) -> bool:
    """Return whether a difference lies beyond what the judge alone may do."""
    return difference > floor
