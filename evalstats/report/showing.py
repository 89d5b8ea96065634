"""How estimates, tests and frames of them show themselves in a notebook, without their rooms knowing of HTML."""

from __future__ import annotations

from typing import Any

from evalstats.report import page
from evalstats.report.tables import Column, Table, holds_estimates

_TEST = frozenset("null alternative statistic p_value method".split())


def register(shell: Any) -> None:
    """Teach the shell of a notebook; types are named, not imported, so that this costs nothing."""
    html = shell.display_formatter.formatters["text/html"]
    html.for_type_by_name("evalstats.stats.results", "Estimate", page.estimate)
    html.for_type_by_name("evalstats.stats.results", "Test", page.test)
    for module in ("pandas", "pandas.core.frame"):  # where a frame says it lives depends on the version
        html.for_type_by_name(module, "DataFrame", frame)


def frame(shown: Any) -> str | None:
    """Return a frame of estimates or of tests as a report would show it; any other frame as pandas does."""
    columns: list[Column | str] | None = None
    if _TEST <= set(shown.columns):
        keys = [str(name) for name in shown.columns if name not in _TEST | {"caveats"}]
        columns = [*keys, "null", "alternative", "statistic", Column("p_value", "p", "p"), "method"]
    elif not holds_estimates(shown):
        columns = []
    if columns == [] or shown.empty:
        plain: str | None = shown._repr_html_()
        return plain
    return page.fragment(Table("shown", "", shown, columns).as_document())
