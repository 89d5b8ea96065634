"""One command, run to its end: its own session, output to files, a time limit, an output cap.

Popen with files and a process descriptor in the loop cannot hang on a grandchild that keeps a pipe open,
because there is none.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

from evalstats.contract import Outcome
from evalstats.runner import limits
from evalstats.runner.isolation.holds import Hold
from evalstats.runner.sweeping import Sweeper

OUTPUT_CAP = 10_000_000  # bytes a stream
GRACE_SECONDS = 2.0
SLOW_START_SECONDS = 0.0015
NOT_STARTED = "not-started"  # an error class
TICK_SECONDS = 0.2  # how often the size of the output is looked at
_USUAL_PATH = os.fsencode(os.defpath)
_FILE = os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_RDWR | os.O_APPEND


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, where, how long, and how held. ``mark`` is the key of the trial, also in its environment."""

    argv: tuple[str, ...]
    hold: Hold
    cwd: str
    env: Mapping[bytes, bytes]
    scratch: str
    mark: str
    timeout_s: float
    stdin: str | None = None
    umask: int = -1  # that of this process
    output_cap: int = OUTPUT_CAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended and what it wrote (at most the cap). Not ``ok`` has a reason."""

    outcome: Outcome
    reason: str | None = None
    error_class: str | None = None
    exit_code: int | None = None
    duration_s: float | None = None
    leftovers: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(frozen=True, slots=True)
class _Running:
    child: subprocess.Popen[bytes]
    began: float
    exited: asyncio.Future[float]


class Starter:
    """Starts commands in this thread, or in others once a start takes long.

    A start lasts until the child has had its first turn. On a busy machine that is long, and waiting for one
    after the other would leave jobs empty; on an idle one a thread costs more than it saves. The threads live
    as long as the run.
    """

    def __init__(self) -> None:
        self._usual_s = 0.0

    async def start(self, command: Command, files: dict[str, int], sweeper: Sweeper) -> _Running:
        """Start a command. Cancelling raises CancelledError when it is started and gone again."""
        if self._usual_s < SLOW_START_SECONDS:
            return self._started(*_spawn(command, files), sweeper)
        starting = asyncio.get_running_loop().run_in_executor(None, _spawn, command, files)
        try:
            return self._started(*await asyncio.shield(starting), sweeper)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, ValueError):  # a start cannot be stopped half-way
                await _end(self._started(*await starting, sweeper), command, sweeper, grace=0.0)
            raise

    def _started(
        self, child: subprocess.Popen[bytes], began: float, took: float, sweeper: Sweeper
    ) -> _Running:
        self._usual_s += (took - self._usual_s) / 8
        exited = _exit_of(child)
        sweeper.started(child.pid)
        return _Running(child, began, exited)


async def execute(command: Command, starter: Starter, sweeper: Sweeper) -> Ended:
    """Run a command to its end. Cancelling kills it, waits until it is gone, and raises CancelledError."""
    files: dict[str, int] = {}
    try:
        try:
            running = await starter.start(command, files, sweeper)
        except (OSError, ValueError) as error:
            if limits.is_exhausted(error):
                raise
            return _not_started(command, error)
        return await _attend(command, running, files, sweeper)
    finally:
        for descriptor in files.values():
            os.close(descriptor)
        if command.hold.group is not None:
            await command.hold.group.end()


def _spawn(command: Command, files: dict[str, int]) -> tuple[subprocess.Popen[bytes], float, float]:
    """Return the started command, when it began, and how many seconds starting it took."""
    for name in ("stdout", "stderr"):
        files[name] = os.open(f"{command.scratch}/{name}", _FILE, 0o600)
    stdin = subprocess.DEVNULL
    if command.stdin is not None:
        stdin = files["stdin"] = os.open(f"{command.scratch}/stdin", _FILE, 0o600)
        _fill(stdin, command.stdin.encode())
    program, argv, hold = _program(command.argv[0], _path(command)), command.argv, command.hold
    if hold.has_words:
        _check(command, program)
        if hold.wrapper:  # a file without a name: the trial must not write to it
            files["report"] = os.memfd_create("report")
        program, argv = None, hold.argv(argv, files.get("report"))
    began = time.monotonic()
    with hold.starting():
        child = subprocess.Popen(
            argv,
            executable=program,
            cwd=command.cwd,
            env=command.env,
            stdin=stdin,
            stdout=files["stdout"],
            stderr=files["stderr"],
            start_new_session=True,
            umask=command.umask,
            pass_fds=(files["report"],) if "report" in files else (),
        )
    return child, began, time.monotonic() - began


def _path(command: Command) -> bytes:
    return command.env.get(b"PATH", _USUAL_PATH)


def _check(command: Command, program: str | None) -> None:
    """Raise what starting a command would raise, where another program starts it, and would only complain."""
    name, path = command.argv[0], os.fsdecode(_path(command))
    place = program or shutil.which(os.path.join(command.cwd, name) if "/" in name else name, path=path)
    os.stat(command.cwd)
    if place is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


@functools.lru_cache(maxsize=256)
def _program(name: str, path: bytes) -> str | None:
    """Return where a program lies; None leaves the search to the system, which is slower, once a trial."""
    search = os.fsdecode(path)
    plain = "/" not in name and all(os.path.isabs(folder) for folder in search.split(os.pathsep))
    return shutil.which(name, path=search) if plain else None


def _fill(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
    os.lseek(descriptor, 0, os.SEEK_SET)


def _exit_of(child: subprocess.Popen[bytes]) -> asyncio.Future[float]:
    """Return the moment at which the process ends. It stays unreaped, so that its numbers stay its own."""
    loop = asyncio.get_running_loop()
    exited: asyncio.Future[float] = loop.create_future()
    try:
        descriptor = os.pidfd_open(child.pid)
    except OSError:
        _signal_group(child.pid, signal.SIGKILL)
        child.wait()
        raise

    def ended() -> None:
        exited.set_result(time.monotonic())
        loop.remove_reader(descriptor)
        os.close(descriptor)

    loop.add_reader(descriptor, ended)
    return exited


async def _attend(command: Command, running: _Running, files: dict[str, int], sweeper: Sweeper) -> Ended:
    grace, fault = GRACE_SECONDS, None
    try:
        outcome, reason = await _watch(command, running, files)
        grace = 0.0 if outcome is Outcome.LIMIT else grace
        if outcome is Outcome.OK:
            fault = command.hold.fault(running.child.pid, files.get("report"))
    finally:  # also when cancelled
        leftovers = await _end(running, command, sweeper, grace=grace)
    if fault is not None:
        return Ended(outcome=Outcome.INFRASTRUCTURE, reason=fault, error_class=NOT_STARTED)
    return Ended(
        outcome=outcome,
        reason=reason,
        exit_code=running.child.returncode,
        duration_s=running.exited.result() - running.began,
        leftovers=leftovers,
        stdout=_content(files["stdout"], command.output_cap),
        stderr=_content(files["stderr"], command.output_cap),
    )


async def _end(running: _Running, command: Command, sweeper: Sweeper, *, grace: float) -> int | None:
    """See to it that a command and all it started is gone; return how many processes it had left."""
    ended_alone = running.exited.done()
    if not ended_alone:
        await _kill(running, command.hold, grace=grace)
    found = await sweeper.finish(running.child, command.mark, ended_alone=ended_alone)
    if command.hold.group is not None:  # which also holds those that hide their mark
        found = (found or 0) + await command.hold.group.end()
    return None if command.hold.wrapper else found  # it takes along, uncounted, what it holds


async def _watch(command: Command, running: _Running, files: dict[str, int]) -> tuple[Outcome, str | None]:
    """Return how the command is doing, and why, at the first moment when that is decided."""
    deadline, exited = running.began + command.timeout_s, running.exited
    while True:
        left = deadline - time.monotonic()
        await asyncio.wait((exited,), timeout=max(0.0, min(TICK_SECONDS, left)))
        if any(os.fstat(files[name]).st_size > command.output_cap for name in ("stdout", "stderr")):
            return Outcome.LIMIT, f"wrote more than {command.output_cap} bytes to one stream"
        if exited.done():
            group = command.hold.group
            if group is not None and group.ran_out_of_memory():
                return Outcome.LIMIT, "used more memory than its limit"
            return Outcome.OK, None
        if left <= 0:
            return Outcome.TIMEOUT, f"timed out after {command.timeout_s:g} s"


async def _kill(running: _Running, hold: Hold, *, grace: float) -> None:
    if grace:
        hold.ask_to_end(running.child.pid)
        await asyncio.wait((running.exited,), timeout=grace)
    if not running.exited.done():
        _signal_group(running.child.pid, signal.SIGKILL)
        await asyncio.wait((running.exited,))


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, number)


def _content(descriptor: int, cap: int) -> bytes:
    size = min(os.fstat(descriptor).st_size, cap)
    return os.pread(descriptor, size, 0) if size else b""


def _not_started(command: Command, error: Exception) -> Ended:
    if isinstance(error, FileNotFoundError | NotADirectoryError) and error.filename == command.cwd:
        reason, error_class = "the working directory does not exist", "no-working-directory"
    elif isinstance(error, FileNotFoundError):
        reason, error_class = f"the command {command.argv[0][:80]!r} was not found", "command-not-found"
    else:
        why = error.strerror if isinstance(error, OSError) else "its text is not fit for a command line"
        reason, error_class = f"the command could not be started: {why}", NOT_STARTED
    return Ended(outcome=Outcome.INFRASTRUCTURE, reason=reason, error_class=error_class)
