"""Intervals for independent trials: published numbers, edges, and agreement between neighbours."""

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.stats.proportions import beta_posterior, clopper_pearson, jeffreys, newcombe, wilson

ONE_ARM = {
    "wilson": wilson,
    "clopper_pearson": clopper_pearson,
    "jeffreys": jeffreys,
    "beta_posterior": beta_posterior,
}
every_interval = pytest.mark.parametrize("interval", ONE_ARM.values(), ids=ONE_ARM)


def test_published(published, agrees):
    level = float(published["level"])
    arm = int(published["successes"]), int(published["trials"])
    if published["function"] == "newcombe":
        other = int(published["successes_2"]), int(published["trials_2"])
        agrees(newcombe(arm, other, level=level), published)
    else:
        agrees(ONE_ARM[published["function"]](*arm, level=level), published)


@every_interval
def test_no_trials_is_unknown(interval):
    record = interval(0, 0)
    assert isnan(record.estimate) and isnan(record.conf_low) and isnan(record.std_error)
    assert record.caveats == ("no trials",)


@every_interval
@pytest.mark.parametrize(("passed", "bound"), [(0, "conf_low"), (7, "conf_high")])
def test_all_alike_still_has_width(interval, passed, bound):
    record = interval(passed, 7)
    assert record.conf_high - record.conf_low > 0.2
    if interval is not beta_posterior:  # a proper prior never puts its bound on the edge
        assert getattr(record, bound) == passed / 7


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@pytest.mark.parametrize("passed", [0, 7])
def test_all_alike_has_no_binomial_standard_error(interval, passed):
    record = interval(passed, 7)
    assert isnan(record.std_error)
    assert "all trials agree" in record.caveats[0]


@every_interval
def test_one_trial_is_wide(interval):
    record = interval(1, 1)
    assert record.conf_low < 0.25 and record.conf_high > 0.95


@every_interval
@pytest.mark.parametrize(("passed", "trials"), [(5, 4), (-1, 4), (1.5, 4), (float("nan"), 4)])
def test_impossible_counts_are_named(interval, passed, trials):
    with pytest.raises(ValueError, match="counts must be whole"):
        interval(passed, trials)


@every_interval
@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_level_is_checked(interval, level):
    with pytest.raises(ValueError, match="level must be inside"):
        interval(3, 4, level=level)


@every_interval
@given(counts=st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_interval_is_inside_and_mirrors(interval, counts):
    passed, trials = counts
    record, mirror = interval(passed, trials), interval(trials - passed, trials)
    assert 0 <= record.conf_low <= record.conf_high <= 1
    assert record.conf_low == pytest.approx(1 - mirror.conf_high, abs=1e-9)


@every_interval
def test_wider_at_a_higher_level(interval):
    narrow, wide = interval(13, 20, level=0.8), interval(13, 20, level=0.95)
    assert wide.conf_low < narrow.conf_low < narrow.conf_high < wide.conf_high


@every_interval
def test_population_is_the_callers_to_say(interval):
    assert interval(3, 4).population == "SUPER"
    assert interval(3, 4, population="FIXED").population == "FIXED"


def test_jeffreys_is_its_beta_posterior_inside():
    assert jeffreys(13, 20).conf_low == beta_posterior(13, 20, prior=(0.5, 0.5)).conf_low


@pytest.mark.parametrize("prior", [(0, 1), (1, -1)])
def test_improper_prior_is_named(prior):
    with pytest.raises(ValueError, match="prior must be two positive numbers"):
        beta_posterior(3, 4, prior=prior)


def test_newcombe_changes_sign_with_the_arms():
    there, back = newcombe((9, 10), (3, 10)), newcombe((3, 10), (9, 10))
    assert there.conf_low == pytest.approx(-back.conf_high, abs=1e-12)


def test_newcombe_without_trials_is_unknown():
    record = newcombe((0, 0), (3, 10))
    assert isnan(record.estimate) and isnan(record.conf_low)
    assert record.caveats == ("no trials",)


def test_newcombe_counts_both_arms():
    record = newcombe((9, 10), (3, 11))
    assert (record.n_cases, record.n_trials) == (21, 21)
