"""Is it so? Each means of isolation is really used once, and its effect looked at from outside.

That a program lies on PATH, or that a call returns 0, says nothing: distributions forbid parts of it, and containers
others. A probe returns None where the means works, else why it does not.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from evalstats.runner.isolation import bwrap
from evalstats.runner.isolation.bwrap import View
from evalstats.runner.isolation.cgroups import Groups
from evalstats.runner.isolation.network import NoNetwork

PATIENCE_SECONDS = 2.0
SLOW_SECONDS = 10.0
# A process in a session of its own that holds our pipe open: what kills all closes the pipe. It ends by itself,
# in case that nothing kills it.
_ESCAPEE = "setsid sleep 5 & "
_TELL = "cat /proc/self/mountinfo; readlink /proc/self/ns/pid; echo ready; "
_WAIT = "exec sleep 5"
_TELL_NETWORK = "readlink /proc/self/ns/net; cat /proc/net/route; echo ready"
_LINES_WITHOUT_ROUTES = 3  # the namespace, the header of the table, and that it is ready


def of_bwrap(program: str | None, view: View, writable: str) -> str | None:
    """Return why ``bwrap`` does not give trials this view and take with it all that they started."""
    if program is None:
        return "it is not installed"
    canary = Path(tempfile.mkdtemp(prefix="evalstats-", dir="/tmp")) / "canary"
    canary.touch()
    tries = f'test -e {canary} && echo seen; echo x >"$TMPDIR/wrote"; '
    words = view.words(program, writable=writable, cwd=writable, program=None, offline=False)
    try:
        with _started(words, tries + _ESCAPEE + _TELL + _WAIT, {"TMPDIR": writable}) as (child, told):
            if not told or told[-1] != "ready":
                return f"it fails: {_complaint(child)}"
            child.send_signal(signal.SIGKILL)  # nothing but the program itself
            has_ended = _closes(child)
        if told[-2] == os.readlink("/proc/self/ns/pid"):
            return "it leaves trials among the processes of the machine"
        if not _is_read_only(told) or "seen" in told:
            return "it leaves the files of the machine as they are"
        if not os.path.exists(f"{writable}/wrote"):
            return "it takes the trial its own folder"
        return None if has_ended else "what trials start outlives it"
    finally:
        shutil.rmtree(canary.parent)


def of_bwrap_network(program: str | None) -> str | None:
    """Return why ``bwrap`` does not take the network from a command."""
    return "it is not installed" if program is None else _cut_off(bwrap.network_words(program), None)


def of_network(network: NoNetwork) -> str | None:
    """Return why a command that is started in this namespace has a network all the same."""
    return _cut_off((), network)


def of_groups(groups: Groups) -> str | None:
    """Return why control groups do not end all that a trial started, or do not keep the limits."""
    try:
        group = groups.make()
    except OSError as error:
        return f"a group cannot be limited: {error.strerror}"
    try:
        if not (group.folder / "cgroup.kill").exists():
            return "the kernel has no cgroup.kill (Linux 5.14)"
        with _started(group.words(), _ESCAPEE + "echo ready; " + _WAIT) as (child, told):
            if told != ["ready"]:
                return f"nothing can be moved into a group: {_complaint(child)}"
            if not group.holds(child.pid):
                return "what is started in a group is not in it"
            group.kill()
            return None if _closes(child) else "killing a group leaves processes alive"
    finally:
        _wait_until_empty(group.is_populated)
        with contextlib.suppress(OSError):
            group.folder.rmdir()


def of_memory_words(words: Sequence[str], most: int) -> str | None:
    """Return why the words that set a limit of memory do not set it."""
    with _started(words, "cat /proc/self/limits; echo ready") as (child, told):
        limits = [line.split()[3] for line in told if line.startswith("Max data size")]
        return None if limits == [str(most // 1024 * 1024)] else f"it cannot be set: {_complaint(child)}"


def _cut_off(words: Sequence[str], network: NoNetwork | None) -> str | None:
    entered = contextlib.nullcontext() if network is None else network.entered()
    with _started(words, _TELL_NETWORK, within=entered) as (child, told):
        if not told or told[-1] != "ready":
            return f"it fails: {_complaint(child)}"
    if told[0] == os.readlink("/proc/self/ns/net"):
        return "it leaves trials on the network of the machine"
    return None if len(told) == _LINES_WITHOUT_ROUTES else "it leaves a route to the network"


def _is_read_only(told: Sequence[str]) -> bool:
    """Return whether the last mount on ``/`` is read-only, by a table of mounts."""
    roots = [fields for line in told if len(fields := line.split()) > 6 and fields[4] == "/"]
    return bool(roots) and "ro" in roots[-1][5].split(",")


@contextlib.contextmanager
def _started(
    words: Sequence[str],
    script: str,
    more: dict[str, str] | None = None,
    within: contextlib.AbstractContextManager[None] | None = None,
) -> Iterator[tuple[subprocess.Popen[bytes], list[str]]]:
    """Start a shell script behind these words; yield it, and what it said up to ``ready`` or its end."""
    with within or contextlib.nullcontext():
        child = subprocess.Popen(
            (*words, "/bin/sh", "-c", script),
            env={"PATH": os.environ.get("PATH", os.defpath), **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    try:
        yield child, _said(child)
    finally:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()


def _said(child: subprocess.Popen[bytes]) -> list[str]:
    text, give_up = b"", time.monotonic() + SLOW_SECONDS
    while not text.endswith(b"ready\n") and (more := _more(child, give_up)):
        text += more
    return text.decode(errors="replace").splitlines()


def _more(child: subprocess.Popen[bytes], give_up: float) -> bytes | None:
    """Return what comes next from a child: nothing at the end, None where nothing comes in time."""
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], max(0.0, give_up - time.monotonic()))
    return os.read(child.stdout.fileno(), 65_536) if ready else None


def _closes(child: subprocess.Popen[bytes]) -> bool:
    """Return whether all that hold the pipe of a child are gone soon."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while more := _more(child, give_up):
        pass
    return more is not None


def _complaint(child: subprocess.Popen[bytes]) -> str:
    """Return the first line that a child complains with."""
    assert child.stderr is not None
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    ready, _, _ = select.select([child.stderr], [], [], 0.2)
    said = os.read(child.stderr.fileno(), 2000).decode(errors="replace").strip() if ready else ""
    return said.splitlines()[0][:200] if said else "it says nothing"


def _wait_until_empty(is_populated: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while is_populated() and time.monotonic() < give_up:
        time.sleep(0.002)
