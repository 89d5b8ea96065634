"""Runs many commands, each in a process of its own that is forked ready-made: a start costs no imports.

``drive.py PLAN FOLDER``: PLAN is a JSON list of ``{"argv": [...], "cwd": "...", "suite": ...}``, where a text for
``suite`` is written to suite.json first; what a command writes goes to ``FOLDER/<number>.out`` and ``.err``, its
exit code to ``FOLDER/<number>.code``.
"""

import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import time
import traceback
from pathlib import Path

import pandas
import pyarrow

import evalstats
from evalstats import contract
from evalstats.cli import run_command

SECONDS = 120


def main() -> None:
    plan, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    assert pandas and pyarrow
    for module in pkgutil.walk_packages(evalstats.__path__, "evalstats."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for schema in contract.packaged("schemas").glob("*.v1.json"):
        contract.problems({}, schema.name.removesuffix(".json"))
    run_command(["version"])
    gc.freeze()
    for number, step in enumerate(plan):
        if step["suite"] is not None:
            (Path(step["cwd"]) / "suite.json").write_text(step["suite"], "latin-1")
        child = os.fork()
        if child == 0:
            become(step, folder / str(number))
        (folder / f"{number}.code").write_text(str(ended(child)))


def become(step: dict, place: Path) -> None:
    for descriptor, end in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{place}.{end}", os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(step["cwd"])
    code = 1
    try:
        code = run_command(step["argv"])
    except Exception:
        traceback.print_exc()  # as Python does where --debug lets an error through
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(child: int) -> int:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


if __name__ == "__main__":
    main()
