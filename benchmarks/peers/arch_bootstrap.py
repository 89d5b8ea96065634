"""Run inside the peers' environment: the interval of a difference and of a lift by arch's bootstrap, as JSON."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from arch.bootstrap import IIDBootstrap


def difference(differences: np.ndarray) -> float:
    """Return the mean of the case differences."""
    return differences.mean()


def lift(table: np.ndarray) -> float:
    """Return 1 - F_candidate / F_baseline."""
    means = table.mean(axis=0)
    return 1 - (1 - means[0]) / (1 - means[1])


def main() -> None:
    """Time each functional the asked number of times."""
    path, reps, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    table = np.load(path)
    result = {}
    for functional, data in ((difference, table[:, 0] - table[:, 1]), (lift, table)):
        seconds = []
        for round_number in range(rounds):
            started = time.perf_counter()
            bootstrap = IIDBootstrap(data, seed=np.random.default_rng(round_number))
            interval = bootstrap.conf_int(functional, reps=reps, method="percentile", size=0.8)
            seconds.append(time.perf_counter() - started)
        result[functional.__name__] = {"seconds": seconds, "interval": interval.ravel().tolist()}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
