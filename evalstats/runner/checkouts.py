"""A git ref as a folder of files, without touching the working tree, the index or the history.

What is checked out is what is committed: no submodules, and nothing that git ignores.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalstats.errors import UsageError

OPTION = "--candidate"
_GIT_SECONDS = 600
# Set by git for its hooks; they would lead to another repository or index than the one meant here.
_MISLEADING = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A commit that is put to the test: the name it was asked for by, and its digest."""

    ref: str
    sha: str


@contextlib.contextmanager
def discreet(private: bool) -> Iterator[None]:
    """Raise UsageErrors as they are or, where the repository is private, without what git says of it."""
    try:
        yield
    except UsageError:
        if private:
            raise UsageError("git cannot give the files of this ref", field=OPTION) from None
        raise


def resolve(root: Path, ref: str) -> Candidate:
    """Return the commit behind ``ref`` in the repository around ``root``. Raises UsageError."""
    _git(root, "rev-parse", "--show-toplevel", why="git finds no repository here to take a ref from")
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    return Candidate(ref, _git(root, *asked, why=f"git knows no commit called {ref!r}"))


def check_out(root: Path, candidate: Candidate, folder: Path) -> Path:
    """Write the files of a commit below ``folder`` and return where ``root`` lies among them.

    Raises UsageError when git refuses, as where the commit is no longer there.
    """
    folder.mkdir(mode=0o700)
    gone = f"git cannot check out {candidate.sha[:12]} ({candidate.ref})"
    top = Path(_git(root, "rev-parse", "--show-toplevel", why=gone))
    index = {"GIT_INDEX_FILE": str(folder / "index")}
    _git(top, "read-tree", candidate.sha, why=gone, env=index)
    _git(top, "checkout-index", "--all", "--quiet", f"--prefix={folder / 'tree'}/", why=gone, env=index)
    return folder / "tree" / root.relative_to(top.resolve())


def _git(place: Path, *words: str, why: str, env: dict[str, str] | None = None) -> str:
    outside = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    command = ["git", "-C", str(place), *words]
    try:
        done = subprocess.run(
            command, env={**outside, **(env or {})}, capture_output=True, check=False, timeout=_GIT_SECONDS
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise UsageError(f"git cannot be run: {error}", path=place, field=OPTION) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").partition("\n")[0]
        raise UsageError(f"{why} ({said})" if said else why, path=place, field=OPTION)
    return os.fsdecode(done.stdout).strip()
