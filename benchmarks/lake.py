"""A lake of any size in the store's own layout: two real runs are exported, then multiplied with random trials."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalstats import store

CASES, RUNS = 1_000, 20
ROOT = Path(__file__).parents[1]


def make_lake(folder: Path, rows: int) -> None:
    """Write ``rows`` trials of suite ``big`` (20 runs x 1,000 cases) into the new ``folder``."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as scratch:
        template = _template(Path(scratch))
        trials, runs = _one(template, "trials"), _one(template, "runs")
        folder.mkdir(parents=True)
        shutil.copy(template / "lake.json", folder)
        for table in ("cases", "expectations", "dimension_scores"):
            if (template / table).exists():
                shutil.copytree(template / table, folder / table)
    for number in range(RUNS):
        run_id = f"big-{number:02d}"
        place = f"suite_id=big/run_id={run_id}/arm=skill-on"
        _write(_trials(trials, run_id, rows // RUNS, rng), folder / "trials" / place)
        _write(_replaced(runs, {"suite_id": "big", "group_id": run_id}), folder / "runs" / f"run_id={run_id}")


def _template(scratch: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "evalstats",
        "run",
        str(ROOT / "evals/ab-demo"),
        "--data",
        str(scratch / "data"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with store.open(scratch / "data/evalstats.duckdb", read_only=True) as opened:
        store.export_parquet(opened, scratch / "lake")
    return scratch / "lake"


def _one(lake: Path, table: str) -> pa.Table:
    path = next((lake / table).rglob("*.parquet"))
    return pq.read_table(path, partitioning=None).slice(0, 1)


def _trials(template: pa.Table, run_id: str, count: int, rng: np.random.Generator) -> pa.Table:
    cases = np.arange(count) % CASES
    passed = rng.random(count) < (0.2 + 0.6 * cases / CASES)
    names = np.array([f"case-{i:04d}" for i in range(CASES)], dtype=object)
    archetypes = np.array([f"A{1 + i % 12}" for i in range(CASES)], dtype=object)
    start = hashlib.sha256(run_id.encode()).hexdigest()[:40]
    keys = np.char.add(start, np.char.zfill(np.arange(count).astype(str), 24))
    return _replaced(
        template,
        {
            "trial_key": pa.array(keys),
            "case_id": pa.array(names[cases]),
            "archetype": pa.array(archetypes[cases]),
            "trial_index": pa.array(1 + np.arange(count) // CASES),
            "passed": pa.array(passed),
            "score": pa.array(passed.astype(float)),
            "duration_s": pa.array(rng.gamma(2.0, 0.5, count)),
        },
        count,
    )


def _replaced(template: pa.Table, columns: dict[str, object], count: int = 1) -> pa.Table:
    made = []
    for field in template.schema:
        given = columns.get(field.name)
        if given is None or isinstance(given, str):
            value = given if isinstance(given, str) else template[field.name][0].as_py()
            given = pa.array([value], field.type).take(pa.array(np.zeros(count, dtype=np.int64)))
        made.append(given.cast(field.type))
    return pa.table(made, schema=template.schema)


def _write(table: pa.Table, folder: Path) -> None:
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "part-0.parquet", compression="zstd")
