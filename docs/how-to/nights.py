"""Write the history of a suite that ran every night: real trials of evals/solver, on dates of our choosing.

    python docs/how-to/nights.py 16 > nights.csv

What is simulated is the calendar alone. Each row is one run of the solver with its skill: night n, trial t of a
case has the seed 1000 n + t, so the table is the same wherever it is made.
"""

import contextlib
import csv
import io
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

SOLVER = Path(__file__).parents[2] / "evals/solver"
FIRST = datetime(2026, 11, 2, 2, tzinfo=UTC)
TRIALS = 8

sys.path.insert(0, str(SOLVER))
import solver  # noqa: E402


def solved(arguments, seed):
    """Return whether one search finds an answer that holds."""
    os.environ["EVALSTATS_SEED"] = str(seed)
    with contextlib.redirect_stdout(io.StringIO()):
        return solver.main(arguments) == 0


def main(nights):
    """Write one row a trial."""
    cases = json.loads((SOLVER / "suite.json").read_text())["cases"]
    table = csv.writer(sys.stdout)
    table.writerow(["suite", "run", "arm", "case", "archetype", "trial_index", "score", "started_at"])
    for night in range(1, nights + 1):
        date = (FIRST + timedelta(days=night - 1)).isoformat()
        for case in cases:
            for trial in range(1, TRIALS + 1):
                score = int(solved(case["inputs"]["args"][3:], 1000 * night + trial))
                run = f"night-{night:02}"
                table.writerow(["solver", run, "skill-on", case["id"], case["archetype"], trial, score, date])


main(int(sys.argv[1]))
