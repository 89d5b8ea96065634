"""A control group (version 2) for each trial: whatever it started, under whatever name, is ended as one.

Groups are made below our own group or below one of those above it, the nearest that lets us. Only groups that we
made are ever written to.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.002
_PREFIX = "evalstats-"
_LIMITS = ("memory", "pids")
# The shell enters the group before it becomes the command: so nothing is ever started outside.
_JOIN = 'echo 0 >"$0" && exec "$@"'


@dataclass(frozen=True, slots=True)
class Group:
    """The group of one command."""

    folder: Path

    def words(self) -> tuple[str, ...]:
        """Return the words that start a command inside the group."""
        return ("/bin/sh", "-c", _JOIN, str(self.folder / "cgroup.procs"))

    def holds(self, pid: int) -> bool:
        """Return whether a process, which may have ended, is in the group."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
                if line.startswith("0::"):
                    return line.endswith("/".join(("", *self.folder.parts[-2:])))
        return False

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel ended the group because it asked for more memory than its limit."""
        with contextlib.suppress(OSError):
            events = (self.folder / "memory.events").read_text().split()
            return int(events[events.index("oom_kill") + 1]) > 0
        return False

    async def end(self) -> int:
        """Kill what is left in the group, remove it, and return how many processes were left."""
        left = len(self._read("cgroup.procs").split())
        if left:
            self.kill()
            give_up = time.monotonic() + PATIENCE_SECONDS
            while self.is_populated() and time.monotonic() < give_up:
                await asyncio.sleep(_PAUSE_SECONDS)
        with contextlib.suppress(OSError):
            self.folder.rmdir()
        return left

    def kill(self) -> None:
        """Kill all that is in the group."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")

    def is_populated(self) -> bool:
        """Return whether anything in the group is alive."""
        return "populated 1" in self._read("cgroup.events")

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text()
        except OSError:
            return ""


@dataclass(slots=True)
class Groups:
    """The folder in which the groups of a run are made; ``limits`` names what can be limited in it."""

    folder: Path
    limits: frozenset[str]
    memory: int | None = None
    processes: int | None = None
    _made: int = field(default=0)

    def make(self) -> Group:
        """Return a new group with the limits set."""
        self._made += 1
        group = Group(self.folder / str(self._made))
        group.folder.mkdir()
        if self.memory is not None:
            (group.folder / "memory.max").write_text(str(self.memory))
            (group.folder / "memory.oom.group").write_text("1")  # a trial ends as one, not in part
            with contextlib.suppress(OSError):  # where the machine has no swap, there is no such file
                (group.folder / "memory.swap.max").write_text("0")
        if self.processes is not None:
            (group.folder / "pids.max").write_text(str(self.processes))
        return group

    def close(self) -> None:
        """Remove the folder with the groups in it, empty as they are."""
        _remove(self.folder)


def places() -> list[Path]:
    """Return where groups may be made: our own group first, then those above it."""
    with contextlib.suppress(OSError):
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        tops = [Path(m[4]) for m in mounts if m[m.index("-") + 1] == "cgroup2"]
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = [line[3:].strip("/") for line in lines if line.startswith("0::")]
        if tops and own:
            nearest = tops[0] / own[0]
            return [nearest, *(p for p in nearest.parents if p.is_relative_to(tops[0]))]
    return []


def opened(wanted: frozenset[str] = frozenset(), within: list[Path] | None = None) -> Groups:
    """Return a folder for groups: the nearest whose groups can be limited in what is ``wanted``, else the nearest.

    Raises OSError where none can be made.
    """
    found: Groups | None = None
    refused: OSError = FileNotFoundError(2, "no control groups of version 2 are mounted")
    for place in places() if within is None else within:
        try:
            made = _opened(place)
        except OSError as error:
            refused = error
            continue
        if wanted <= made.limits:
            if found is not None:
                found.close()
            return made
        if found is None:
            found = made
        else:
            made.close()
    if found is None:
        raise refused
    return found


def _opened(place: Path) -> Groups:
    for left in place.glob(f"{_PREFIX}*"):  # by runners that were killed
        if not os.path.exists(f"/proc/{left.name.split('-')[1]}"):
            _remove(left)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
    return Groups(folder, frozenset(_enabled(folder)))


def _enabled(folder: Path) -> Iterator[str]:
    """Have the groups in a folder limited in what they can be, and yield what that is."""
    for name in _LIMITS:
        with contextlib.suppress(OSError):
            if name in (folder / "cgroup.controllers").read_text().split():
                (folder / "cgroup.subtree_control").write_text(f"+{name}")
                yield name


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for inside in folder.iterdir():
            if inside.is_dir():
                inside.rmdir()
        folder.rmdir()
