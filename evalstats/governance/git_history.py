"""Old versions of files, found by their digest in the git history. Nothing is fetched and nothing is written."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from evalstats import contract
from evalstats.errors import UsageError

_LOG = ("log", "--all", "--full-history", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "-z")


def old_files(folder: Path, wanted: Collection[str], names: Collection[str]) -> dict[str, bytes]:
    """Return digest -> content of the JSON files that have one of the ``wanted`` SHA-256, on any branch.

    Files called like one of ``names`` are read first; the search ends when all are found. Raises UsageError where
    there is no git history to search.
    """
    versions = sorted(_versions(folder), key=lambda version: version[1] not in names)
    found: dict[str, bytes] = {}
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"{blob}\n" for blob in dict.fromkeys(blob for blob, _ in versions)).encode())
        asked.seek(0)
        command = _git(folder, "cat-file", "--batch")
        with subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, env=_environment()) as process:
            assert process.stdout is not None
            for content in _contents(process.stdout):
                if (sha256 := contract.digest(content)) in wanted:
                    found[sha256] = content
                if len(found) == len(wanted):
                    process.kill()
                    break
    return found


def _versions(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (git's id, file name) of every version of every JSON file."""
    command = _git(folder, *_LOG, "--", ":(top,glob)**/*.json")
    try:
        done = subprocess.run(command, env=_environment(), capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise UsageError("there is no git history here to search", path=folder, field="--git") from None
    fields = [field for field in done.stdout.decode("utf-8", "replace").split("\0") if field]
    for change, path in zip(fields[::2], fields[1::2], strict=True):
        name = path.rpartition("/")[2]
        yield from ((blob, name) for blob in change.split()[2:4] if blob.strip("0"))


def _contents(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield each object of a ``cat-file --batch``; one that is not there is passed over."""
    while header := stream.readline().split():
        if header[-1].isdigit():
            yield stream.read(int(header[-1]) + 1)[:-1]


def _git(folder: Path, *arguments: str) -> list[str]:
    return ["git", "-C", str(folder), "-c", "log.showRoot=true", *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
