"""What has been published: of every report the newest good version, if it still is what was published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from evalstats import report
from evalstats.errors import EvalstatsError
from evalstats.report.bundle import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One intact version: its document, and its drawings by name (``NAME`` and ``NAME-narrow``)."""

    version: Version
    document: Mapping[str, Any]
    drawings: Mapping[str, str]

    @property
    def address(self) -> str:
        """Return ``NOTEBOOK/SUBJECT/VERSION``."""
        return f"{self.version.notebook}/{self.version.subject}/{self.version.version}"

    def figure(self, name: str) -> dict[str, Any] | None:
        """Return a figure: its title, its reading, and its drawings for a page and for a phone."""
        for section in self.document["sections"]:
            for figure in section["figures"]:
                if figure["name"] == name:
                    wide, narrow = self.drawings[name], self.drawings[f"{name}-narrow"]
                    return {
                        **figure,
                        "name": f"{self.version.notebook}-{name}",
                        "wide": wide,
                        "narrow": narrow,
                    }
        return None

    def table(self, name: str) -> dict[str, Any] | None:
        """Return a table as the page shows it."""
        for section in self.document["sections"]:
            for table in section["tables"]:
                if table["name"] == name:
                    return {**table, "name": f"{self.version.notebook}-{name}"}
        return None


@dataclass(slots=True)
class Shelf:
    """The newest intact version of every report by notebook and subject, all versions, and what is wrong."""

    newest: dict[tuple[str, str], Published] = field(default_factory=dict)
    versions: dict[tuple[str, str], list[Version]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def of(self, notebook: str, suite: str) -> Published | None:
        """Return the report of a notebook on a suite."""
        return self.newest.get((notebook, suite))

    def about(self, suite: str) -> list[Published]:
        """Return every report on a suite."""
        return [found for (_, subject), found in self.newest.items() if subject == suite]

    @property
    def suites(self) -> list[str]:
        """Return the suites that some report is about: those whose data name a suite of the report's subject."""
        named = {
            subject
            for (_, subject), found in self.newest.items()
            if found.document["data"]["suite_id"] == subject and found.document["data"]["n_runs"]
        }
        return sorted(named)


def shelf(reports: Path) -> Shelf:
    """Read the newest good version of every report under ``reports``, each held against its manifest."""
    found = Shelf()
    for key, same in groupby(report.list_reports(reports), key=lambda v: (v.notebook, v.subject)):
        found.versions[key] = list(same)
        good = [version for version in found.versions[key] if version.status == "ok"]
        if not good or good[-1] is not found.versions[key][-1]:
            found.problems.append(
                f"{'/'.join(key)}: the newest version failed ({found.versions[key][-1].version})"
            )
        if good:
            try:
                found.newest[key] = _read(good[-1])
            except (EvalstatsError, OSError) as error:
                told = error.message if isinstance(error, EvalstatsError) else str(error.strerror)
                found.problems.append(f"{'/'.join(key)}/{good[-1].version}: {told}; it is not shown")
    return found


def _read(version: Version) -> Published:
    document, _ = report.read_verified(version.path)
    return Published(version=version, document=document, drawings=dict(_drawings(version.path, document)))


def _drawings(folder: Path, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section in document["sections"]:
        for figure in section["figures"]:
            for name in (figure["name"], f"{figure['name']}-narrow"):
                yield name, (folder / "figures" / f"{name}.svg").read_text("utf-8")
