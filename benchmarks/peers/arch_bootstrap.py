"""Run inside the peers' environment: the interval of a difference and of a lift by arch's bootstrap, as JSON."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from arch.bootstrap import IIDBootstrap


def difference(table: np.ndarray) -> float:
    """Return the difference of mean scores; columns are candidate and baseline."""
    means = table.mean(axis=0)
    return means[0] - means[1]


def lift(table: np.ndarray) -> float:
    """Return 1 - F_candidate / F_baseline."""
    means = table.mean(axis=0)
    return 1 - (1 - means[0]) / (1 - means[1])


def main() -> None:
    """Time each functional the asked number of times."""
    path, reps, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    table = np.load(path)
    result = {}
    for functional in (difference, lift):
        seconds = []
        for round_number in range(rounds):
            started = time.perf_counter()
            bootstrap = IIDBootstrap(table, seed=np.random.default_rng(round_number))
            interval = bootstrap.conf_int(functional, reps=reps, method="percentile", size=0.8)
            seconds.append(time.perf_counter() - started)
        result[functional.__name__] = {"seconds": seconds, "interval": interval.ravel().tolist()}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
