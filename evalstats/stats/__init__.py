"""Numbers with honest error bars: arrays in, `Estimate` or `Test` out.

How high is it?
    - pass rate, one trial a case, or reruns of one case -> `wilson`; guaranteed -> `clopper_pearson`;
      with a prior -> `jeffreys`, `beta_posterior`
    - pass rate, several trials a case -> `pass_rate` chooses between `case_mean`, `beta_binomial_grid` and
      `wilson_effective`; the whole posterior -> `beta_binomial_posterior`
    - mean score of cases, clustered or not -> `case_mean`

Is A better than B?
    - on the same cases -> `paired_difference` chooses between `paired_t`, `newcombe_paired` and `dp25`
    - as a p-value -> `paired_t_test`; one yes/no trial a case -> `mcnemar_exact`
    - on different cases -> `newcombe`

How alike are the members of a cluster?
    - correlation -> `icc`; what it costs -> `design_effect`

Will the next run land here?
    - next run -> `prediction_band`; most future runs -> `tolerance_band`; long-run mean -> `confidence_band`
    - with fewer than five runs -> `model_band`
    - do runs vary more than their trials explain? -> `variance_ratio`

Does a method keep its promise?
    - coverage, bias, width, size and power in a declared `World` -> `diagnose`

Every estimate names its population: SUPER asks whether it holds on new cases like these, FIXED whether these
very cases would do the same again. What cannot be computed is NaN with a caveat, never 0.
"""

from evalstats.stats.bands import confidence_band, prediction_band, tolerance_band
from evalstats.stats.diagnosis import Diagnosis, diagnose
from evalstats.stats.means import case_mean, design_effect, icc
from evalstats.stats.paired_counts import PairedTable, mcnemar_exact, newcombe_paired
from evalstats.stats.pairs import Pairs, paired_difference, paired_t, paired_t_test
from evalstats.stats.proportions import beta_posterior, clopper_pearson, jeffreys, newcombe, wilson
from evalstats.stats.repeated_trials import (
    BetaBinomialPosterior,
    beta_binomial_grid,
    beta_binomial_posterior,
    pass_rate,
    wilson_effective,
)
from evalstats.stats.results import Estimate, Test
from evalstats.stats.smoothed_bootstrap import dp25
from evalstats.stats.trial_noise import WithinCases, model_band, variance_ratio
from evalstats.stats.worlds import Sample, World

__all__ = [
    "BetaBinomialPosterior",
    "Diagnosis",
    "Estimate",
    "PairedTable",
    "Pairs",
    "Sample",
    "Test",
    "WithinCases",
    "World",
    "beta_binomial_grid",
    "beta_binomial_posterior",
    "beta_posterior",
    "case_mean",
    "clopper_pearson",
    "confidence_band",
    "design_effect",
    "diagnose",
    "dp25",
    "icc",
    "jeffreys",
    "mcnemar_exact",
    "model_band",
    "newcombe",
    "newcombe_paired",
    "paired_difference",
    "paired_t",
    "paired_t_test",
    "pass_rate",
    "prediction_band",
    "tolerance_band",
    "variance_ratio",
    "wilson",
    "wilson_effective",
]
