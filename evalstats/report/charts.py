"""The figures of a report, by question.

- How large is each, and how far off may it be? :func:`forest`
- Where does it help? :func:`archetype_bars`
- Is the latest run unusual? :func:`run_chart`
- Has a night left what is normal, and what happened then? :func:`control_chart`
- Which cases are settled, and which flip? :func:`case_strip`
- How many of each kind are there? :func:`count_bars`
- Did all cases move, or a few? :func:`paired_slopes`; which passed on one side only? :func:`flip_matrix`
- How many cases would see it? :func:`power_curves`; what do they cost? :func:`cost_curve`
- Which cases are too easy, too hard, or tell nothing? :func:`difficulty_map`

Each returns a :class:`Figure`: a drawing, and one sentence that reads it, computed from the same rows.
Importing this module makes Altair show charts offline, in JupyterLab and in a stored notebook.
"""

from __future__ import annotations

from evalstats.report.canvas import Canvas, Drawing, Figure, register_renderer
from evalstats.report.cases import case_strip
from evalstats.report.control import control_chart
from evalstats.report.counts import count_bars
from evalstats.report.difficulty import difficulty_map
from evalstats.report.flips import flip_matrix
from evalstats.report.forest import archetype_bars, forest
from evalstats.report.history import run_chart
from evalstats.report.plan_costs import cost_curve
from evalstats.report.power import power_curves
from evalstats.report.slopes import paired_slopes
from evalstats.report.tracks import Timeline, Track

__all__ = [
    "Canvas",
    "Drawing",
    "Figure",
    "Timeline",
    "Track",
    "archetype_bars",
    "case_strip",
    "control_chart",
    "cost_curve",
    "count_bars",
    "difficulty_map",
    "flip_matrix",
    "forest",
    "paired_slopes",
    "power_curves",
    "run_chart",
]

register_renderer()
