"""How often does each test reject when its null is true? Its size, beside the declared 5%."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from evalstats import stats
from evalstats.stats import PairedTable, Sample, Test, WithinCases, World
from evalstats.stats.diagnosis import diagnose

MARGIN = 0.1
Asked = Callable[[Sample, np.random.Generator], Test]


def _mcnemar(sample: Sample, _: np.random.Generator) -> Test:
    return stats.mcnemar_exact(PairedTable.of(sample.candidate, sample.baseline))


def _paired_t(sample: Sample, _: np.random.Generator) -> Test:
    return stats.paired_t_test(sample.candidate, sample.baseline, clusters=sample.clusters)


def _sign_flips(sample: Sample, rng: np.random.Generator) -> Test:
    return stats.sign_flip_test(sample.candidate - sample.baseline, rng=rng, reps=399)


def _tost(sample: Sample, _: np.random.Generator) -> Test:
    return stats.tost(sample.candidate, sample.baseline, margin=MARGIN)


def _non_inferiority(sample: Sample, _: np.random.Generator) -> Test:
    return stats.non_inferiority(sample.candidate, sample.baseline, margin=MARGIN)


def _variance_ratio(sample: Sample, _: np.random.Generator) -> Test:
    cases, trials = sample.scores.shape
    within = WithinCases.of(sample.scores.ravel(), cases=np.repeat(np.arange(cases), trials))
    return stats.variance_ratio(sample.run_means, within)


def _anova(sample: Sample, _: np.random.Generator) -> Test:
    return stats.anova_one_way(sample.candidate, groups=np.arange(sample.candidate.size) % 5)


def _e_process(sample: Sample, rng: np.random.Generator) -> Test:
    return stats.e_process_test(rng.standard_normal(28))


three = partial(World, trials=3)
graded = partial(World, trials=3, expectations=5, correlation=0.3)
# (test, what the null looks like, how it is asked, world)
TESTS: list[tuple[str, str, Asked, World]] = [
    *[("mcnemar_exact", f"{n} cases, one trial", _mcnemar, World(cases=n)) for n in (10, 20, 50, 200)],
    *[("paired_t_test", f"{n} cases, three trials", _paired_t, three(cases=n)) for n in (10, 20, 50, 200)],
    ("paired_t_test", "20 cases, ceiling", _paired_t, three(cases=20, mean=0.9)),
    (
        "paired_t_test",
        "50 cases in 10 clusters",
        _paired_t,
        three(cases=50, clusters=10, cluster_correlation=0.4),
    ),
    *[("sign_flip_test", f"{n} cases, three trials", _sign_flips, three(cases=n)) for n in (10, 50)],
    *[
        ("tost", f"{n} cases, the difference is the margin", _tost, three(cases=n, effect=MARGIN))
        for n in (20, 200)
    ],
    *[
        (
            "non_inferiority",
            f"{n} cases, the loss is the margin",
            _non_inferiority,
            three(cases=n, effect=-MARGIN),
        )
        for n in (20, 200)
    ],
    *[
        ("variance_ratio", f"{k} runs, trial noise alone", _variance_ratio, three(cases=30, runs=k))
        for k in (5, 20)
    ],
    *[("anova_one_way", f"{n} cases in 5 groups, graded", _anova, graded(cases=n)) for n in (25, 100)],
    ("anova_one_way", "25 cases in 5 groups, yes/no: not near normal", _anova, three(cases=25)),
    ("e_process_test", "28 nights, looked at every night", _e_process, World(cases=1)),
]
SIZES = range(len(TESTS))


def size(number: int, reps: int, seed: int) -> dict[str, Any]:
    """Return how often one test of the list rejects at 5%, with its Monte-Carlo error."""
    name, null, asked, world = TESTS[number]
    rng = np.random.default_rng([seed, zlib.crc32(f"{name}, {null}".encode())])
    found = diagnose(asked, world, rng=rng, reps=reps, target="difference")
    return {
        "test": name,
        "null": null,
        "size": found.rejection,
        "size_error": found.rejection_error,
        "refused": found.refusals / reps,
    }
