"""The layout of repeated trials: what is repeated, and leave-one-out without leaving anything out."""

import numpy as np
import pytest

from evalstats.stats.layouts import Layout


def unbalanced(seed, *, cases=9, arms=2):
    rng = np.random.default_rng(seed)
    a, c, d, t, _ = np.indices((arms, cases, 4, 3, 2)).reshape(5, -1)
    keep = rng.random(c.size) < 0.6
    labels = {"arms": a[keep], "cases": c[keep], "days": d[keep], "trials": t[keep]}
    return rng.normal(size=int(keep.sum())) + labels["cases"], labels


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("left_out", [(), ("days",), ("trials",), ("arms",), ("days", "trials", "arms")])
def test_each_case_left_out_is_the_layout_without_it(seed, left_out):
    scores, labels = unbalanced(seed)
    labels = {name: codes for name, codes in labels.items() if name not in left_out}
    moments = Layout.of(scores, **labels).moments
    for case in range(9):
        keep = labels["cases"] != case
        rest = Layout.of(scores[keep], **{name: codes[keep] for name, codes in labels.items()})
        np.testing.assert_allclose(moments[1 + case], rest.moments[0], atol=1e-9)


@pytest.mark.parametrize(
    ("labels", "active"),
    [
        ({"cases": list("aabb")}, ("case", "trial")),
        ({"cases": list("abcd")}, ("case",)),
        ({"cases": list("aabb"), "days": [1, 2, 1, 2]}, ("case", "day", "case_day")),
        ({"cases": list("aabb"), "days": [1, 1, 1, 1]}, ("case", "trial")),
        ({"cases": list("aabb"), "trials": [1, 1, 1, 1]}, ("case", "judge")),
        ({"cases": list("aabb"), "arms": [0, 1, 0, 1]}, ("case",)),
        ({"cases": list("aaaabb"), "days": [1, 1, 2, 2, 1, 1], "trials": [1, 1, 1, 2, 1, 1]}, None),
    ],
)
def test_levels_are_active_when_repeated(labels, active):
    every = ("case", "day", "case_day", "trial", "judge")
    assert Layout.of(range(len(labels["cases"])), **labels).active == (active or every)


def test_counts_of_cases_days_and_trials():
    layout = Layout.of([1, 0, 1, 0], cases=list("aabb"), days=[1, 2, 1, 2], trials=[1, 1, 1, 1])
    assert (layout.n_cases, layout.n_days, layout.n_trials) == (2, 2, 4)


def test_a_large_offset_costs_no_digits():
    scores, labels = unbalanced(4)
    here, there = Layout.of(scores, **labels).moments, Layout.of(scores + 1e6, **labels).moments
    np.testing.assert_allclose(here, there, atol=1e-8)
