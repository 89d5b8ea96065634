from .accuracy import Confusion, rogan_gladen
from .agreement import fleiss_kappa, flip_rate, krippendorff_alpha
from .allocation import Allocation, Costs, Plan, best_allocation, cheapest_plan
from .anova import TwoWay, anova_one_way, rater_icc
from .archetypes import archetype_differences, archetype_lifts, macro_lift
from .attempts import pass_at_k, pass_hat_k
from .bands import confidence_band, prediction_band, tolerance_band
from .beta_binomial import BetaBinomialPosterior, beta_binomial_posterior
from .bounded_means import mean_score
from .change_points import ChangePoint, e_divisive
from .chart_limits import false_alarm_probability, simulated_limit
from .components import Components, case_correlation, variance_components
from .control_charts import Chart, InControl, cusum, ewma, in_control, shewhart
from .costs import cost_ratio, exact_median
from .decisions import Decision, Rule, three_verdict
from .diagnosis import Diagnosis, diagnose
from .equivalence import non_inferiority, tost
from .families import benjamini_hochberg, group_means, holm, shrunken_groups
from .judge_bias import bias_by_arm, self_preference
from .judges import Repeats, judge_noise, judge_share, repeats_needed
from .legacy import LegacyDecision, legacy_gate, legacy_operating_characteristic
from .lift_intervals import lift_delta_log, lift_fieller, lift_saddlepoint
from .lifts import lift, lift_of_medians, lift_smoothed
from .means import case_mean, design_effect, icc
from .mixed_models import mixed_model
from .noise_floors import difference_floor, flipped_lift, lift_floor
from .paired_counts import PairedTable, mcnemar_exact, newcombe_paired
from .pairs import Pairs, paired_difference, paired_t, paired_t_test
from .planning import (
    Spread,
    Study,
    cases_needed,
    detectable_effect,
    n_required,
    zero_failure_runs,
)
from .power import simulated_power
from .prediction_powered import Judged, ppi_mean
from .proportions import beta_posterior, clopper_pearson, jeffreys, newcombe, wilson
from .randomisation import sign_flip_test
from .readiness import (
    Evidence,
    Readiness,
    blocking_curve,
    gate_readiness,
    largest_ready_spread,
)
from .repeated_trials import beta_binomial_grid, pass_rate, wilson_effective
from .resampling import bootstrap, resampled_means, two_level_means
from .results import Estimate, Test
from .robust import CaseTrials, iqm, performance_profile, probability_of_improvement
from .run_lengths import cusum_run_length, ewma_run_length, shewhart_run_length
from .saddlepoint import saddlepoint_mean, saddlepoint_ratio
from .sequential import confidence_sequence, e_process_test, shiryaev_roberts
from .smoothed_bootstrap import dp25
from .trial_noise import WithinCases, model_band, variance_ratio
from .two_raters import KappaParadox, cohen_kappa, kappa_paradox
from .worlds import Sample, World

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
