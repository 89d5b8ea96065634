"""Folders that trials may use: made empty, put in order, taken back or removed."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

HOME = "/home"
TEMPORARY = "/tmp"
OUTPUTS = {"stdout", "stderr", "stdin"}
# Below the trial's own folder. Only HOME and TMPDIR are made: the others appear when something needs them.
_MADE = (HOME, TEMPORARY)
_PRIVATE_FOLDER, _PRIVATE_FILE = stat.S_IFDIR | 0o700, stat.S_IFREG | 0o600


class Scratch:
    """The private folders of trials, and the files of their output.

    What a trial left as it was is handed on to the next: a new inode for each trial costs more than all the
    rest of starting it, as file systems are slow to take back what was just deleted.
    """

    def __init__(self) -> None:
        self._untouched: list[str] = []

    def open(self, folder: str) -> None:
        """Make ``folder`` with its private folders, all empty."""
        if folder in self._untouched:  # by an earlier attempt at the same trial
            self._untouched.remove(folder)
            return
        if self._untouched:
            os.rename(self._untouched.pop(), folder)
            return
        os.mkdir(folder, 0o700)
        for below in _MADE:
            os.mkdir(folder + below, 0o700)

    def close(self, folder: str) -> bool:
        """Take ``folder`` back if nothing in it is changed; return False when it has to be removed."""
        if not _is_untouched(folder):
            return False
        self._untouched.append(folder)
        return True


def _is_untouched(folder: str) -> bool:
    """Return whether there is nothing but empty private folders and plain files of output."""
    try:
        outputs = set(os.listdir(folder)) - {below[1:] for below in _MADE}
        return (
            outputs <= OUTPUTS
            and all(_is_plain(os.lstat(f"{folder}/{name}")) for name in outputs)
            and all(os.lstat(folder + below).st_mode == _PRIVATE_FOLDER for below in _MADE)
            and not any(os.listdir(folder + below) for below in _MADE)
        )
    except OSError:
        return False


def _is_plain(file: os.stat_result) -> bool:
    return file.st_mode == _PRIVATE_FILE and file.st_nlink == 1


def remove_tree(folder: str) -> None:
    """Remove a folder with whatever a trial put there, folders without permissions included."""
    if os.path.isdir(folder) and not os.path.islink(folder):
        os.chmod(folder, 0o700)
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def place(source: Path, target: Path) -> None:
    """Copy a file or a folder to ``target``, making the folders above it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)
