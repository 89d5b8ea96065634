"""Cases over the runs: which are settled, and which change from run to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from evalstats.report import tables, theme
from evalstats.report.canvas import Canvas, Drawing, Figure, colour, word, x, y
from evalstats.report.history import GAP, HEAD, PANEL, Panel, in_order, panel_frame, panels_canvas

if TYPE_CHECKING:
    import pandas as pd

_LISTED = 6  # cases named beside the strip


def case_strip(
    frame: pd.DataFrame,
    *,
    name: str = "cases",
    title: str = "Every case, with its standard deviation between runs",
) -> Figure:
    """Which cases are settled, and which flip from run to run? Cases from best to worst, with their spread.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per case and arm (``estimates.flakiness``): ``case_id``, ``arm``, ``score`` (mean over runs),
        ``run_sd`` and ``verdict_flips``, both missing when there was one run.
    name, title : str
        File name and title of the figure.
    """
    rows = [row for row in tables.rows(frame) if not tables.is_missing(row["score"])]
    arms = in_order({str(row["arm"]) for row in rows})
    by_arm = {arm: sorted((r for r in rows if r["arm"] == arm), key=_best_first) for arm in arms}
    reading = " ".join(_case_reading(arm, cases) for arm, cases in by_arm.items()) or tables.NOTHING
    lost = len(frame) - len(rows)
    if lost:
        reading += f" {lost} without a usable trial {'is' if lost == 1 else 'are'} not drawn."
    return Figure(name, title, reading, lambda width: _draw_cases(by_arm, width))


def _best_first(row: Mapping[str, Any]) -> tuple[float, str]:
    return (-row["score"], str(row["case_id"]))


def _flips(row: Mapping[str, Any]) -> bool:
    return not tables.is_missing(row["verdict_flips"]) and row["verdict_flips"] > 0


def _case_reading(arm: str, cases: Sequence[Mapping[str, Any]]) -> str:
    always = sum(row["score"] == 1 for row in cases)
    never = sum(row["score"] == 0 for row in cases)
    some = tables.some(len(cases), "case")
    return f"{arm}: of {some} {always} always scored 1, {never} always 0; {_flip_count(cases)}."


def _flip_count(cases: Sequence[Mapping[str, Any]]) -> str:
    if all(tables.is_missing(row["verdict_flips"]) for row in cases):
        return "one run shows no change between runs"
    return f"{sum(map(_flips, cases))} changed verdict between runs"


def _draw_cases(by_arm: Mapping[str, Sequence[Mapping[str, Any]]], width: int) -> Drawing:
    narrow = width < 500
    canvas = panels_canvas(len(by_arm), width, right=12.0 if narrow else 232.0)
    most = max((len(cases) for cases in by_arm.values()), default=1)
    for index, (arm, cases) in enumerate(by_arm.items()):
        top = index * (HEAD + PANEL + GAP) + HEAD
        panel_frame(canvas, Panel(arm, _flip_head(cases), (), (), None), (0.0, 1.0), top)
        _panel_cases(canvas, arm, cases, (canvas.across(-1, most), canvas.upwards(0, 1, top, top + PANEL)))
        if not narrow:
            _flippiest(canvas, arm, cases, top)
    canvas.words("best", [word("best", (0, canvas.height + 14), theme.SOFT)])
    canvas.words("worst", [word("worst case", (canvas.width, canvas.height + 14), theme.SOFT)], align="right")
    return canvas.drawing()


def _flip_head(cases: Sequence[Mapping[str, Any]]) -> str:
    return f"{tables.some(len(cases), 'case')}, {sum(map(_flips, cases))} changed verdict"


def _panel_cases(
    canvas: Canvas, arm: str, cases: Sequence[Mapping[str, Any]], scales: tuple[alt.Scale, alt.Scale]
) -> None:
    across, vertical = scales
    steady = Panel(arm, "", (), (), None).paint
    rows = [
        {"rank": i, "score": float(r["score"]), "colour": theme.OFF if _flips(r) else steady, **_spread(r)}
        for i, r in enumerate(cases)
    ]
    spread = [row for row in rows if row["low"] is not None and row["low"] < row["high"]]
    bar = alt.MarkDef(type="rule", strokeWidth=1.5, opacity=0.45, strokeCap="round")
    place = {"x": x("rank", across), "color": colour()}
    canvas.add(f"{arm}-spread", bar, spread, y=y("low", vertical), y2=alt.Y2("high"), **place)
    dot = alt.MarkDef(type="point", shape="circle", filled=True, size=22, opacity=1)
    canvas.add(f"{arm}-cases", dot, rows, y=y("score", vertical), **place)


def _spread(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one standard deviation to either side, inside the possible range."""
    if tables.is_missing(row["run_sd"]):
        return {"low": None, "high": None}
    return {"low": max(row["score"] - row["run_sd"], 0.0), "high": min(row["score"] + row["run_sd"], 1.0)}


def _flippiest(canvas: Canvas, arm: str, cases: Sequence[Mapping[str, Any]], top: float) -> None:
    """Name the cases that flip most, beside the strip."""
    worst = sorted(filter(_flips, cases), key=lambda row: (-row["verdict_flips"], str(row["case_id"])))[
        :_LISTED
    ]
    at = canvas.width + 20
    heights = [top + 24 + 20 * index for index in range(len(worst))]
    canvas.words(
        f"{arm}-list-head", [word("changed verdict most often", (at, top + 2), theme.SOFT)] if worst else []
    )
    names = [tables.shortened(row["case_id"], 22) for row in worst]
    canvas.words(f"{arm}-list", [word(n, (at + 38, h)) for n, h in zip(names, heights, strict=True)])
    rates = [tables.rate(row["verdict_flips"]) for row in worst]
    canvas.words(
        f"{arm}-rates", [word(n, (at, h), theme.OFF) for n, h in zip(rates, heights, strict=True)], bold=True
    )
