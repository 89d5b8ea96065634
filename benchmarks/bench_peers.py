"""How long do 3,000 trials that do nothing take, start-up included, against other runners? ``bench_peers.py``.

600 cases, 5 trials each, one subject that answers at once inside each tool: our scripted runtime, the mock model of
inspect_ai, the echo provider of promptfoo. All score one "contains" and keep every trial: ours in journal and store,
theirs in their logs. Memory is the peak of the whole program; ours also as it was when the last trial had ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.timing import ratio, shown

CASES, TRIALS, ROUNDS = 600, 5, 5
PEERS = Path(__file__).parents[1] / ".venv-peers"
QUIET = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_DEBUG_LOG": "1",
    "PROMPTFOO_DISABLE_ERROR_LOG": "1",
}
TASK = f"""
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def noop():
    samples = [Sample(id=f"c{{i}}", input=f"Say {{i}}.", target="Default output") for i in range({CASES})]
    return Task(dataset=samples, solver=generate(), scorer=includes(), epochs={TRIALS})
"""


class Measured(NamedTuple):
    """Seconds and peak memory in MB of one program."""

    seconds: float
    memory: float


def main() -> None:
    """Measure in turns and print one table as JSON."""
    with tempfile.TemporaryDirectory(prefix="evalstats-bench-") as name:
        folder = Path(name)
        commands = contestants(folder)
        found: dict[str, list[Measured]] = {peer: [] for peer in commands}
        for number in range(ROUNDS):
            for peer, command in commands.items():
                found[peer].append(measure([word.format(n=number) for word in command], folder))
        running = peak_of_trials(folder)
    ours = found.pop("ours")
    rows = [row(peer, theirs, ours) for peer, theirs in found.items()]
    rows.append({"what": "our peak while trials run, before the store opens", "ours": f"{running:.0f} MB"})
    print(json.dumps({"title": "Runner: 3,000 trials that do nothing, start-up included", "rows": rows}))


def contestants(folder: Path) -> dict[str, list[str]]:
    """Write what each tool is to run and return how it is called."""
    (folder / "suite.json").write_text(json.dumps(suite()))
    (folder / "task.py").write_text(TASK)
    tests = [{"vars": {"i": str(i)}, "assert": [{"type": "contains", "value": "Say"}]} for i in range(CASES)]
    echo = {"prompts": ["Say {{i}}."], "providers": ["echo"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(echo))
    ours = f"{Path(sys.executable).with_name('evalstats')} run suite.json --trials {TRIALS} --progress none"
    inspect = f"{PEERS}/bin/inspect eval task.py --model mockllm/model --display none"
    promptfoo = (
        f"{PEERS}/node_modules/.bin/promptfoo eval --repeat {TRIALS} --no-cache --no-table --no-progress-bar"
    )
    return {
        "ours": f"{ours} --data data-{{n}}".split(),
        "inspect_ai, mock model": f"{inspect} --log-dir logs-{{n}}".split(),
        "promptfoo, echo": f"{promptfoo} --no-write -o out-{{n}}.json".split(),
    }


def suite() -> dict[str, Any]:
    """Return our suite: a script that answers at once."""
    case = {
        "title": "Say it", "kind": "runtime_prompt", "runtime": "mock", "objective": "Say it.",
        "dimensions": ["correctness"], "inputs": {"mock": {"answers": [{"text": "Said."}]}},
        "expectations": [{"type": "stdout_contains", "value": "Said"}],
    }  # fmt: skip
    dimension = {"name": "correctness", "weight": 1, "threshold": 1}
    return {
        "schema_version": 1, "id": "noop", "name": "Noop", "domain": "benchmark", "visibility": "public_canary",
        "tier": "headless", "allowed_runtimes": ["mock"], "baseline_policy": {"mode": "none"},
        "scoring": {"aggregate_threshold": 1, "dimensions": [dimension]},
        "cases": [{**case, "id": f"c{i}", "prompt": f"Say {i}."} for i in range(CASES)],
    }  # fmt: skip


def measure(command: list[str], folder: Path) -> Measured:
    """Run one program to its end."""
    environment = {**os.environ, **QUIET, "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo")}
    started = time.perf_counter()
    with (folder / "said").open("w+b") as said:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{command[0]} ended with {process.returncode}: {said.read()[-500:].decode()}")
    return Measured(time.perf_counter() - started, used.ru_maxrss / 1024)


def peak_of_trials(folder: Path) -> float:
    """Return the peak memory in MB of a process that runs the same trials and leaves them in its journal."""
    code = f"""
from pathlib import Path
from evalstats import runner
from evalstats.suite import load
plan = runner.plan(load(Path("suite.json")), runner.Options(trials={TRIALS}, run_id="peak"))
result = runner.run(plan, data=Path("data-peak"), jobs=4)
assert result.records[0]["trials"]["usable"] == {CASES * TRIALS}
"""
    return measure([sys.executable, "-c", code], folder).memory


def row(peer: str, theirs: list[Measured], ours: list[Measured]) -> dict[str, Any]:
    """Return a row of the table."""
    return {
        "what": f"run, score and keep, against {peer}",
        "peer": said(theirs),
        "ours": said(ours),
        "ratio": ratio([one.seconds for one in theirs], [one.seconds for one in ours]),
        "goal": "1, under 150 MB",
    }


def said(measured: list[Measured]) -> str:
    """Return time and memory of a contestant."""
    return f"{shown([one.seconds for one in measured])}, {max(one.memory for one in measured):.0f} MB"


if __name__ == "__main__":
    main()
