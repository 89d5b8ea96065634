"""A log larger than memory should be is read in little of it, and a row costs microseconds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MEGABYTES = int(os.environ.get("EVALSTATS_LARGE_LOG_MB", "200"))  # by hand: 1024
ROOM = 500  # megabytes of resident memory, whatever the size of the log
IMPORT = """
import resource, sys
from pathlib import Path
from evalstats.cli import run_command
code = run_command(["import", sys.argv[1], "--data", sys.argv[2], "--json"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
raise SystemExit(code)
"""


def lm_eval(path: Path, size: int) -> int:
    """Write samples of some 2 KB each; return how many."""
    rows = 0
    with path.open("w") as file:
        while file.tell() < size:
            row = {
                "doc_id": rows,
                "doc": {"question": f"What is {rows} + 1? " + "context " * 150, "answer": str(rows + 1)},
                "arguments": {"gen_args_0": {"arg_0": "prompt " * 40, "arg_1": {"until": ["\n"]}}},
                "target": str(rows + 1),
                "resps": [[str(rows + 1)]],
                "filtered_resps": [str(rows + 1)],
                "filter": "none",
                "metrics": ["exact_match"],
                "exact_match": float(rows % 3 > 0),
            }
            file.write(
                json.dumps(row | {f"{name}_hash": f"{rows:064x}" for name in ("doc", "prompt", "target")})
                + "\n"
            )
            rows += 1
    return rows


def promptfoo(path: Path, size: int) -> int:
    """Write one document of results of some 4 KB each, two repeats a test; return how many."""
    rows = 0
    with path.open("w") as file:
        file.write(
            '{"evalId": "eval-1", "results": {"version": 3, "timestamp": "2026-01-01T00:00:00Z", "results": ['
        )
        while file.tell() < size:
            test = {
                "description": f"case {rows // 2}",
                "vars": {"q": f"q{rows // 2}"},
                "assert": [{"type": "equals"}],
            }
            passed = rows % 3 > 0
            row = {
                "promptIdx": 0,
                "promptId": "p",
                "testIdx": rows,
                "testCase": test,
                "vars": test["vars"],
                "provider": {"id": "m"},
                "success": passed,
                "score": float(passed),
                "failureReason": int(not passed),
                "response": {"output": "words " * 600},
                "gradingResult": {"pass": passed, "componentResults": []},
            }
            file.write((", " if rows else "") + json.dumps(row))
            rows += 1
        file.write(']}, "config": {}, "runtimeOptions": {"repeat": 2}}')
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("make", [lm_eval, promptfoo])
def test_a_large_log_takes_little_memory(make, tmp_path):
    path = tmp_path / ("samples_task.jsonl" if make is lm_eval else "results.json")
    expected = make(path, MEGABYTES << 20)
    command = [sys.executable, "-c", IMPORT, str(path), str(tmp_path / "data")]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    path.unlink()
    totals = json.loads(done.stdout)["totals"]
    assert (totals["trials"], totals["added"]) == (expected, expected)
    resident = int(done.stderr.splitlines()[-1])
    print(f"{make.__name__}: {MEGABYTES} MB, {expected} rows, {resident} MB resident")
    assert resident < ROOM
