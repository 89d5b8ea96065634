"""A Python with the third-party packages already imported, of which every notebook gets a fork of its own.

Importing pandas, statsmodels and Altair takes seconds; a fork takes milliseconds and is a process like any other:
its own memory, folder, environment and random state. The server preloads third parties only, never evalstats: a
fork imports that itself, so an edit is never missed. It needs no installed entry point, holds no thread of its own
when it forks, and ends with the process that started it; its forks end with it.

The upper half is the builder's. Run as a script, this file is the server, which is why it imports nothing of ours.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROVISIONER = "evalstats-warm"
KERNEL_VARIABLE = (
    "EVALSTATS_WARM_KERNEL"  # in the runner: process number and socket of the kernel that waits for it
)
PRELOADED = (
    "papermill ipykernel.kernelapp ipykernel.ipkernel ipykernel.debugger numpy pandas scipy.stats scipy.optimize"
    " statsmodels.api statsmodels.formula.api altair duckdb pyarrow vl_convert jsonschema_rs rfc8785 jinja2"
).split()
START_SECONDS = 120
_MESSAGE_BYTES = 1 << 20
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_COLUMNS_IN_A_KERNEL = 20


class Fork:
    """A process that the server forked: what :class:`subprocess.Popen` is for one of our own children."""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid, self._handle = pid, handle
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended. How, only its parent knows: the code is 0. Raises TimeoutExpired."""
        if self.returncode is None:
            waiting = select.poll()
            waiting.register(self._handle, select.POLLIN)
            if not waiting.poll(None if timeout is None else 1000 * timeout):
                raise subprocess.TimeoutExpired("fork", timeout or 0)
            os.close(self._handle)
            self.returncode = 0
        return self.returncode

    def kill(self) -> None:
        """End it at once; no other process that has its number by now."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)


class Server:
    """The warm Python of this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._builder = os.getpid()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                cwd="/",
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """Whether it can be asked, by this very process."""
        return self._builder == os.getpid() and self._process.poll() is None

    def fork(self, module: str, folder: Path, environment: Mapping[str, str]) -> Fork | None:
        """Run ``module`` in a fork, its output in ``folder/log``; None when the server cannot be had."""
        job = {"module": module, "folder": str(folder), "environment": dict(environment)}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            try:
                socket.send_fds(self._ours, [json.dumps(job).encode()], [theirs.fileno()])
                theirs.close()
                ours.settimeout(START_SECONDS)
                said, handles, _, _ = socket.recv_fds(ours, 64, 1)
            except OSError:
                return None
        return Fork(int(said), handles[0]) if said and handles else None

    def stop(self) -> None:
        """End the server, and with it every fork."""
        if self._builder == os.getpid():
            self._ours.close()
            self._process.kill()
            self._process.wait()


_servers: list[Server] = []
_starting = threading.Lock()


def start(environment: Mapping[str, str]) -> Server | None:
    """Return the server of this process, starting it when there is none; None on systems that have no such forks.

    Returns at once: what is imported there is imported while the caller prepares the first notebook.
    """
    if sys.platform != "linux":
        return None
    with _starting:
        if not _servers or not _servers[-1].alive:
            _servers[:] = [Server({**environment, "HOME": "/nonexistent"})]
            atexit.register(_servers[-1].stop)
        return _servers[-1]


# --- the server ----------------------------------------------------------------------------------


def serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork for every job that comes; return the job in the fork, and None when the builder has gone."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()  # a collection in a fork need not touch, and so copy, what all forks share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork here: leave no zombie
    while True:
        message, handles, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 1)
        if not message:
            return None
        server = os.getpid()
        if os.fork() == 0:
            control.close()
            _leave_with(server)
            with socket.socket(fileno=handles[0]) as builder:
                _introduce(builder)
            return dict(json.loads(message))
        os.close(handles[0])


def run_job(job: Mapping[str, Any]) -> None:
    """Be the runner of one notebook, with a second fork behind it that becomes its kernel."""
    log = os.open(Path(job["folder"]) / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    _settle(job["environment"], job["folder"])
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    runner = os.getpid()
    kernel = os.fork()  # now, while there is no thread and no open connection
    if kernel == 0:
        ours.close()
        _leave_with(runner)
        _be_kernel(theirs)
    else:
        theirs.close()
        os.environ[KERNEL_VARIABLE] = f"{kernel} {ours.detach()}"
        runpy.run_module(job["module"], run_name="__main__", alter_sys=True)


def _be_kernel(runner: socket.socket) -> None:
    """Wait to be told which kernel to be; end when nobody asks."""
    message = runner.recv(_MESSAGE_BYTES)
    runner.close()
    if not message:
        return
    wanted = json.loads(message)
    _settle(wanted["environment"], wanted["folder"])
    # What pandas shows depends on where it was first imported, and that was in no kernel.
    importlib.import_module("pandas").set_option("display.max_columns", _COLUMNS_IN_A_KERNEL)
    kernelapp = importlib.import_module("ipykernel.kernelapp")
    kernelapp.launch_new_instance(argv=wanted["arguments"])


def _settle(environment: Mapping[str, str], folder: str) -> None:
    """Take on an environment, a folder and a random state of one's own."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    importlib.import_module(
        "numpy"
    ).random.seed()  # forks inherit one and the same; Python's own reseeds itself


def _leave_with(parent: int) -> None:
    """Be a process group of one's own that ends when its parent does."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we could say so
        os._exit(1)


def _introduce(builder: socket.socket) -> None:
    """Tell the builder who we are, with a handle that no later process can inherit."""
    handle = os.pidfd_open(os.getpid())
    socket.send_fds(builder, [str(os.getpid()).encode()], [handle])
    os.close(handle)


def main() -> None:
    """Be the server until the builder goes; a fork comes here with its job."""
    control = socket.socket(fileno=int(sys.argv.pop()))
    job = serve(control)
    if job is not None:
        try:
            run_job(job)
        except Exception:
            sys.excepthook(*sys.exc_info())  # into the log
        finally:  # what the fork registered is run; taking down every module that it never used would only cost time
            atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(0)


if __name__ == "__main__":
    main()
