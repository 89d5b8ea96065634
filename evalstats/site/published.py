"""What has been published: the newest good version of every report, and those before it that are shown or linked to.

Each is held against its manifest and its chain, and must lie where it says it belongs. One that does not is a
problem, named; nothing of it is shown, and nothing links to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from evalstats import report
from evalstats.contract import Visibility
from evalstats.errors import EvalstatsError, ReportError
from evalstats.report import page
from evalstats.report.bundle import Version
from evalstats.site.problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One intact version: its document, and its drawings by name (``NAME`` and ``NAME-narrow``)."""

    version: Version
    document: Mapping[str, Any]
    drawings: Mapping[str, str]

    @property
    def address(self) -> str:
        """Return ``NOTEBOOK/SUBJECT/VERSION``."""
        return address_of(self.version)

    @property
    def last_day(self) -> str | None:
        """Return the date of the newest run that it stands on; None when it stands on none."""
        started = [str(row["started_at"]) for row in self.document["series"]]
        return max(started)[:10] if started else None

    def estimates(self, **keys: str) -> list[dict[str, Any]]:
        """Return the estimates whose fields are these."""
        rows = self.document["estimates"]
        return [row for row in rows if all(row.get(name) == value for name, value in keys.items())]

    def figure(self, name: str) -> dict[str, Any] | None:
        """Return a figure: its title, its reading, and its drawings for a page and for a phone."""
        for section in self.document["sections"]:
            for figure in section["figures"]:
                if figure["name"] == name:
                    wide, narrow = self.drawings[name], self.drawings[f"{name}-narrow"]
                    own = f"{self.version.notebook}-{name}"
                    return {**figure, "name": own, "wide": wide, "narrow": narrow}
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
    """Every version there is by notebook and subject, what was read of them, and what is wrong."""

    versions: dict[tuple[str, str], list[Version]] = field(default_factory=dict)
    newest: dict[tuple[str, str], Published] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _read: dict[str, Published | None] = field(default_factory=dict)

    def of(self, notebook: str, suite: str) -> Published | None:
        """Return the newest good version of a notebook's report on a suite; None also where it is damaged."""
        return self.newest.get((notebook, suite))

    def about(self, suite: str) -> list[Published]:
        """Return every report on a suite."""
        return [found for (_, subject), found in self.newest.items() if subject == suite]

    def last(self, notebook: str, suite: str, n: int) -> list[Published]:
        """Return the last ``n`` good versions of a report that are intact, oldest first."""
        good = [version for version in self.versions.get((notebook, suite), ()) if version.status == "ok"]
        return [found for version in good[-n:] if (found := self.intact(version)) is not None]

    def at(self, address: str) -> Published | None:
        """Return the version at ``NOTEBOOK/SUBJECT/VERSION``; None when it is not there, or not intact."""
        notebook, subject, name = address.split("/")
        there = [version for version in self.versions.get((notebook, subject), ()) if version.version == name]
        return self.intact(there[0]) if there else None

    def intact(self, version: Version) -> Published | None:
        """Return a version as read; one that is damaged becomes a problem, once."""
        address = address_of(version)
        if address not in self._read:
            try:
                self._read[address] = _read(version)
            except (EvalstatsError, OSError, ValueError) as error:
                self._read[address] = None
                told = error.message if isinstance(error, EvalstatsError) else f"it cannot be read: {error}"
                self.problems.append(Problem(f"{address}: {told}; it is not shown", version.subject))
        return self._read[address]

    @property
    def copied(self) -> list[str]:
        """Return the addresses of all versions that were read and are intact."""
        return sorted(address for address, found in self._read.items() if found is not None)

    @property
    def suites(self) -> list[str]:
        """Return the suites that some report is about: those with runs of a suite of the subject's name."""
        named = {
            subject
            for (_, subject), found in self.newest.items()
            if found.document["data"]["suite_id"] == subject and found.document["series"]
        }
        return sorted(named)


def shelf(reports: Path, private: frozenset[str] = frozenset()) -> Shelf:
    """Read the newest good version of every report under ``reports``; those on ``private`` suites are left out."""
    found = Shelf()
    for key, same in groupby(report.list_reports(reports), key=lambda v: (v.notebook, v.subject)):
        if key[1] in private:
            found.problems.append(Problem("a report is on a private suite; it is neither read nor named"))
            continue
        found.versions[key] = list(same)
        good = [version for version in found.versions[key] if version.status == "ok"]
        if not good or good[-1] is not found.versions[key][-1]:
            failed = found.versions[key][-1].version
            shown = "; the one before is shown" if good else ""
            found.problems.append(
                Problem(f"{'/'.join(key)}: the newest version failed ({failed}){shown}", key[1])
            )
        if good and (newest := found.intact(good[-1])) is not None:
            found.newest[key] = newest
    return found


def address_of(version: Version) -> str:
    """Return ``NOTEBOOK/SUBJECT/VERSION``."""
    return f"{version.notebook}/{version.subject}/{version.version}"


def _read(version: Version) -> Published:
    document, _ = report.read_verified(version.path)
    if (document["notebook"], document["subject"]) != (version.notebook, version.subject):
        raise ReportError("another report lies there")
    if document["data"].get("visibility") == Visibility.PRIVATE_HOLDOUT:
        raise ReportError("it is on a private suite")
    drawings = dict(_drawings(version.path, document))
    for svg in drawings.values():
        page.drawing(svg, "tried", "", "")  # now, when a drawing that is none costs this report alone
    return Published(version=version, document=document, drawings=drawings)


def _drawings(folder: Path, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section in document["sections"]:
        for figure in section["figures"]:
            for name in (figure["name"], f"{figure['name']}-narrow"):
                yield name, (folder / "figures" / f"{name}.svg").read_text("utf-8")
