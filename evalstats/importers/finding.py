"""Which files to read: those that were named, and those inside the folders that were named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from evalstats.errors import UsageError
from evalstats.importers.logs import Imported, Log, Refused

ASIDE = ".import-"  # what an import at work keeps aside
_NO_LOGS = {".git", ".venv", "node_modules", "__pycache__"}


def logs(
    paths: Sequence[Path], imported: Sequence[Imported] = (), data: Path | None = None
) -> Iterator[tuple[Log, bool, Refused | None]]:
    """Yield each file, whether the caller named it, and why it cannot be read where that is known.

    ``imported`` is what every log is told of earlier imports; the folder ``data`` they went to is no source, unless
    it is named. Files of a folder come in the order of their names; hidden ones are passed over, and a folder
    behind a symbolic link is not entered, so that no link leads in circles.
    """
    for path in paths:
        if path.is_dir():
            yield from ((log, False, why) for log, why in _inside(path, imported, data))
        elif path.is_file():
            yield Log(path, imported=imported), True, None
        elif path.exists():
            raise UsageError("is neither a file nor a folder", path=path)
        else:
            raise UsageError("is not there", path=path)


def _is_no_source(folder: Path, data: Path | None) -> bool:
    if folder.name in _NO_LOGS or folder.name.startswith(ASIDE):
        return True
    return data is not None and folder.resolve() == data.resolve()


def _inside(
    folder: Path, imported: Sequence[Imported], data: Path | None
) -> Iterator[tuple[Log, Refused | None]]:
    closed: list[Path] = []
    seen: set[Path] = set()  # a link to a file that was met is no second file
    found: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=lambda error: closed.append(Path(error.filename))):
        folders[:] = [name for name in folders if not _is_no_source(Path(place, name), data)]
        found += [Path(place, name) for name in files if not name.startswith(".")]
    for path in sorted([*closed, *found]):
        log = Log(path, imported=imported)
        if path in closed or (path.is_file() and not os.access(path, os.R_OK)):
            yield log, log.refused("cannot be read: no permission")
        elif path.is_file() and path.resolve() not in seen:
            seen.add(path.resolve())
            yield log, None
