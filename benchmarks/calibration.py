"""Do the default intervals and tests keep their promise? ``python -m benchmarks.calibration``.

Draws every world of ``tests/calibration/worlds.json`` many times, asks the defaults for a mean, a difference
and a lift, and writes ``docs/calibration.md`` with the share of intervals that hold the truth. The truth is
moved within +-0.05 from draw to draw, because coverage of discrete data oscillates from rate to rate.
``--json`` prints the numbers alone, for the test that holds the page to them; ``--world`` and ``--cases``
choose some.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.calibration_page import Row, page, shortfalls
from benchmarks.calibration_sizes import SIZES, size
from evalstats.stats.bounded_means import mean_score
from evalstats.stats.lifts import lift
from evalstats.stats.pairs import Pairs, paired_difference
from evalstats.stats.repeated_trials import pass_rate
from evalstats.stats.results import Estimate
from evalstats.stats.worlds import Sample, World, draw

ROOT = Path(__file__).parents[1]
WORLDS = ROOT / "tests" / "calibration" / "worlds.json"
PAGE = ROOT / "docs" / "calibration.md"
LEVELS = (0.80, 0.95)
REPS, RESAMPLES = 2000, 1000  # four times as many draws for sizes
STRATA = 5  # shifts of each arm's true rate, evenly over the range


class Cell(NamedTuple):
    """One world at one number of cases; what it is drawn from."""

    kind: str
    spec: dict[str, Any]
    cases: int
    reps: int
    seed: int


def main() -> int:
    """Simulate everything and write the page, or only the numbers."""
    options = _options()
    started = time.time()
    found = simulate(options)
    found["seconds"] = round(time.time() - started)
    if options.json:
        print(json.dumps(found))
    else:
        PAGE.write_text(page(found, json.loads(WORLDS.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"{len(found['rows'])} rows, {len(found['sizes'])} sizes in {found['seconds']} s", file=sys.stderr)
    return 0


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    """Return the coverage rows, the rows of stress worlds and the sizes, each a flat dict."""
    declared = json.loads(WORLDS.read_text(encoding="utf-8"))
    cells = [
        Cell(kind, spec, cases, options.reps, options.seed)
        for kind in ("worlds", "stress")
        for spec in declared[kind]
        for cases in sorted(declared["cases"], reverse=True)
        if options.world in (None, spec["name"]) and options.cases in (None, cases)
    ]
    tests = [] if options.world else [(number, 4 * options.reps, options.seed) for number in SIZES]
    with get_context("fork").Pool(options.jobs) as pool:
        rows = [row for part in pool.imap(coverage, cells, chunksize=1) for row in part]
        rows = _second_look(rows, cells, pool)
        sizes = pool.starmap(size, tests, chunksize=1)
    return {
        "reps": options.reps,
        "seed": options.seed,
        "resamples": RESAMPLES,
        "rows": [row for row in rows if row["kind"] == "worlds"],
        "stress": [row for row in rows if row["kind"] == "stress"],
        "sizes": sizes,
    }


def _second_look(rows: list[Row], cells: list[Cell], pool: Pool) -> list[Row]:
    """Draw every cell that misses a bound again, four times as often and afresh; those figures stand."""
    missed = {(row["world"], row["cases"]) for row in shortfalls(rows)}
    again = [
        cell._replace(reps=4 * cell.reps, seed=cell.seed + 1000)
        for cell in cells
        if (cell.spec["name"], cell.cases) in missed
    ]
    fresh = [row for part in pool.imap(coverage, again, chunksize=1) for row in part]
    return [row for row in rows if (row["world"], row["cases"]) not in missed] + fresh


def coverage(cell: Cell) -> list[Row]:
    """Return one row per measure and level: coverage, refusals, bias, width, each with its error."""
    rng = np.random.default_rng([cell.seed, zlib.crc32(f"{cell.spec['name']}, {cell.cases}".encode())])
    seen: dict[tuple[str, float], list[tuple[float, ...]]] = {}
    methods: dict[str, set[str]] = {}
    for world in _worlds(cell, rng):
        sample = draw(world, rng)
        for measure, level, found, truth in _asked(sample, world, rng):
            greyed = any(caveat.startswith("greyed") for caveat in found.caveats)
            numbers = found.conf_low, found.conf_high, found.estimate, truth, greyed
            seen.setdefault((measure, level), []).append(numbers)
            methods.setdefault(measure, set()).add(found.method)
    known = {"kind": cell.kind, "world": cell.spec["name"], "cases": cell.cases, "draws": cell.reps}
    return [
        {**known, "measure": measure, "level": level, "methods": sorted(methods[measure] - {"none"})}
        | _summary(np.array(numbers))
        for (measure, level), numbers in seen.items()
    ]


def _worlds(cell: Cell, rng: np.random.Generator) -> Iterator[World]:
    """Yield the world of each draw: its true rates moved, and the day's with them."""
    spec = dict(cell.spec)
    spec.pop("name")
    per_cluster, day_sd = spec.pop("cluster_size", None), spec.pop("day_sd", 0.0)
    clusters = None if per_cluster is None else max(1, cell.cases // per_cluster)
    world = World(cases=cell.cases, clusters=clusters, **spec)
    for i in range(cell.reps):
        day = rng.normal(0, day_sd) if day_sd else 0.0  # both arms run on the same day
        before = _moved(world.mean + day, i % STRATA)
        after = _moved(world.mean + world.effect + day, i // STRATA % STRATA)
        yield replace(world, mean=before, effect=after - before)


def _moved(rate: float, stratum: int) -> float:
    share = (2 * stratum + 1) / STRATA - 1
    return rate + share * min(0.05, (1 - rate) / 2)


def _asked(
    sample: Sample, world: World, rng: np.random.Generator
) -> Iterator[tuple[str, float, Estimate, float]]:
    """Yield each default's answer to one draw, and the truth."""
    graded, after = world.expectations > 1, world.mean + world.effect
    trials = np.full(world.cases, world.trials)
    pairs = Pairs(
        candidate=sample.candidate,
        baseline=sample.baseline,
        trials=world.trials,
        graded=graded,
        clusters=sample.clusters,
    )
    for level in LEVELS:
        if graded:
            mean = mean_score(sample.candidate, clusters=sample.clusters, level=level)
        else:
            passed = np.rint(sample.candidate * world.trials)
            mean = pass_rate(passed, trials, clusters=sample.clusters, level=level)
        yield "mean", level, mean, after
        difference = paired_difference(pairs, rng=rng, reps=RESAMPLES, level=level)
        yield "difference", level, difference, world.effect
        found = lift(pairs, rng=rng, reps=RESAMPLES, level=level)
        yield "lift", level, found, 1 - (1 - after) / (1 - world.mean)


def _summary(numbers: np.ndarray) -> dict[str, Any]:
    """Return what became of the draws that were not refused."""
    low, high, middle, truth, greyed = numbers[~np.isnan(numbers[:, 0] + numbers[:, 1])].T
    hits = (low <= truth) & (truth <= high)
    n, clear = hits.size, greyed == 0
    return {
        "refused": 1 - n / len(numbers),
        "coverage": _mean(hits),
        "coverage_error": _share_error(hits),
        "too_low": _mean(high < truth),
        "width": float(np.median(high - low)) if n else None,
        "bias": _mean(middle - truth),
        "bias_error": float((middle - truth).std(ddof=1) / sqrt(n)) if n > 1 else None,
        "greyed": _mean(greyed),
        "clear_coverage": _mean(hits[clear]),
        "clear_error": _share_error(hits[clear]),
    }


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


def _share_error(hits: np.ndarray) -> float | None:
    if not hits.size:
        return None
    near = (hits.sum() + 1) / (hits.size + 2)  # never on the edge, where the error would be a false 0
    return sqrt(near * (1 - near) / hits.size)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reps", type=int, default=REPS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--world")
    parser.add_argument("--cases", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
