"""The beta-binomial posterior: one trial a case is a Beta posterior, and the correlation is learnt."""

import numpy as np
import pytest

from evalstats.stats.beta_binomial import beta_binomial_posterior


def test_published(published):
    passed, n = int(published["passed"]), int(published["trials"])
    counts = [1] * passed + [0] * (n - passed), [1] * n
    posterior = beta_binomial_posterior(*counts, n_means=2000, n_correlations=3)
    bounds = [posterior.mean_quantile(p) for p in (0.025, 0.975)]
    assert bounds == pytest.approx([float(published["conf_low"]), float(published["conf_high"])], abs=5e-5)


def test_posterior_sums_to_one_and_learns_the_correlation():
    alike = beta_binomial_posterior([3, 0] * 10, [3] * 20)
    mixed = beta_binomial_posterior([1, 2] * 10, [3] * 20)
    assert alike.weights.sum() == pytest.approx(1)
    assert alike.weights.sum(axis=0) @ alike.correlations > 0.7
    assert mixed.weights.sum(axis=0) @ mixed.correlations < 0.2
    assert mixed.mean_sd() == pytest.approx(
        np.sqrt(mixed.weights.sum(axis=1) @ (mixed.means - 0.5) ** 2), rel=1e-9
    )


def test_no_cases_leave_the_prior():
    posterior = beta_binomial_posterior([], [], n_means=4, n_correlations=2)
    assert posterior.weights == pytest.approx(np.full((4, 2), 1 / 8))


def test_data_do_not_leak_into_the_next_call():
    first = beta_binomial_posterior([2, 0], [3, 3]).weights
    beta_binomial_posterior([3, 3, 3], [3, 3, 3])
    assert (beta_binomial_posterior([2, 0], [3, 3]).weights == first).all()


@pytest.mark.parametrize(("passed", "trials"), [([1], [0]), ([2], [1]), ([[1]], [[1]])])
def test_counts_are_checked(passed, trials):
    with pytest.raises(ValueError, match=r"got"):
        beta_binomial_posterior(passed, trials)
