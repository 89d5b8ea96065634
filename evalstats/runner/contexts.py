"""The context root of an arm: what it holds, and whether trials find it as it was laid.

On the context axis each arm has one folder of its own. It is laid from the files that the suite names for
the arm, read-only, before the first trial, and shared by all trials of the arm. A folder among the files
stands for what is in it, a file for itself. A trial that changes the root, or the suite's own copy of it,
says nothing about the context any more, and no more do the trials that ran meanwhile; for those that come
after, the root is laid anew.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import DegradedReason
from evalstats.runner.folders import remove_tree
from evalstats.suite import Suite

FOLDER = "context"
VARIABLES = ("EVALSTATS_CONTEXT_ROOT", "AO_AGENTS_DIR")
_READ_ONLY_FILE, _READ_ONLY_FOLDER = 0o444, 0o555
_TRIES = 5

Stamps = dict[str, tuple[int, ...]]


def sources(suite: Suite, names: list[str]) -> list[tuple[str, Path]]:
    """Return (path below the root, file it is a copy of) for the files and folders ``names`` of an arm."""
    found: list[tuple[str, Path]] = []
    for name in names:
        place = suite.root / name
        found += _inside(place) if place.is_dir() else [(place.name, place)]
    return found


def _inside(folder: Path) -> list[tuple[str, Path]]:
    entries = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return [(path.relative_to(folder).as_posix(), path) for path in entries]


def faults(suite: Suite, names: list[str]) -> Iterator[str]:
    """Yield what is wrong with the files of a context; they are inside the repository, as was checked."""
    found = sources(suite, names)
    for below, source in found:
        if not source.is_file() or not source.resolve().is_relative_to(suite.root):
            yield f"brings {below}, which is no plain file of this repository"
    for below, count in Counter(below for below, _ in found).items():
        if count > 1:
            yield f"brings {below} {count} times; keep one"


def described(suite: Suite, arm: str) -> dict[str, Any]:
    """Return what is recorded of the context of one arm: no machine's path, but the digest of all of it."""
    section = suite.document.get("arms", {}).get(arm, {})
    names = section.get("files", [])
    files = {below: suites.tree_digest(source) for below, source in sources(suite, names)}
    given = {**section, "files": files, "env": section.get("env", {}), "inputs": section.get("inputs", {})}
    return {
        "variant": arm,
        "root_label": ", ".join(names) or "empty",
        "variables": list(VARIABLES),
        "files": files,
        "sha256": contract.canonical_digest(given),
    }


class ContextRoot:
    """The root of one arm: laid, watched, and laid anew when a trial has changed it."""

    def __init__(self, path: Path, files: Mapping[str, Path]) -> None:
        self.path = path
        self.times_laid = 0
        self._files = files
        self._originals = _originals(files)
        self._laid: Stamps | None = None
        self.lay()

    def lay(self) -> None:
        """Make the root what it is to be; where that fails, it is unavailable.

        It is tried more than once: a trial that is at work may write into the folder while it is taken away.
        """
        self.times_laid += 1
        self._laid = None
        for _ in range(_TRIES):
            with contextlib.suppress(OSError):
                remove_tree(str(self.path))
                self._fill()
                self._laid = _stamps(str(self.path))
                return

    def _fill(self) -> None:
        self.path.mkdir()
        for below, source in self._files.items():
            target = self.path / below
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(_READ_ONLY_FILE | source.stat().st_mode & 0o111)
        for folder, _, _ in os.walk(self.path, topdown=False):
            os.chmod(folder, _READ_ONLY_FOLDER)

    def trouble(self, since: int | None = None) -> DegradedReason | None:
        """Return what is wrong with the root now, or was while a trial ran that began at laying ``since``."""
        found = self._wrong()
        if found is not None:
            if self._originals == _originals(self._files):
                self.lay()
        elif since not in (None, self.times_laid):
            found = DegradedReason.CONTEXT_ROOT_MUTATED_LIVE_STATE
        return found

    def _wrong(self) -> DegradedReason | None:
        if self._originals != _originals(self._files):
            return DegradedReason.CONTEXT_ROOT_MUTATED_LIVE_STATE
        try:
            now = _stamps(str(self.path))
        except OSError:
            return DegradedReason.CONTEXT_ROOT_UNAVAILABLE
        if self._laid is None:
            return DegradedReason.CONTEXT_ROOT_UNAVAILABLE
        return None if now == self._laid else DegradedReason.CONTEXT_ROOT_MUTATED_LIVE_STATE


def _stamps(folder: str) -> Stamps:
    """Return what no change of a file leaves as it was: the kernel alone sets the time of a change."""
    found = {folder: _stamp(os.lstat(folder))}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            found[path] = _stamp(os.lstat(path))
    return found


def _stamp(file: os.stat_result) -> tuple[int, ...]:
    return file.st_ino, file.st_mode, file.st_size, file.st_ctime_ns


def _originals(files: Mapping[str, Path]) -> list[tuple[int, int] | None]:
    """Return size and time of the suite's own files; links and permissions of a working tree may change."""
    return [_original(source) for source in files.values()]


def _original(source: Path) -> tuple[int, int] | None:
    try:
        file = source.stat()
    except OSError:
        return None
    return file.st_size, file.st_mtime_ns
