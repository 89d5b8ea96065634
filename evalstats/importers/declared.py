"""The figures that tools report, by the rules of those tools, to hold against what they declare.

These are not our statistics: they repeat what a tool does, so that a difference means that rows and report do
not belong together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from evalstats.importers.values import number


class Tally:
    """The scores of each case, as rows go by; then means over case means and their standard errors."""

    def __init__(self) -> None:
        self._scores: dict[str, list[float]] = defaultdict(list)
        self._about: dict[str, Mapping[str, Any]] = {}

    def add(self, case_id: str, score: Any, about: Mapping[str, Any] | None = None) -> None:
        """Take one score, if it is one; ``about`` is where the names of clusters are looked up."""
        value = number(score)
        if value is not None:
            self._scores[case_id].append(value)
            self._about[case_id] = about or {}

    def statistic(self, name: str, cluster: str | None = None) -> float | None:
        """Return a `statistic` of the case means; ``stderr`` also over clusters. None for what is not known here."""
        means = {case: sum(scores) / len(scores) for case, scores in self._scores.items()}
        if cluster is None:
            return statistic(list(means.values()), name)
        return self._clustered(means, cluster) if name == "stderr" else None

    def _clustered(self, means: Mapping[str, float], cluster: str) -> float | None:
        """Return the standard error from cluster sums, with the correction C / (C - 1)."""
        sums: dict[str, float] = defaultdict(float)
        mean = sum(means.values()) / max(len(means), 1)
        for case, value in means.items():
            sums[str(self._about[case].get(cluster))] += value - mean
        c = len(sums)
        return math.sqrt(sum(s**2 for s in sums.values()) * c / (c - 1)) / len(means) if c > 1 else None


def statistic(values: Sequence[float], name: str) -> float | None:
    """Return ``accuracy``, ``mean``, ``stderr``, ``std`` or ``var`` of one value a case; None for anything else."""
    n = len(values)
    if not n:
        return None
    mean = math.fsum(values) / n
    if name in ("accuracy", "mean"):
        return mean
    if n < 2 or name not in ("stderr", "std", "var"):
        return None
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return {"var": variance, "std": math.sqrt(variance), "stderr": math.sqrt(variance / n)}[name]
