"""How long is the answer to "is B better than A?" from a CSV, start-up included? ``bench_compare.py``.

One table of 20,000 rows: 1,000 questions, two models, 10 samples each. Both programs read the same file, as commands.
Prints one table as JSON. The peer gives a paired difference with its error; ours adds equivalence, exact test and MDE.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import alternate, ratio, shown

QUESTIONS, SAMPLES, ROUNDS = 1_000, 10, 11
OURS = Path(sys.executable).with_name("evalstats")
PEER = Path(__file__).parents[1] / ".venv-peers/bin/errorbars"
NAMES = "case=question,model=model,score=score,trial=sample"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="evalstats-bench-") as folder:
        table = Path(folder) / "table.csv"
        write(table, np.random.default_rng(7))
        columns = "--question-col question --model-col model --score-col score --sample-col sample".split()
        seconds = alternate(
            {
                "ours": lambda: run([OURS, "compare", table, "--map", NAMES]),
                "theirs": lambda: run([PEER, "compare", *columns, table]),
            },
            ROUNDS,
        )
    row = {
        "what": "`compare` on a table of 20,000 rows, start-up included, against errorbars",
        "peer": shown(seconds["theirs"]),
        "ours": shown(seconds["ours"]),
        "ratio": ratio(seconds["theirs"], seconds["ours"]),
        "goal": "1/3 or more",
    }
    print(json.dumps({"title": "Compare", "rows": [row]}))


def write(table: Path, rng: np.random.Generator) -> None:
    """Write the rows."""
    rates = np.clip(rng.beta(1.5, 1.5, QUESTIONS)[:, None] + [0, 0.05], 0, 1)
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "model", "sample", "score"])
        for question, pair in enumerate(rates):
            for model, rate in zip("ab", pair, strict=True):
                for sample, passed in enumerate(rng.random(SAMPLES) < rate, 1):
                    writer.writerow([f"q{question}", model, sample, int(passed)])


def run(command: list[object]) -> None:
    """Run a command; one that fails is no measurement."""
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
