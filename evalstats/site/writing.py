"""Put the dashboard in place: built aside, then swapped in whole, never over a folder of somebody else's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats.errors import UsageError
from evalstats.report import page
from evalstats.site import decisions, pages, published, standing
from evalstats.site.pages import Known

MARKER = ".evalstats-site"  # a folder with this file may be replaced
_COPIED = ("report.html", "report.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """Where the dashboard is, how many pages it has and how large they are, and what could not be read."""

    path: Path
    pages: int
    bytes: int
    problems: tuple[str, ...]

    def as_record(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        told = {"index": str(self.path / pages.INDEX), "pages": self.pages, "bytes": self.bytes}
        return {"path": str(self.path), **told, "problems": list(self.problems)}


def build(reports: Path, out: Path, *, gates: Path, suites: Path) -> Built:
    """Make the dashboard of all that was published.

    Parameters
    ----------
    reports, gates : Path
        The folder of all reports, and that of the decisions of gates.
    out : Path
        Where the pages go: a new folder, an empty one, or a dashboard, which is then replaced as a whole.
    suites : Path
        The folder of suites, for tiers, locks, baselines and ratchets; need not be there.

    Returns
    -------
    Built

    Raises
    ------
    UsageError
        ``out`` is a folder of something else, or cannot be written.
    """
    if out.exists() and not (out.is_dir() and ((out / MARKER).is_file() or not any(out.iterdir()))):
        raise UsageError("is there and is no dashboard; name a new folder", path=out, field="--out")
    known = _known(reports, gates, suites)
    aside = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        written = dict(_pages(known))
        for name, text in written.items():
            _write(aside / name, text.encode())
        _copy_reports(reports, known, aside / pages.REPORTS)
        _write(aside / MARKER, b"")
        _swap(aside, out)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror or error}", path=out, field="--out") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    size = sum(len(text.encode()) for text in written.values())
    return Built(path=out, pages=len(written), bytes=size, problems=tuple(known.problems))


def _known(reports: Path, gates: Path, suites: Path) -> Known:
    shelf = published.shelf(reports)
    decided, ledger_problems = decisions.read(gates)
    stands, suite_problems = standing.standings(suites)
    problems = [*shelf.problems, *ledger_problems, *suite_problems]
    return Known(shelf=shelf, decisions=decided, standings=stands, problems=problems)


def _pages(known: Known) -> Iterator[tuple[str, str]]:
    yield pages.INDEX, page.render_site(pages.overview(known), root="")
    for suite in known.suites:
        yield f"{pages.SUITES}/{suite}.html", page.render_site(pages.suite_page(known, suite), root="../")


def _copy_reports(reports: Path, known: Known, target: Path) -> None:
    """Copy the pages that are linked to, with their numbers and tables, so that the folder works alone."""
    for address in sorted(pages.linked(known)):
        source = reports / address
        for path in (*(source / name for name in _COPIED), *sorted((source / "tables").glob("*.csv"))):
            if path.is_file() and not path.is_symlink():
                _write(target / address / path.relative_to(source), path.read_bytes())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _swap(aside: Path, out: Path) -> None:
    old = out.with_name(f".{out.name}.{os.getpid()}.old")
    if out.exists():
        out.rename(old)
    try:
        aside.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)
