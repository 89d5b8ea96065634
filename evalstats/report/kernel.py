"""Run one notebook in processes of its own: papermill in one, its kernel in another.

Both are forks of a warm Python (module ``warm``) or, with ``cold``, each starts from nothing: the same bytes come
out, later. Nothing of the caller reaches the notebook but what is named here: a short list of environment variables,
a home folder of its own, and a kernel that is this very Python, whatever kernels are installed. Status comes from
the exception alone: after a dead kernel or a timeout, papermill's own notebook says that every cell completed.

Run as a module, this file is the inner process.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import evalstats
from evalstats.report import drawing, warm
from evalstats.report.draft import FOLDER_VARIABLE

OK, FAILED, DEAD, TIMEOUT = "ok", "failed", "dead-kernel", "timeout"
SOURCE, EXECUTED, BUNDLE = "source.ipynb", "executed.ipynb", "bundle"
COLD, WARM = "cold", "warm"
_JOB, _OUTCOME, _KERNEL = "job.json", "outcome.json", "evalstats"
_MODULE = "evalstats.report.kernel"
_START_SECONDS = 60
_KEPT = (
    "PATH TMPDIR LD_LIBRARY_PATH VIRTUAL_ENV SSL_CERT_FILE"
    " PYTHONPATH PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX"
).split()
_FIXED = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",  # sums in one order, so that the last digit does not depend on the machine's load
    "OMP_NUM_THREADS": "1",
}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


Process: TypeAlias = "subprocess.Popen[bytes] | warm.Fork"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How a notebook is run: how long a cell and the whole may take, in seconds, and whether from a cold start."""

    cell_seconds: float = 600
    total_seconds: float = 1800
    cold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a notebook ended. ``message`` is one line; ``cell`` the number of the code cell that raised.

    ``kernel`` says from which start it ran, cold or warm.
    """

    status: str
    message: str = ""
    cell: int | None = None
    traceback: str = ""
    kernel: str = COLD


def prepare(execution: Execution) -> None:
    """Begin to warm up, so that it is done when the first notebook is ready to run."""
    if not execution.cold:
        warm.start(_surroundings())
        drawing.warm_up()


def run(notebook: bytes, parameters: Mapping[str, Any], work: Path, execution: Execution) -> Outcome:
    """Run a notebook inside the folder ``work``; leaves ``executed.ipynb`` and what its draft saved in ``bundle``."""
    (work / SOURCE).write_bytes(notebook)
    (work / BUNDLE).mkdir()
    job = {"parameters": dict(parameters), "cell_seconds": execution.cell_seconds}
    (work / _JOB).write_text(json.dumps(job), "utf-8")
    with contextlib.nullcontext() if execution.cold else drawing.offered(work / drawing.SOCKET):
        process = _start(work, execution.cold)
        start = WARM if isinstance(process, warm.Fork) else COLD
        try:
            process.wait(execution.total_seconds)
        except subprocess.TimeoutExpired:
            message = f"took longer than {execution.total_seconds:g} s"
            return Outcome(status=TIMEOUT, message=message, kernel=start)
        finally:
            _end(process)
    return replace(_outcome(work), kernel=start)


def _start(work: Path, cold: bool) -> Process:
    """Start the process that runs the notebook: a fork where there can be one."""
    server = None if cold else warm.start(_surroundings())
    if server is not None:
        _write_kernel(work, {"kernel_provisioner": {"provisioner_name": warm.PROVISIONER}})
        forked = server.fork(_MODULE, work, environment(work))
        if forked is not None:
            return forked
    _write_kernel(work, {})
    with (work / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            cwd=work,
            env=environment(work),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def environment(work: Path) -> dict[str, str]:
    """Return the environment of the notebook: an allow-list, so that no credential is in reach."""
    home = work / "home"
    home.mkdir(exist_ok=True)
    own = {
        "HOME": str(home),
        "IPYTHONDIR": str(home),
        "JUPYTER_CONFIG_DIR": str(home),
        "JUPYTER_RUNTIME_DIR": str(home),
        "JUPYTER_PATH": str(work),
        FOLDER_VARIABLE: str(work / BUNDLE),
        drawing.PLACE_VARIABLE: str(work / drawing.SOCKET),
    }
    return _surroundings() | own


def _surroundings() -> dict[str, str]:
    """Return what the environments of all notebooks have in common."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    root = Path(evalstats.__path__[0]).parent
    if root.name not in ("site-packages", "dist-packages"):  # a checkout is not on the path of a new Python
        kept["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [kept.get("PYTHONPATH")])])
    return kept | _FIXED


def _write_kernel(work: Path, metadata: Mapping[str, Any]) -> None:
    folder = work / "kernels" / _KERNEL
    folder.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-P", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Python 3", "language": "python", "metadata": metadata}
    (folder / "kernel.json").write_text(json.dumps(spec), "utf-8")


def _end(process: Process) -> None:
    """End what is left of the process and of the kernels it started."""
    import psutil  # type: ignore[import-untyped]

    try:
        family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    except psutil.NoSuchProcess:
        family = []
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    if process.poll() is None:
        process.kill()
    process.wait()


def _outcome(work: Path) -> Outcome:
    try:
        return Outcome(**json.loads((work / _OUTCOME).read_text("utf-8")))
    except (OSError, ValueError):
        return Outcome(
            status=FAILED, message="the process that runs the notebook ended before the notebook did"
        )


# --- the inner process ---------------------------------------------------------------------------


def main() -> None:
    """Run the job in the current folder and write down how it ended."""
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    if warm.KERNEL_VARIABLE in os.environ:
        from evalstats.report import provisioner

        provisioner.register()
    job = json.loads(Path(_JOB).read_text("utf-8"))
    Path(_OUTCOME).write_text(json.dumps(asdict(_execute(job))), "utf-8")


def _leave_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)  # the kernel watches this process and follows


def _execute(job: Mapping[str, Any]) -> Outcome:
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    try:
        papermill.execute_notebook(
            SOURCE,
            EXECUTED,
            parameters=job["parameters"],
            kernel_name=_KERNEL,
            language="python",
            progress_bar=False,
            start_timeout=_START_SECONDS,
            execution_timeout=job["cell_seconds"],
            request_save_on_cell_execute=False,  # saving before and after every cell costs a third of a report
            autosave_cell_every=0,
            cwd=".",
        )
    except papermill.PapermillExecutionError as error:
        return _cell_failed(error)
    except DeadKernelError:
        return Outcome(status=DEAD, message="the kernel died")
    except CellTimeoutError:
        return Outcome(status=TIMEOUT, message=f"a cell took longer than {job['cell_seconds']:g} s")
    except Exception as error:  # whatever papermill could not do is a report that was not made
        return Outcome(status=FAILED, message=_last_line(f"{type(error).__name__}: {error}"))
    return Outcome(status=OK)


def _cell_failed(error: Any) -> Outcome:
    said = _last_line(str(error.evalue))
    return Outcome(
        status=FAILED,
        message=f"{error.ename}: {said}" if said else str(error.ename),
        cell=error.exec_count,
        traceback=_COLOURS.sub("", "\n".join(error.traceback)),
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


if __name__ == "__main__":
    main()
