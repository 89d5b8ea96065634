"""Timing shared by the benchmarks: alternate what is compared, keep every round, quote medians and ranges."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any


def alternate(contestants: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each contestant in each round; they take turns, so that noise hits all alike."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def shown(seconds: list[float]) -> str:
    """Return median and range in milliseconds: ``17 ms (16 to 19)``."""
    low, middle, high = (1000 * f(seconds) for f in (min, statistics.median, max))
    return f"{middle:.3g} ms ({low:.3g} to {high:.3g})"


def ratio(slow: list[float], fast: list[float]) -> float:
    """Return how many times faster ``fast`` is, median against median."""
    return statistics.median(slow) / statistics.median(fast)
