"""What the judge notebook shows: its figures and tables, for every judge beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any, TypeAlias

from evalstats.report import forest, material, tables
from evalstats.report.judges import goes_red, red_between, sees
from evalstats.report.material import frame_of
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    from evalstats.report.canvas import Figure
    from evalstats.report.judges import Judged, Measured

Rows: TypeAlias = "Sequence[tuple[Measured, Mapping[str, Any]]]"
DIFFERENCES = (0.01, 0.02, 0.05, 0.10, 0.20)
_AGREEMENT = ("flips", "alpha", "kappa", "share")
_RIGHT = ("true positive rate", "true negative rate", "kappa", "pabak")
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
    "same, reworded": "Says the same in other words",
    "same, inverted": "Holds its verdict when asked the opposite",
    "yes to both": "Says yes to a question and to its opposite",
    "no to both": "Says no to a question and to its opposite",
}
_SHORT = {
    "share": "Noise share", "flips": "Flips", "alpha": "Alpha", "kappa": "Kappa",
    "true positive rate": "Right yes", "true negative rate": "Right no", "pabak": "PABAK",
}  # fmt: skip
_FOUND = {None: "says nothing", True: "changed", False: "as before"}


def floors_table(every: Sequence[Measured]) -> Table:
    """Return what was measured of each judge on the same transcripts."""
    rows = [
        _row(named(every)[one.judge], row, tables.number) for one in every for row in tables.rows(one.floors)
    ]
    return _table("floors", "The judge on the same transcripts", rows)


def named(every: Sequence[Measured]) -> dict[str, str]:
    """Return what each judge is called here: by its model, where no other judge is of that model."""
    models = [one.model for one in every]
    return {one.judge: one.model if models.count(one.model) == 1 else one.judge for one in every}


def _row(name: str, row: Mapping[str, Any], write: Callable[[float], str]) -> dict[str, Any]:
    """Return one measure of one judge as shown, with what there is to know of it."""
    told = material.estimate(row, write, unknown=tables.missing())
    note = "; ".join(map(str, row["caveats"])) or str(row["method"])
    return {"judge": name, "what": _SAID[row["measure"]], "said": told, "note": note}


def _table(name: str, title: str, rows: Sequence[dict[str, Any]], *more: Column) -> Table:
    columns = [
        Column("judge", "Judge"), Column("what", "What"), *more, Column("said", "Estimate"),
        Column("note", "What to know"),
    ]  # fmt: skip
    return Table(name, title, frame_of(rows, [column.name for column in columns]), columns)


def agreement_forest(every: Sequence[Measured]) -> Figure | None:
    """Draw how far each judge agrees with itself, and its share of the noise; None where nothing was measured."""
    of = [(one, row) for one in every for row in tables.rows(one.floors) if row["measure"] in _AGREEMENT]
    return _forest("agreement", "The judge against itself", of, _itself, named(every))


def accuracy_forest(every: Sequence[Measured]) -> Figure | None:
    """Draw each judge against the labels of people; None without labels."""
    of = [(one, row) for one in every for row in tables.rows(one.accuracy) if row["measure"] in _RIGHT]
    return _forest("accuracy", "The judge against people", of, _people, named(every))


def _forest(
    name: str,
    title: str,
    rows: Rows,
    read: Callable[[Mapping[str, Any]], Iterator[str]],
    names: Mapping[str, str],
) -> Figure | None:
    """Draw the measures that are known, and say of each judge what its own mean."""
    known = [(one.judge, row) for one, row in rows if not tables.is_missing(row["estimate"])]
    if not known:
        return None
    judges = list(dict.fromkeys(judge for judge, _ in known))
    short = {judge: f" · {_mark(names[judge])}" if len(names) > 1 else "" for judge in judges}
    drawn = [{**row, "row": _SHORT[row["measure"]] + short[judge]} for judge, row in known]
    figure = forest.forest(frame_of(drawn, list(drawn[0])), label="row", name=name, title=title, signed=False)
    said = [
        _sentence(
            read({row["measure"]: row for own, row in known if own == judge}),
            names[judge] if len(names) > 1 else "",
        )
        for judge in judges
    ]
    chance = f"Intervals hold {tables.percent(drawn[0]['level'])} of the time."
    return replace(figure, reading=" ".join([*said, chance]))


def _mark(name: str) -> str:
    """Return a judge in few characters: its digest, where that alone tells it from another."""
    model, at, digest = name.rpartition("@")
    return at + digest if model else tables.shortened(name, 10)


def _sentence(parts: Iterator[str], judge: str) -> str:
    told = "; ".join(parts)
    return f"{judge}: {told}." if judge else f"{told[:1].upper()}{told[1:]}."


def _itself(of: Mapping[str, Any]) -> Iterator[str]:
    if "flips" in of:
        yield f"two judgements of one text differ {material.estimate(of['flips'], tables.percent)} of the time"
    if "alpha" in of:
        yield f"set against chance they agree by {material.estimate(of['alpha'], tables.rate)} (alpha; 0 is chance)"
    if "share" in of:
        yield f"{material.estimate(of['share'], tables.percent)} of the variance of a rerun is the judge's"


def _people(of: Mapping[str, Any]) -> Iterator[str]:
    for measure, word in (("true positive rate", "yes"), ("true negative rate", "no")):
        if measure in of:
            yield f"where people say {word} it does so {material.estimate(of[measure], tables.percent)} of the time"
    if "kappa" in of:
        yield f"set against chance they agree by {material.estimate(of['kappa'], tables.rate)} (kappa)"


def confusion_table(every: Sequence[Measured]) -> Table:
    """Return how often each judge and people said the same and not, by arm, and what that does to kappa."""
    rows = [
        {
            **row,
            "judge": named(every)[one.judge],
            "arm": "all" if tables.is_missing(row["arm"]) else row["arm"],
        }
        for one in every
        for row in tables.rows(one.confusion)
    ]
    columns = [
        Column("judge", "Judge"), Column("arm", "Arm"), Column("both_yes", "Both yes", "count"),
        Column("only_people", "People only", "count"), Column("only_judge", "Judge only", "count"),
        Column("both_no", "Both no", "count"), Column("prevalence_index", "Prevalence", "signed"),
        Column("bias_index", "Bias", "signed"),
    ]  # fmt: skip
    return Table("confusion", "Who said yes", frame_of(rows, [c.name for c in columns]), columns)


def accuracy_table(every: Sequence[Measured]) -> Table:
    """Return each judge against the labels, its bias, and the pass rates behind its verdicts."""
    rows = [
        {
            **_row(named(every)[one.judge], row, tables.signed if row["measure"] == "bias" else tables.rate),
            "arm": "all" if tables.is_missing(row["arm"]) else row["arm"],
        }
        for one in every
        for row in tables.rows(one.accuracy)
    ]
    return _table("accuracy", "The judge against people", rows, Column("arm", "Arm"))


def wordings_table(every: Sequence[Measured]) -> Table:
    """Return how far the verdicts of each judge hang on the words of the question."""
    rows = [
        _row(named(every)[one.judge], row, tables.rate) for one in every for row in tables.rows(one.steady)
    ]
    return _table("wordings", "The judge in other words", rows)


def checks_table(read: Judged) -> Table:
    """Return the checks of the sentinel, oldest first."""
    rows = [
        {
            **{name: check[name] for name in ("n_anchors", "to_yes", "to_no")},
            "at": str(check["checked_at"])[:10],
            "p": tables.p_value(check["p_value"]),
            "found": _FOUND[check["changed"]],
        }
        for check in read.checks
    ]
    columns = [
        Column("at", "Checked on"), Column("n_anchors", "Texts", "count"), Column("to_yes", "No became yes", "count"),
        Column("to_no", "Yes became no", "count"), Column("p", "p"), Column("found", "The judge"),
    ]  # fmt: skip
    return Table("checks", "The checks of the sentinel", frame_of(rows, [c.name for c in columns]), columns)


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
            yield {
                "judge": named(every)[one.judge],
                "difference": difference,
                "run": _word(floor, difference),
                "four": _word(None if floor is None else floor / sqrt(4), difference),
                "red": red_text(one, difference),
            }


def red_text(one: Measured, margin: float) -> str:
    """Return how often an unchanged run goes red, with the interval that the noise allows: 34% [31%, 36%]."""
    red, ends = goes_red(one, margin), red_between(one, margin)
    if red is None:
        return tables.missing()
    return tables.percent(red) + (f" {tables.interval(*ends, tables.percent)}" if ends else "")


def _word(floor: float | None, difference: float) -> str:
    return tables.missing() if floor is None else "can" if sees(floor, difference) else "cannot"
