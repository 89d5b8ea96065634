"""Numbers with honest error bars: arrays in, `Estimate` or `Test` out.

How high is it?
    - pass rate, one trial a case, or reruns of one case -> `wilson`; guaranteed -> `clopper_pearson`;
      with a prior -> `jeffreys`, `beta_posterior`
    - pass rate, several trials a case -> `pass_rate` chooses between `case_mean`, `beta_binomial_grid` and
      `wilson_effective`; the whole posterior -> `beta_binomial_posterior`
    - mean of graded scores, clustered or not -> `mean_score`; of scores in any unit -> `case_mean`;
      of many, without a seed -> `saddlepoint_mean`
    - at least one of k attempts, or all of them -> `pass_at_k`, `pass_hat_k`
    - any function of means -> `bootstrap`; its draws -> `resampled_means`; of a further run -> `two_level_means`
    - the middle half of the trials, the whole distribution -> `iqm`, `performance_profile`

Is A better than B?
    - on the same cases -> `paired_difference` chooses between `paired_t`, `newcombe_paired` and `dp25`
    - as a p-value -> `paired_t_test`; one yes/no trial a case -> `mcnemar_exact`; without any distribution ->
      `sign_flip_test`
    - on different cases -> `newcombe`; several groups at once -> `anova_one_way`
    - trial by trial -> `probability_of_improvement`
    - is it as good, or not worse by a margin? -> `tost`, `non_inferiority`

How much of the headroom does A take?
    - lift, over cases or expectations -> `lift` chooses between `lift_smoothed` and `lift_saddlepoint`; in
      closed form -> `lift_delta_log`, `lift_fieller`; any ratio of means -> `saddlepoint_ratio`
    - by kind of prompt -> `archetype_differences`; enough prompts for a lift -> `archetype_lifts`; of a typical
      archetype -> `macro_lift`
    - what the older rule reads -> `lift_of_medians`

Which of several groups differ?
    - flags that must not be false -> `holm`; for exploring -> `benjamini_hochberg`
    - the mean of each -> `group_means`; for ranking -> `shrunken_groups`

Where does the variance come from?
    - cases, days, trials, judge -> `variance_components`; cross-check on small data -> `mixed_model`
    - likeness within a case, from counts -> `case_correlation`; within a cluster -> `icc`; what it costs ->
      `design_effect`

Do judges agree, and are they right?
    - with one another -> `krippendorff_alpha`, `fleiss_kappa`, `rater_icc`; two of them -> `cohen_kappa`,
      `kappa_paradox`
    - with themselves -> `flip_rate`, `judge_noise`; their part in rerun noise -> `judge_share`; how often to
      ask -> `repeats_needed`
    - which difference may be the judge alone? -> `difference_floor`, `lift_floor`, `flipped_lift`
    - the true pass rate behind the verdicts -> `ppi_mean` with labels among these cases, `rogan_gladen` with
      labels from elsewhere
    - does the judge favour anyone? -> `bias_by_arm`, `self_preference`

Will the next run land here?
    - next run -> `prediction_band`; most future runs -> `tolerance_band`; long-run mean -> `confidence_band`
    - with fewer than five runs -> `model_band`
    - do runs vary more than their trials explain? -> `variance_ratio`

Has something changed?
    - what is normal -> `in_control`; a jump -> `shewhart`; a drift -> `ewma`; a shift that stays -> `cusum`
    - which limit suits a short history -> `simulated_limit`, `false_alarm_probability`; how long until an
      alarm -> `shewhart_run_length`, `ewma_run_length`, `cusum_run_length`
    - looking every night, with a guarantee -> `confidence_sequence`, `e_process_test`, `shiryaev_roberts`
    - when it changed, afterwards -> `e_divisive`

May it block?
    - block, pass, or cannot tell yet -> `three_verdict`
    - is the suite steady enough? -> `gate_readiness`, `largest_ready_spread`, `blocking_curve`
    - what the prescribed rule does -> `legacy_gate`; how often it is wrong -> `legacy_operating_characteristic`

How many does it take?
    - cases -> `cases_needed`, `n_required`; what so many see -> `detectable_effect`; below 30 cases ->
      `simulated_power`
    - trials or cases, at the lowest cost -> `best_allocation`, `cheapest_plan`
    - clean runs -> `zero_failure_runs`

What does it cost?
    - the middle case -> `exact_median`; against another arm -> `cost_ratio`

Does a method keep its promise?
    - coverage, bias, width, size and power in a declared `World` -> `diagnose`

Every estimate names its population: SUPER asks whether it holds on new cases like these, FIXED whether these
very cases would do the same again. What cannot be computed is NaN with a caveat, never 0.
"""

from evalstats.stats.accuracy import Confusion, rogan_gladen
from evalstats.stats.agreement import fleiss_kappa, flip_rate, krippendorff_alpha
from evalstats.stats.allocation import Allocation, Costs, Plan, best_allocation, cheapest_plan
from evalstats.stats.anova import TwoWay, anova_one_way, rater_icc
from evalstats.stats.archetypes import archetype_differences, archetype_lifts, macro_lift
from evalstats.stats.attempts import pass_at_k, pass_hat_k
from evalstats.stats.bands import confidence_band, prediction_band, tolerance_band
from evalstats.stats.beta_binomial import BetaBinomialPosterior, beta_binomial_posterior
from evalstats.stats.bounded_means import mean_score
from evalstats.stats.change_points import ChangePoint, e_divisive
from evalstats.stats.chart_limits import false_alarm_probability, simulated_limit
from evalstats.stats.components import Components, case_correlation, variance_components
from evalstats.stats.control_charts import Chart, InControl, cusum, ewma, in_control, shewhart
from evalstats.stats.costs import cost_ratio, exact_median
from evalstats.stats.decisions import Decision, Rule, three_verdict
from evalstats.stats.diagnosis import Diagnosis, diagnose
from evalstats.stats.equivalence import non_inferiority, tost
from evalstats.stats.families import benjamini_hochberg, group_means, holm, shrunken_groups
from evalstats.stats.judge_bias import bias_by_arm, self_preference
from evalstats.stats.judges import Repeats, judge_noise, judge_share, repeats_needed
from evalstats.stats.legacy import LegacyDecision, legacy_gate, legacy_operating_characteristic
from evalstats.stats.lift_intervals import lift_delta_log, lift_fieller, lift_saddlepoint
from evalstats.stats.lifts import lift, lift_of_medians, lift_smoothed
from evalstats.stats.means import case_mean, design_effect, icc
from evalstats.stats.mixed_models import mixed_model
from evalstats.stats.noise_floors import difference_floor, flipped_lift, lift_floor
from evalstats.stats.paired_counts import PairedTable, mcnemar_exact, newcombe_paired
from evalstats.stats.pairs import Pairs, paired_difference, paired_t, paired_t_test
from evalstats.stats.planning import (
    Spread,
    Study,
    cases_needed,
    detectable_effect,
    n_required,
    zero_failure_runs,
)
from evalstats.stats.power import simulated_power
from evalstats.stats.prediction_powered import Judged, ppi_mean
from evalstats.stats.proportions import beta_posterior, clopper_pearson, jeffreys, newcombe, wilson
from evalstats.stats.randomisation import sign_flip_test
from evalstats.stats.readiness import (
    Evidence,
    Readiness,
    blocking_curve,
    gate_readiness,
    largest_ready_spread,
)
from evalstats.stats.repeated_trials import beta_binomial_grid, pass_rate, wilson_effective
from evalstats.stats.resampling import bootstrap, resampled_means, two_level_means
from evalstats.stats.results import Estimate, Test
from evalstats.stats.robust import CaseTrials, iqm, performance_profile, probability_of_improvement
from evalstats.stats.run_lengths import cusum_run_length, ewma_run_length, shewhart_run_length
from evalstats.stats.saddlepoint import saddlepoint_mean, saddlepoint_ratio
from evalstats.stats.sequential import confidence_sequence, e_process_test, shiryaev_roberts
from evalstats.stats.smoothed_bootstrap import dp25
from evalstats.stats.trial_noise import WithinCases, model_band, variance_ratio
from evalstats.stats.two_raters import KappaParadox, cohen_kappa, kappa_paradox
from evalstats.stats.worlds import Sample, World

__all__ = [
    "Allocation",
    "BetaBinomialPosterior",
    "CaseTrials",
    "ChangePoint",
    "Chart",
    "Components",
    "Confusion",
    "Costs",
    "Decision",
    "Diagnosis",
    "Estimate",
    "Evidence",
    "InControl",
    "Judged",
    "KappaParadox",
    "LegacyDecision",
    "PairedTable",
    "Pairs",
    "Plan",
    "Readiness",
    "Repeats",
    "Rule",
    "Sample",
    "Spread",
    "Study",
    "Test",
    "TwoWay",
    "WithinCases",
    "World",
    "anova_one_way",
    "archetype_differences",
    "archetype_lifts",
    "benjamini_hochberg",
    "best_allocation",
    "beta_binomial_grid",
    "beta_binomial_posterior",
    "beta_posterior",
    "bias_by_arm",
    "blocking_curve",
    "bootstrap",
    "case_correlation",
    "case_mean",
    "cases_needed",
    "cheapest_plan",
    "clopper_pearson",
    "cohen_kappa",
    "confidence_band",
    "confidence_sequence",
    "cost_ratio",
    "cusum",
    "cusum_run_length",
    "design_effect",
    "detectable_effect",
    "diagnose",
    "difference_floor",
    "dp25",
    "e_divisive",
    "e_process_test",
    "ewma",
    "ewma_run_length",
    "exact_median",
    "false_alarm_probability",
    "fleiss_kappa",
    "flip_rate",
    "flipped_lift",
    "gate_readiness",
    "group_means",
    "holm",
    "icc",
    "in_control",
    "iqm",
    "jeffreys",
    "judge_noise",
    "judge_share",
    "kappa_paradox",
    "krippendorff_alpha",
    "largest_ready_spread",
    "legacy_gate",
    "legacy_operating_characteristic",
    "lift",
    "lift_delta_log",
    "lift_fieller",
    "lift_floor",
    "lift_of_medians",
    "lift_saddlepoint",
    "lift_smoothed",
    "macro_lift",
    "mcnemar_exact",
    "mean_score",
    "mixed_model",
    "model_band",
    "n_required",
    "newcombe",
    "newcombe_paired",
    "non_inferiority",
    "paired_difference",
    "paired_t",
    "paired_t_test",
    "pass_at_k",
    "pass_hat_k",
    "pass_rate",
    "performance_profile",
    "ppi_mean",
    "prediction_band",
    "probability_of_improvement",
    "rater_icc",
    "repeats_needed",
    "resampled_means",
    "rogan_gladen",
    "saddlepoint_mean",
    "saddlepoint_ratio",
    "self_preference",
    "shewhart",
    "shewhart_run_length",
    "shiryaev_roberts",
    "shrunken_groups",
    "sign_flip_test",
    "simulated_limit",
    "simulated_power",
    "three_verdict",
    "tolerance_band",
    "tost",
    "two_level_means",
    "variance_components",
    "variance_ratio",
    "wilson",
    "wilson_effective",
    "zero_failure_runs",
]
