"""The figures of a report, by question.

- How large is each, and how far off may it be? :func:`forest`
- Where does it help? :func:`archetype_bars`
- Is the latest run unusual? :func:`run_chart`
- Which cases are settled, and which flip? :func:`case_strip`
- How many of each kind are there? :func:`count_bars`

Each returns a :class:`Figure`: a drawing, and one sentence that reads it, computed from the same rows.
Importing this module makes Altair show charts offline, in JupyterLab and in a stored notebook.
"""

from __future__ import annotations

from evalstats.report.canvas import Canvas, Drawing, Figure, register_renderer
from evalstats.report.cases import case_strip
from evalstats.report.counts import count_bars
from evalstats.report.forest import archetype_bars, forest
from evalstats.report.history import run_chart

__all__ = ["Canvas", "Drawing", "Figure", "archetype_bars", "case_strip", "count_bars", "forest", "run_chart"]

register_renderer()
