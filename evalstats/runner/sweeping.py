"""Nothing that a trial started outlives it.

A process leaves its group with ``setsid``, so killing the group is not enough. The runner makes itself the
reaper of its descendants: what loses its parent becomes the runner's child, where it is found, recognised by
the trial's mark in its environment, and killed. What does not carry the mark is never touched.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from evalstats.contract import Isolation

RUN_MARK = "EVALSTATS_RUN"  # in the environment of all that a trial starts
TRIAL_MARK = "EVALSTATS_TRIAL"
RUNNER_MARK = "EVALSTATS_RUNNER"  # which process started it: several may be at one run
PATIENCE_SECONDS = 2.0  # how long killed processes may take to disappear
_PAUSE_SECONDS = 0.002
_LOOKS = 4
_PR_SET_CHILD_SUBREAPER = 36


class Sweeper:
    """Finds and kills what trials leave behind, used as a context manager around a whole run.

    ``isolation`` says what is in effect: ``subreaper``, or ``killpg`` where the kernel offers no more.
    """

    def __init__(self) -> None:
        self.isolation = Isolation.KILLPG
        self._others: set[int] = set()  # children that somebody else had before us
        self._leaders: set[int] = set()  # commands that run now
        self._adopted: list[int] = []  # at the last look
        self._children = (
            -1
        )  # kept open: to end what runs must be possible when no file can be opened any more

    def __enter__(self) -> Sweeper:
        if os.path.exists(_children_file()) and _set_subreaper(True):
            self._children = os.open(_children_file(), os.O_RDONLY)
            if _adopts(self._children):
                self.isolation = Isolation.SUBREAPER
                self._others = set(_listed(self._children))
            else:
                self._give_back()
        return self

    def __exit__(self, *_: object) -> None:
        if self.isolation is Isolation.SUBREAPER:
            self._left("")  # a last time, to reap
            self._give_back()

    def _give_back(self) -> None:
        _set_subreaper(False)
        os.close(self._children)

    def started(self, leader: int) -> None:
        """Remember a command that was just started as the leader of its own session and group."""
        self._leaders.add(leader)

    async def finish(self, child: subprocess.Popen[bytes], mark: str, *, ended_alone: bool) -> int | None:
        """Reap a command that has ended and kill what is left of its trial.

        Returns how many processes were left: all that were alive when the command ended alone; of a command
        that was killed with its group, those outside the group. None where they cannot be seen.
        """
        left = self._left(mark)
        give_up = time.monotonic() + PATIENCE_SECONDS
        found = {pid for pid in left if ended_alone or _group(pid) != child.pid}
        with contextlib.suppress(OSError):  # safe: an unreaped leader keeps its group's number taken
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        self._leaders.discard(child.pid)
        while left and time.monotonic() < give_up:
            for pid in left:
                with contextlib.suppress(OSError):  # safe: a child's number is ours until it is reaped
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(_PAUSE_SECONDS)
            left = self._left(mark)  # what a killed process had started has now come to us
            found.update(pid for pid in left if ended_alone or _group(pid) != child.pid)
        return None if self.isolation is Isolation.KILLPG else len(found)

    def is_alone(self) -> bool:
        """Return whether the last look met nothing adopted: then no stranger holds a file of that trial."""
        return self.isolation is Isolation.SUBREAPER and not self._adopted

    def _left(self, mark: str) -> list[int]:
        """Return the living adopted children that carry the mark; reap adopted ones that have died."""
        if self.isolation is Isolation.KILLPG:
            return []
        wanted = f"{TRIAL_MARK}={mark}"
        self._adopted = [
            p for p in _listed(self._children) if p not in self._leaders and p not in self._others
        ]
        return [pid for pid in self._adopted if not _reaped(pid) and _carries(pid, wanted, looks=_LOOKS)]


def kill_orphans(run_ids: tuple[str, ...]) -> int:
    """Kill what dead runners of these runs left running and return how many processes that were.

    Only processes of this user that carry the mark of one of the runs, and whose runner is gone; those that do not
    say which runner they have must be older than this process.
    """
    marks = [f"{RUN_MARK}={run_id}" for run_id in run_ids]
    found: set[int] = set()
    give_up = time.monotonic() + PATIENCE_SECONDS
    while (left := list(_orphans(marks))) and time.monotonic() < give_up:
        found.update(left)
        for pid in left:
            _kill_if_marked(pid, marks)
        time.sleep(_PAUSE_SECONDS)
    return len(found)


def _orphans(marks: list[str]) -> Iterator[int]:
    mine = _started(os.getpid())
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and any(_carries(int(entry.name), mark) for mark in marks):
            pid = int(entry.name)
            with contextlib.suppress(OSError):
                if pid == os.getpid() or entry.stat().st_uid != os.getuid():
                    continue
                is_alone = _has_lost_its_runner(pid)
                if is_alone or (is_alone is None and _started(pid) <= mine):
                    yield pid


def runner_mark() -> str:
    """Return what names this process among all that run trials, for as long as the machine is up."""
    return f"{os.getpid()}-{_started(os.getpid())}-{os.stat('/proc/self/ns/pid').st_ino}"


def runner_name() -> str:
    """Return what people call this process by: host and number."""
    return f"{socket.gethostname()}-{os.getpid()}"


def _has_lost_its_runner(pid: int) -> bool | None:
    """Return whether the runner of a process is gone; None where it does not say, or not in numbers of ours."""
    name = f"{RUNNER_MARK}=".encode()
    environment = _read(f"/proc/{pid}/environ").split(b"\0")
    mark = next((entry[len(name) :].decode() for entry in environment if entry.startswith(name)), "")
    runner, _, rest = mark.partition("-")
    started, _, numbers = rest.partition("-")
    if not (runner.isdigit() and started.isdigit()):
        return None
    if numbers != str(os.stat("/proc/self/ns/pid").st_ino):
        return False
    try:
        return str(_started(int(runner))) != started
    except OSError:
        return True


def _kill_if_marked(pid: int, marks: list[str]) -> None:
    # A stranger's number can be taken over by another process: look again once a descriptor holds it.
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if any(_carries(pid, mark) for mark in marks):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def _children_file() -> str:
    return f"/proc/self/task/{os.getpid()}/children"


def _adopts(children: int) -> bool:
    """Return whether an orphan of ours really comes to us: one is made, looked for, and ended."""
    made = subprocess.run(
        ["/bin/sh", "-c", "sleep 5 >/dev/null & echo $!"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        check=False,
    )
    if not made.stdout.strip().isdigit():
        return False
    orphan = int(made.stdout)
    is_ours = orphan in _listed(children)
    with contextlib.suppress(OSError):
        os.kill(orphan, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(orphan, 0)
    return is_ours


def _listed(children: int) -> list[int]:
    # Those of the main thread alone: it is the one that the kernel gives orphans to.
    text = b""
    while more := os.pread(children, 65_536, len(text)):
        text += more
    return [int(pid) for pid in text.split()]


def _reaped(pid: int) -> bool:
    """Reap an adopted child that has died. One in our own session may belong to other code: left alone."""
    # Nothing is opened for it: this must also be possible when no file can be opened any more.
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return False
        if os.getsid(pid) != os.getsid(0):
            os.waitpid(pid, os.WNOHANG)
    return True


def _carries(pid: int, mark: str, *, looks: int = 1) -> bool:
    """Return whether a process has the mark in its environment.

    Between two programs a process shows none for a moment: one that shows none is looked at ``looks`` times.
    """
    environment = b""
    for look in range(looks):
        if look:
            time.sleep(_PAUSE_SECONDS)
        with contextlib.suppress(OSError):
            environment = _read(f"/proc/{pid}/environ")
        if environment:
            break
    return mark.encode() in environment.split(b"\0")


def _group(pid: int) -> int:
    """Return the process group; 0 for a process that is gone."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _started(pid: int) -> int:
    return int(_stat_fields(pid)[19])


def _stat_fields(pid: int) -> list[bytes]:
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()  # the name may hold spaces and brackets


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _set_subreaper(on: bool) -> bool:
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False
