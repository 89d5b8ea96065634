"""What are the numbers on both sides of a comparison? Dimensions and aggregate, with their noise.

Cases are compared in pairs. The noise is that of the case differences (population SUPER); it holds the noise
among trials too, so for these very cases it is on the safe side. A deterministic suite whose trials agree has
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evalstats.contract import Status, Tier
from evalstats.governance.verdicts import DUST, LEVEL, Quantity

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

PROTECTED = frozenset({"safety", "runtime_compatibility"})
ARMS = ("candidate", "baseline")
Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a suite says about comparing its runs: weights of the dimensions, and what may be lost."""

    aggregate_tolerance: float = 0.0
    dimension_tolerance: float = 0.0
    weights: Mapping[str, float] | None = None
    protected: frozenset[str] = PROTECTED

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Rules:
        """Read them from the document of a suite; a dimension may drop as the aggregate may, unless it says more.

        A critical dimension is protected, as safety always is.
        """
        policy, dimensions = document["baseline_policy"], document["scoring"]["dimensions"]
        aggregate_tolerance = policy.get("max_aggregate_regression", 0.0)
        return cls(
            aggregate_tolerance=aggregate_tolerance,
            dimension_tolerance=policy.get("max_dimension_regression", aggregate_tolerance),
            weights={d["name"]: d["weight"] for d in dimensions},
            protected=PROTECTED | {d["name"] for d in dimensions if d.get("critical")},
        )


def repeat_count(record: Mapping[str, Any]) -> int | None:
    """Return the usable trials of the case that has fewest; None where a record does not count them."""
    counts = [case.get("usable") for case in record["case_results"] if case["status"] != Status.SKIPPED]
    return None if None in counts or not counts else min(count for count in counts if count is not None)


def usable(case: Case) -> int:
    """Return how many trials carry the score of a case; an old record has one, and no count."""
    return 0 if case["score"] is None else int(case.get("usable", 1))


def passes(case: Case) -> int:
    """Return how many trials of a case passed."""
    return int(case.get("passes", case["status"] == Status.PASS))


def pass_rate(case: Case) -> float | None:
    """Return the share of usable trials that passed; None without any."""
    return passes(case) / n if (n := usable(case)) else None


def is_settled(record: Mapping[str, Any], cases: Mapping[str, Case]) -> bool:
    """Return whether nothing can vary: a deterministic suite whose trials of each case agree."""
    agree = all(pass_rate(case) in (None, 0.0, 1.0) for case in cases.values())
    return record["suite"]["tier"] == Tier.DETERMINISTIC and agree


def _variance(side: Case) -> float:
    """Return the variance of one trial of a case: as captured, or that of yes/no trials; NaN if unknown."""
    n, rate = usable(side), pass_rate(side)
    if side.get("score_variance") is not None:
        return float(side["score_variance"])
    if n < 2 or rate is None or abs(rate - side["score"]) > DUST:
        return nan
    return rate * (1 - rate) * n / (n - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The cases to compare, on both sides; ``settled`` where nothing can vary."""

    new: Mapping[str, Case]
    old: Mapping[str, Case]
    rules: Rules
    settled: bool
    rng: np.random.Generator

    def dimension(self, name: str, *, baseline: float | None, candidate: float | None) -> Quantity:
        """Return one dimension over the cases that carry it, and are scored, on both sides.

        Where there is none, it is missing, and the scores of the two records stand beside each other.
        """
        carrying = [c for c in self.new if _carries(self.new[c], name) and _carries(self.old[c], name)]
        scored = [c for c in carrying if usable(self.new[c]) and usable(self.old[c])]
        found = Quantity(
            name=name,
            baseline=baseline,
            candidate=candidate,
            tolerance=self.rules.dimension_tolerance,
            protected=name in self.rules.protected,
            n_cases=len(scored),
        )
        if not scored:
            return replace(found, caveats=("no scored case in common",))
        new, old = (fmean(side[c]["score"] for c in scored) for side in (self.new, self.old))
        found = replace(found, baseline=old, candidate=new, delta=new - old)
        return _exact(found) if self.settled else self._with_noise(found, carrying, scored)

    def _with_noise(self, found: Quantity, carrying: Sequence[str], scored: Sequence[str]) -> Quantity:
        from evalstats import estimates

        margin = found.tolerance or None
        seen = estimates.compare(self._table(carrying), rng=self.rng, arms=ARMS, level=LEVEL, margin=margin)
        difference = seen.estimates.set_index("quantity").loc["difference"]
        tests = seen.tests.set_index("test")["p_value"]
        std_error = known(difference["std_error"])
        return replace(
            found,
            std_error=std_error,
            conf_low=known(difference["conf_low"]),
            conf_high=known(difference["conf_high"]),
            difference_p=known(tests.get("difference")),
            equivalence_p=known(tests.get("equivalence")),
            trial_share=self._trial_share(scored, std_error),
            n_trials=int(str(difference["n_trials"])),
            method=str(difference["method"]),
            caveats=tuple(difference["caveats"]),
        )

    def _table(self, case_ids: Sequence[str]) -> pd.DataFrame:
        """Return the case table of both sides, as the store would give it."""
        import pandas as pd

        rows = [
            {
                "run_id": arm,
                "arm": arm,
                "case_id": case_id,
                "archetype": side[case_id].get("archetype"),
                "n_trials": int(side[case_id].get("trials", 1)),
                "n_usable": usable(side[case_id]),
                "n_passed": passes(side[case_id]),
                "score_sum": (side[case_id]["score"] or 0.0) * usable(side[case_id]),
            }
            for arm, side in zip(ARMS, (self.new, self.old), strict=True)
            for case_id in case_ids
        ]
        return pd.DataFrame(rows)

    def _trial_share(self, case_ids: Sequence[str], std_error: float | None) -> float | None:
        """Return how much of the squared standard error is noise among trials; None where that is unknown."""
        import numpy as np

        from evalstats.stats.trial_noise import WithinCases

        total = 0.0
        for side in (self.new, self.old):
            trials = np.array([usable(side[c]) for c in case_ids], dtype=float)
            variances = np.array([_variance(side[c]) for c in case_ids])
            if np.isnan(variances).any():
                return None
            total += WithinCases(variances=variances, trials=trials, dfs=trials - 1).run_variance()[0]
        return total / std_error**2 if std_error else None


def _carries(case: Case, name: str) -> bool:
    return name in case.get("dimension_scores", {})


def adjusted(dimensions: Sequence[Quantity]) -> tuple[Quantity, ...]:
    """Return the dimensions with the p-values of those that are not protected adjusted for their number."""
    import numpy as np

    from evalstats import stats

    family = [q for q in dimensions if not q.protected and q.difference_p is not None]
    if len(family) < 2:
        return tuple(dimensions)
    p_values = stats.holm(np.array([q.difference_p for q in family]))
    by_name = {q.name: replace(q, difference_p=float(p)) for q, p in zip(family, p_values, strict=True)}
    return tuple(by_name.get(q.name, q) for q in dimensions)


def known(value: Any) -> float | None:
    """Return a number, or None for what is not known."""
    return None if value is None or isnan(value) else float(value)


def _exact(found: Quantity) -> Quantity:
    same = (
        () if found.delta else ("both sides score the same, and nothing varies: there is no noise to test",)
    )
    return replace(
        found, conf_low=found.delta, conf_high=found.delta, std_error=0.0, method="exact", caveats=same
    )


def aggregate(dimensions: Sequence[Quantity], rules: Rules) -> Quantity:
    """Return the weighted mean of the dimensions that both sides have.

    Its interval is the weighted sum of theirs. They share cases, so that is exact where they move as one, and
    wider than needed elsewhere; never narrower.
    """
    empty = Quantity(name="aggregate", baseline=None, candidate=None, tolerance=rules.aggregate_tolerance)
    shared = [q for q in dimensions if q.delta is not None]
    if not shared:
        return replace(empty, caveats=("no dimension in common",))
    if rules.weights is None or any(q.name not in rules.weights for q in shared):
        return replace(empty, caveats=("the weights of the dimensions are not known; give --suites",))
    weights = [rules.weights[q.name] for q in shared]
    lone = shared[0] if len(shared) == 1 else None
    methods = {q.method for q in shared}
    missing = ", ".join(q.name for q in dimensions if q.delta is None)
    return replace(
        empty,
        baseline=_weighted(weights, [q.baseline for q in shared]),
        candidate=_weighted(weights, [q.candidate for q in shared]),
        delta=_weighted(weights, [q.delta for q in shared]),
        std_error=_weighted(weights, [q.std_error for q in shared]),
        conf_low=_weighted(weights, [q.conf_low for q in shared]),
        conf_high=_weighted(weights, [q.conf_high for q in shared]),
        trial_share=_weighted(weights, [q.trial_share for q in shared]),
        n_cases=max(q.n_cases for q in shared),
        n_trials=max(q.n_trials for q in shared),
        method=methods.pop() if len(methods) == 1 else "several",
        caveats=(f"without {missing}",) if missing else lone.caveats if lone else (),
    )


def _weighted(weights: Sequence[float], values: Sequence[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    if len(known_values) < len(values):
        return None
    return sum(w * v for w, v in zip(weights, known_values, strict=True)) / sum(weights)
