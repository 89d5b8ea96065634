"""What can this judge resolve? What the judge notebook reads, measures and shows of judgements and labels.

The noise of a judge is measured on the same transcripts, judged again (FIXED: these transcripts); whether it is
right needs labels of people. What was not measured is said, with the way to measure it, and is never zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import evalstats.store as warehouse
from evalstats.errors import UsageError
from evalstats.report import forest, inputs, material, tables
from evalstats.report.material import Material, frame_of
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.canvas import Figure
    from evalstats.stats.judges import Repeats

DIFFERENCES = (0.01, 0.02, 0.05, 0.10, 0.20)
_TWO_SIDED = 1.959963984540054  # a floor is this many standard deviations of a difference by the judge alone
_AGREEMENT = ("flips", "alpha", "kappa", "share")
_RIGHT = ("true positive rate", "true negative rate", "kappa", "pabak")
_TEXT = ["run_id", "case_id", "arm", "trial_index", "expectation"]  # what one verdict is about
_SAID = {
    "noise": "Noise of one judgement (SD)",
    "difference floor": "Floor of a difference of two runs",
    "lift floor": "Floor of a lift",
    "share": "Judge's share of rerun variance",
    "flips": "Flips between two judgements",
    "alpha": "Krippendorff's alpha",
    "kappa": "Kappa",
    "true positive rate": "Says yes where people do",
    "true negative rate": "Says no where people do",
    "pabak": "PABAK (kappa without prevalence and bias)",
    "bias": "Bias towards the treated arm",
    "prediction-powered": "Pass rate behind the verdicts",
    "corrected": "Pass rate of the unlabelled, corrected",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The judgements and labels of one suite. ``found`` are the runs they are of."""

    found: Material
    judgements: pd.DataFrame
    labels: pd.DataFrame

    @property
    def judges(self) -> list[str]:
        """Return the judges, the one that said most first."""
        said = self.judgements["judge"].value_counts()
        return sorted(map(str, said.index), key=lambda judge: (-int(said[judge]), judge))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Every number of the notebook, of one judge.

    ``floors`` is `estimates.noise_floor`, ``accuracy`` `estimates.judge_accuracy`, empty without labels;
    ``repeats`` the stopping rule. ``n_repeats`` counts how often a verdict was asked for at most.
    """

    judge: str
    model: str
    floors: pd.DataFrame
    accuracy: pd.DataFrame
    repeats: Repeats | None
    n_judgements: int
    n_verdicts: int
    n_repeats: int
    n_labels: int
    same_family: str

    def floor(self, measure: str) -> dict[str, Any] | None:
        """Return one row of the floors; None where it is not among them."""
        return next((row for row in tables.rows(self.floors) if row["measure"] == measure), None)

    def known(self, measure: str) -> float | None:
        """Return the estimate of a floor; None where it was not measured."""
        row = self.floor(measure)
        return None if row is None or tables.is_missing(row["estimate"]) else float(row["estimate"])


def read(store: str, suite: str, run: str = "") -> Judged:
    """Read the judgements and labels of the newest identity of a suite, or of one of its runs.

    Raises UsageError for a run that is not one of them.
    """
    found = material.read(store, suite)
    if run:
        known = found.runs[found.runs["run_id"] == run].reset_index(drop=True)
        if known.empty:
            raise UsageError(f"no run {run} of the newest identity of {suite}", field="run")
        found = replace(found, runs=known)
    ids = sorted(set(found.runs["run_id"]))
    with warehouse.open(inputs.find_store(store), read_only=True) as opened:
        said, labels = opened.judgements(suite, run_ids=ids), opened.labels(suite, run_ids=ids)
    return Judged(found=found, judgements=said, labels=labels)


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
        repeats=stats.repeats_needed(_estimate(share)) if known and share is not None else None,
        n_judgements=len(said),
        n_verdicts=units.ngroups,
        n_repeats=int(units.count().max()),
        n_labels=len(labels),
        same_family=_same_family(read, said),
    )


def _labels_of(said: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return the labels of the texts that a judge was asked about."""
    known = labels[labels["label"].notna()]
    return known.merge(said[_TEXT].drop_duplicates(), on=_TEXT)


def _estimate(row: Mapping[str, Any]) -> Any:
    from evalstats.stats import Estimate

    return Estimate(**{f.name: row[f.name] for f in fields(Estimate)})


def _same_family(read: Judged, said: pd.DataFrame) -> str:
    """Return the family that judge and subject share; empty where they do not, or it is not known."""
    from evalstats.judging.families import families

    declared = said["family"].dropna()
    judge = families(str(said["judge_model"].iloc[0]), str(declared.iloc[0]) if len(declared) else None)
    subjects = {str(model) for model in read.found.runs["model"].dropna()}
    return ", ".join(sorted(judge & {name for model in subjects for name in families(model)}))


# --- what follows from it --------------------------------------------------------------------------


def goes_red(measured: Measured, margin: float) -> float | None:
    """Return how often an unchanged run, judged anew, drops by more than ``margin`` by the judge alone."""
    floor = measured.known("difference floor")
    if floor is None:
        return None
    return 1 - NormalDist(0, floor / _TWO_SIDED).cdf(margin) if floor else 0.0


def sees(floor: float, difference: float) -> bool:
    """Return whether a difference lies beyond what the judge alone may do."""
    return difference > floor


# --- what is shown ---------------------------------------------------------------------------------


def floors_table(every: Sequence[Measured]) -> Table:
    """Return what was measured of each judge on the same transcripts."""
    rows = [
        {
            "judge": one.judge,
            "what": _SAID[row["measure"]],
            "said": material.estimate(row, tables.number, unknown=tables.missing()),
            "note": "; ".join(map(str, row["caveats"])) or str(row["method"]),
        }
        for one in every
        for row in tables.rows(one.floors)
    ]
    columns = [
        Column("judge", "Judge"),
        Column("what", "What"),
        Column("said", "Estimate"),
        Column("note", "What to know"),
    ]
    return Table(
        "floors", "The judge on the same transcripts", frame_of(rows, [c.name for c in columns]), columns
    )


def agreement_forest(every: Sequence[Measured]) -> Figure | None:
    """Draw how far each judge agrees with itself, and its share of the noise; None where nothing was measured."""
    import pandas as pd

    frames = [
        one.floors[one.floors["measure"].isin(_AGREEMENT)].assign(row=_names(one, every)) for one in every
    ]
    shown = pd.concat(frames) if frames else None
    if shown is None or shown["estimate"].isna().all():
        return None
    shown = shown[shown["estimate"].notna()].reset_index(drop=True)
    shown["row"] = [f"{_SAID[m]}{name}" for m, name in zip(shown["measure"], shown["row"], strict=True)]
    return forest.forest(shown, label="row", name="agreement", title="The judge against itself", signed=False)


def _names(one: Measured, every: Sequence[Measured]) -> str:
    return f" · {tables.shortened(one.judge, 24)}" if len(every) > 1 else ""


def accuracy_forest(every: Sequence[Measured]) -> Figure | None:
    """Draw each judge against the labels of people; None without labels."""
    import pandas as pd

    frames = [
        one.accuracy[one.accuracy["measure"].isin(_RIGHT)].assign(row=_names(one, every))
        for one in every
        if len(one.accuracy)
    ]
    shown = pd.concat(frames) if frames else None
    if shown is None or shown["estimate"].isna().all():
        return None
    shown = shown[shown["estimate"].notna()].reset_index(drop=True)
    shown["row"] = [f"{_SAID[m]}{name}" for m, name in zip(shown["measure"], shown["row"], strict=True)]
    return forest.forest(shown, label="row", name="accuracy", title="The judge against people", signed=False)


def accuracy_table(every: Sequence[Measured]) -> Table:
    """Return each judge against the labels, its bias, and the pass rates behind its verdicts."""
    rows = [
        {
            "judge": one.judge,
            "what": _SAID[row["measure"]],
            "arm": "all" if tables.is_missing(row["arm"]) else row["arm"],
            "said": material.estimate(row, tables.signed if row["measure"] == "bias" else tables.rate),
            "note": "; ".join(map(str, row["caveats"])) or str(row["method"]),
        }
        for one in every
        for row in tables.rows(one.accuracy)
    ]
    columns = [
        Column("judge", "Judge"), Column("what", "What"), Column("arm", "Arm"), Column("said", "Estimate"),
        Column("note", "What to know"),
    ]  # fmt: skip
    return Table("accuracy", "The judge against people", frame_of(rows, [c.name for c in columns]), columns)


def resolves_table(every: Sequence[Measured]) -> Table:
    """Return for differences of several sizes whether each judge can tell them from its own noise."""
    rows = list(_resolves(every))
    columns = [
        Column("judge", "Judge"), Column("difference", "A difference of", "rate"),
        Column("run", "Of one run, judged once more"), Column("four", "Judged four times as often"),
        Column("red", "Red with nothing changed"),
    ]  # fmt: skip
    return Table(
        "resolves", "What it can and cannot resolve", frame_of(rows, [c.name for c in columns]), columns
    )


def _resolves(every: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    for one in every:
        floor = one.known("difference floor")
        for difference in DIFFERENCES:
            red = goes_red(one, difference)
            known = floor is not None and red is not None
            yield {
                "judge": one.judge,
                "difference": difference,
                "run": _word(floor, difference),
                "four": _word(None if floor is None else floor / sqrt(4), difference),
                "red": tables.percent(red) if known and red is not None else tables.missing(),
            }


def _word(floor: float | None, difference: float) -> str:
    return tables.missing() if floor is None else "can" if sees(floor, difference) else "cannot"


def filled(*several: Any) -> list[Any]:
    """Return the figures and tables that hold something."""
    return [one for one in several if one is not None and (not isinstance(one, Table) or len(one.frame))]
