"""The cross-check by statsmodels: published variances, agreement with the engine, survival at zero."""

from math import isnan

import numpy as np
import pytest

from evalstats.stats.components import variance_components
from evalstats.stats.mixed_models import MAX_ROWS, mixed_model

DYESTUFF = """1545 1440 1440 1520 1580 1540 1555 1490 1560 1495 1595 1550 1605 1510 1560
1445 1440 1595 1465 1545 1595 1630 1515 1635 1625 1520 1455 1450 1480 1445"""
SHROUT_FLEISS = [9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7]


def test_published(published, agrees):
    if published["data"] == "dyestuff":
        names = ("case", "trial")
        found = mixed_model([float(x) for x in DYESTUFF.split()], cases=np.repeat(range(6), 5))
    else:
        names = ("case", "day", "trial")
        found = mixed_model(SHROUT_FLEISS, cases=np.repeat(range(6), 4), days=np.tile(range(4), 6))
    record = dict(zip(names, found, strict=True))[published["level_name"]]
    agrees(record, published)
    assert isnan(record.std_error) and record.caveats == ("a cross-check: no interval",)


def test_agrees_with_moments_in_balanced_data():
    rng = np.random.default_rng(7)
    cases = np.repeat(range(30), 4)
    scores = rng.normal(size=30)[cases] + rng.normal(size=120)
    moments = variance_components(scores, cases=cases)
    case, trial = mixed_model(scores, cases=cases)
    assert case.estimate == pytest.approx(moments.case.estimate, rel=1e-3)
    assert trial.estimate == pytest.approx(moments.trial.estimate, rel=1e-3)


def test_survives_a_variance_of_zero():
    # every case has the same mean: the moment estimate is negative, the likelihood ends at 0
    case, trial = mixed_model([0, 1] * 20, cases=np.repeat(range(20), 2))
    assert isnan(case.estimate) or case.estimate == pytest.approx(0, abs=0.01)
    assert any("statsmodels" in caveat for caveat in case.caveats)
    assert trial.caveats == case.caveats


@pytest.mark.parametrize(
    ("scores", "cases", "reason"),
    [
        ([], [], "no scores"),
        ([1.0], ["a"], "all scores agree"),
        ([1, 1, 1, 1], list("aabb"), "all scores agree"),
        ([1, 2, 3, 4], list("aaaa"), "case: one level"),
        ([1, 2, 3, 4], list("abcd"), "case: one level, or one row in each"),
        ([0.5, 0.5, 0.5, 0.5, 1.0, 1.0], list("aabbcc"), "all trials of each case agree"),
        (np.arange(MAX_ROWS + 1), np.arange(MAX_ROWS + 1) % 5, "more rows than 2000"),
    ],
)
def test_refusals_leave_everything_unknown(scores, cases, reason):
    for record in mixed_model(scores, cases=cases):
        assert isnan(record.estimate) and reason in record.caveats[0]
