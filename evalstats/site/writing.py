"""Put the dashboard in place: built aside, then exchanged whole, never over a folder of somebody else's."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats.errors import UsageError
from evalstats.report import page
from evalstats.site import overview, pieces, suite_page
from evalstats.site.known import Known, Places, gather

INDEX = "index.html"
MARKER = ".evalstats-site"  # a folder with this file may be replaced
_COPIED = ("report.html", "report.json")
_AT_CWD, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """Where the dashboard is, how many pages it has and how large they are, and what could not be read."""

    path: Path
    pages: int
    bytes: int
    problems: tuple[str, ...]

    def as_record(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        told = {"index": str(self.path / INDEX), "pages": self.pages, "bytes": self.bytes}
        return {"path": str(self.path), **told, "problems": list(self.problems)}


def build(places: Places, out: Path) -> Built:
    """Make the dashboard of all that was published.

    Parameters
    ----------
    places : Places
        Where reports, decisions, suites and published holdouts lie.
    out : Path
        Where the pages go: a new folder, an empty one, or a dashboard, which is then replaced as a whole.

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
    known = gather(places)
    written = {name: text.encode() for name, text in _pages(known)}
    place = out.resolve()  # the folder behind a link is replaced, not the link
    aside = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        for name, content in {**written, MARKER: b""}.items():
            _write(aside, name, content)
        _copy_reports(places.reports, known, aside)
        _put(aside, place)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror or error}", path=out, field="--out") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    size, problems = sum(map(len, written.values())), tuple(problem.text for problem in known.problems)
    return Built(path=out, pages=len(written), bytes=size, problems=problems)


def _pages(known: Known) -> Iterator[tuple[str, str]]:
    yield INDEX, page.render_site(overview.page(known), root="")
    for suite in known.suites:
        yield f"{pieces.SUITES}/{suite}.html", page.render_site(suite_page.page(known, suite), root="../")


def _copy_reports(reports: Path, known: Known, aside: Path) -> None:
    """Copy the pages that are linked to, with their numbers and tables, so that the folder works alone."""
    for address in known.shelf.copied:
        source = reports / address
        for path in (*(source / name for name in _COPIED), *sorted((source / "tables").glob("*.csv"))):
            if path.is_file() and not path.is_symlink():
                name = f"{pieces.REPORTS}/{address}/{path.relative_to(source).as_posix()}"
                _write(aside, name, path.read_bytes())


def _write(root: Path, name: str, content: bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for folder in (root, *(root / part for part in path.relative_to(root).parents)):
        folder.chmod(0o755)  # whatever the caller's umask: a web server is to read it
    path.write_bytes(content)
    path.chmod(0o644)


def _put(aside: Path, place: Path) -> None:
    """Put the new folder in place of the old one, which is then ``aside``; readers see either, whole."""
    if not place.exists():
        aside.rename(place)
    elif not _exchanged(aside, place):  # a file system that cannot: nothing is there for a moment
        old = aside.with_suffix(".old")
        place.rename(old)
        try:
            aside.rename(place)
        except OSError:
            old.rename(place)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, where kernel, C library and file system can."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return rename is not None and not rename(
        _AT_CWD, os.fsencode(one), _AT_CWD, os.fsencode(other), _EXCHANGE
    )
