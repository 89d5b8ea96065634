"""What a notebook says: the finding, the numbers behind it, figures, tables, methods and caveats.

A notebook fills a :class:`Draft` and ends with ``draft.save()``. Under ``report.build`` the draft is then written
to the folder of the bundle; in JupyterLab and under plain papermill it is only shown.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from evalstats import contract
from evalstats.contract import IDENTITY, Visibility
from evalstats.errors import ReportError
from evalstats.report.tables import Table, is_missing, rows, visible
from evalstats.stats.results import Estimate, Test
from evalstats.trials import timestamp

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.report.canvas import Figure

FOLDER_VARIABLE = "EVALSTATS_BUNDLE"

Records: TypeAlias = "pd.DataFrame | Estimate | Test | Iterable[Estimate | Test | Mapping[str, Any]]"


class Draft:
    """A report in the making.

    Parameters
    ----------
    notebook, subject : str
        Which notebook speaks, and about what (usually the suite): the address of the report.
    title, question : str
        What kind of report it is, in two words, and the question it answers: the heading of the page.
    parameters : mapping of str to str, int, float or bool
        The parameters of the notebook.
    """

    def __init__(
        self,
        notebook: str,
        subject: str,
        title: str,
        question: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self._said: dict[str, Any] = {
            "schema": "report.v1",
            "notebook": notebook,
            "subject": subject,
            "title": visible(title),
            "question": visible(question),
            "finding": "",
            "parameters": plain(dict(parameters or {}), "parameters"),
            **{
                name: []
                for name in ("headline", "sections", "methods", "caveats", "estimates", "tests", "series")
            },
            "data": None,
        }
        self._figures: dict[str, Figure] = {}
        self._tables: dict[str, Table] = {}

    def finding(self, text: str) -> None:
        """Say what was found, in words computed from the data."""
        self._said["finding"] = visible(text)

    def headline(self, label: str, value: str, detail: str = "") -> None:
        """Add a number to the head of the page; the first one is the largest."""
        self._said["headline"].append(
            {"label": visible(label), "value": visible(value), "detail": visible(detail)}
        )

    def section(
        self, id: str, title: str, *text: str, figures: Sequence[Figure] = (), tables: Sequence[Table] = ()
    ) -> None:
        """Add a section: paragraphs, then its figures, then its tables. ``id`` is its anchor on the page."""
        self._add_named("section", {section["id"] for section in self._said["sections"]}, id)
        for figure in figures:
            self._add_named("figure", self._figures, figure.name)
            self._figures[figure.name] = figure
        for table in tables:
            self._add_named("table", self._tables, table.name)
            self._tables[table.name] = table
        pictures = [
            {"name": f.name, "title": visible(f.title), "reading": visible(f.reading)} for f in figures
        ]
        self._said["sections"].append(
            {
                "id": id,
                "title": visible(title),
                "text": [visible(paragraph) for paragraph in text],
                "figures": pictures,
                "tables": [table.as_document() for table in tables],
            }
        )

    def method(self, title: str, text: str) -> None:
        """Explain how something was estimated, and for whom it holds."""
        self._said["methods"].append({"title": visible(title), "text": visible(text)})

    def caveat(self, *texts: str) -> None:
        """Add what the reader must know; said twice, it stands once."""
        said = self._said["caveats"]
        said += [text for text in dict.fromkeys(map(visible, texts)) if text not in said]

    def estimates(self, *several: Records) -> None:
        """Add estimates: frames (grouping columns, then the fields of Estimate), or records. Keeps their caveats."""
        for records in several:
            self._said["estimates"] += self._records(records, Estimate, "estimates")

    def tests(self, records: Records) -> None:
        """Add tests: a frame (grouping columns, then the fields of Test), or records. Keeps their caveats."""
        self._said["tests"] += self._records(records, Test, "tests")

    def series(self, frame: pd.DataFrame) -> None:
        """Add the runs behind the numbers, one row per run and arm; what identifies a series goes together."""
        for row in _as_rows(frame):
            run = plain({str(k): v for k, v in row.items()}, "series")
            identity = {name: run.pop(name) for name in IDENTITY if name in run}
            self._said["series"].append({**run, "identity": identity})

    def data(self, **facts: Any) -> None:
        """Say what data stand behind the report: the fields of ``data`` in schema report.v1."""
        self._said["data"] = plain(facts, "data")

    def document(self) -> dict[str, Any]:
        """Return the content of ``report.json``. Raises ReportError or DocumentError when it is not complete."""
        if not self._said["finding"]:
            raise ReportError("the notebook draws no conclusion; call draft.finding(...)", field="finding")
        if self._said["data"] is None:
            raise ReportError(
                "the notebook does not say what data it used; call draft.data(...)", field="data"
            )
        contract.validate(self._said, "report.v1", path="report.json")
        return self._said

    def save(self) -> Draft:
        """Write the draft into the bundle that is being built, if one is; return the draft, to be shown."""
        folder = os.environ.get(FOLDER_VARIABLE)
        if folder:
            self.write(Path(folder))
        return self

    def write(self, folder: Path) -> None:
        """Write ``report.json``, ``tables/*.csv`` and ``figures/*`` into ``folder``."""
        document = self.document()
        refuse_private(document)
        for name in ("tables", "figures"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for table in self._tables.values():
            _write(folder / "tables" / f"{table.name}.csv", table.csv())
        for figure in self._figures.values():
            _write(folder / "figures" / f"{figure.name}.vl.json", as_json(figure.wide.spec()))
            _write(folder / "figures" / f"{figure.name}.svg", figure.wide.svg)
            _write(folder / "figures" / f"{figure.name}-narrow.svg", figure.narrow.svg)
        _write(folder / "report.json", as_json(document))

    def __repr__(self) -> str:
        return f"<Draft {self._said['notebook']}/{self._said['subject']}>"

    def _repr_html_(self) -> str:
        from evalstats.report import page

        return page.summary(self._said)

    def _records(
        self, records: Records, kind: type[Estimate] | type[Test], where: str
    ) -> list[dict[str, Any]]:
        wanted = [field.name for field in fields(kind)]
        found = []
        for row in _as_rows(records):
            absent = [name for name in wanted if name not in row]
            if absent:
                raise ReportError(f"{where} lack {', '.join(absent)}", field=where)
            record = plain({str(key): value for key, value in row.items()}, where)
            for name in ("n_clusters", "n_cases", "n_trials"):
                if isinstance(record.get(name), float):  # pandas turns a column with a gap into floats
                    record[name] = int(record[name])
            record["caveats"] = record["caveats"] or []
            self.caveat(*record["caveats"])
            found.append(record)
        return found

    @staticmethod
    def _add_named(what: str, taken: Iterable[str], name: str) -> None:
        if not re.fullmatch(contract.schema("words.v1")["$defs"]["name"]["pattern"], name):
            raise ReportError(
                f"{what} {name!r}: use lower-case letters, digits, dots, dashes and underscores"
            )
        if name in taken:
            raise ReportError(f"{what} {name!r} stands twice; rename one")


def refuse_private(document: Mapping[str, Any]) -> None:
    """Raise ReportError when the document speaks about a private suite."""
    if document["data"].get("visibility") == Visibility.PRIVATE_HOLDOUT:
        raise ReportError("private suites have no public report yet")


def plain(value: Any, where: str) -> Any:
    """Return ``value`` as JSON holds it: unknown is None, NumPy is Python, text is visible. Refuses infinity."""
    if isinstance(value, Mapping):
        return {visible(key): plain(entry, f"{where}/{key}") for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry, where) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    if is_missing(value):
        return None
    if isinstance(value, datetime):
        return timestamp(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, float) and math.isinf(value):
        raise ReportError("an infinite number cannot be reported; say it as a caveat", field=where)
    return value if isinstance(value, (bool, int, float)) else visible(value)


def as_json(document: Any) -> str:
    """Return ``document`` as text that is the same for the same content: sorted keys, shortest floats."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1) + "\n"


def _as_rows(records: Any) -> list[Mapping[str, Any]]:
    if hasattr(records, "columns"):
        return list(rows(records))
    if isinstance(records, (Estimate, Test)):
        records = [records]
    return [entry if isinstance(entry, Mapping) else entry.as_row() for entry in records]


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())
