"""Where the calibration of each other function is, or why it has none.

Methods that do not fit the worlds of `test_calibration.py` (judges, several groups, nightly series, costs) are
tried beside their other tests, in a world of their own: 400 draws, fail outside three Monte-Carlo errors. This
page says where, so that none can be forgotten.
"""

import ast
from pathlib import Path

import pytest

STATS = Path(__file__).parents[1] / "stats"

CALIBRATED = {
    "anova_one_way": "test_anova.py::test_calibration_of_f",
    "benjamini_hochberg": "test_families.py::test_calibration_benjamini_hochberg_keeps_the_share",
    "bias_by_arm": "test_judge_bias.py::test_calibration_of_contrast",
    "blocking_curve": "test_readiness.py::test_calibration_curve_is_what_happens",
    "bootstrap": "test_resampling.py::test_calibration_covers_the_mean",
    "case_correlation": "test_components.py::test_calibration_of_correlation",
    "cases_needed": "test_power.py::test_calibration_power_is_as_planned_with_many_cases",
    "cohen_kappa": "test_two_raters.py::test_calibration_of_kappa",
    "confidence_sequence": "test_sequential.py::test_calibration_the_sequence_holds_the_truth_at_all_times",
    "cost_ratio": "test_costs.py::test_calibration_ratio_covers",
    "cusum": "test_control_charts.py::test_calibration_cusum_finds_a_shift_when_the_tables_say",
    "cusum_run_length": "test_run_lengths.py::test_calibration_a_chart_that_is_run",
    "difference_floor": "test_noise_floors.py::test_calibration_of_difference_floor",
    "e_divisive": "test_change_points.py::test_calibration_unchanged_series",
    "e_process_test": "test_sequential.py::test_calibration_looking_every_night_keeps_the_size",
    "exact_median": "test_costs.py::test_calibration_median_covers_what_its_ranks_promise",
    "fleiss_kappa": "test_agreement.py::test_calibration_of_agreement",
    "flip_rate": "test_agreement.py::test_calibration_of_flip_rate",
    "flipped_lift": "test_noise_floors.py::test_calibration_of_flipped_lift",
    "group_means": "test_families.py::test_calibration_group_means_cover",
    "holm": "test_families.py::test_calibration_holm_keeps_the_family",
    "in_control": "test_control_charts.py::test_calibration_widening_holds_back_false_alarms",
    "iqm": "test_robust.py::test_calibration_covers_over_reruns_of_these_cases",
    "judge_noise": "test_judges.py::test_calibration_of_judge_noise",
    "judge_share": "test_judges.py::test_calibration_of_judge_share",
    "krippendorff_alpha": "test_agreement.py::test_calibration_of_agreement",
    "legacy_operating_characteristic": "test_legacy.py::test_calibration_size_of_a_steady_world",
    "lift_floor": "test_noise_floors.py::test_calibration_of_lift_floor",
    "n_required": "test_planning.py::test_calibration_power_is_as_planned",
    "non_inferiority": "test_equivalence.py::test_calibration_size_at_the_margin",
    "pass_at_k": "test_attempts.py::test_calibration_covers",
    "pass_hat_k": "test_attempts.py::test_calibration_covers",
    "performance_profile": "test_robust.py::test_calibration_covers_over_reruns_of_these_cases",
    "ppi_mean": "test_prediction_powered.py::test_calibration_of_ppi",
    "probability_of_improvement": "test_robust.py::test_calibration_covers_over_reruns_of_these_cases",
    "rater_icc": "test_anova.py::test_calibration_of_rater_icc",
    "rogan_gladen": "test_accuracy.py::test_calibration_of_rogan_gladen",
    "self_preference": "test_judge_bias.py::test_calibration_of_contrast",
    "shiryaev_roberts": "test_sequential.py::test_calibration_mean_wait_for_a_false_alarm",
    "shrunken_groups": "test_families.py::test_calibration_shrunken_intervals_cover_over_groups",
    "sign_flip_test": "test_randomisation.py::test_calibration_size_of_sign_flips",
    "simulated_limit": "test_chart_limits.py::test_calibration_charts_keep_the_promise",
    "simulated_power": "test_power.py::test_calibration_size_where_nothing_is_going_on",
    "three_verdict": "test_decisions.py::test_the_table_of_operating_characteristics",
    "tost": "test_equivalence.py::test_calibration_size_at_the_margin",
    "variance_components": "test_components.py::test_calibration_of_components",
}
EXEMPT = {
    "best_allocation": "a formula of given variances and prices; held to the optimum of the variance it divides",
    "cheapest_plan": "a search over what cases_needed says, which is calibrated",
    "detectable_effect": "cases_needed read the other way, which is calibrated",
    "ewma": "its false alarms are those of ewma_run_length, held to published tables",
    "ewma_run_length": "exact up to quadrature; held to published tables",
    "false_alarm_probability": "itself a simulation with its Monte-Carlo error; simulated_limit reads it backwards",
    "gate_readiness": "promises nothing given READY, as it says; its bound and its curve are calibrated",
    "kappa_paradox": "cohen_kappa and wilson side by side, both calibrated; its indices describe the sample",
    "largest_ready_spread": "the bound of gate_readiness solved for the spread",
    "legacy_gate": "a prescribed rule that promises no error rate; legacy_operating_characteristic tells them",
    "mixed_model": "a cross-check without interval",
    "repeats_needed": "arithmetic on judge_share, which is calibrated",
    "resampled_means": "draws, not a claim; bootstrap reads its interval from them",
    "shewhart": "its false alarms are those of shewhart_run_length, a closed form",
    "shewhart_run_length": "a closed form",
    "two_level_means": "draws of a further run, not a claim; held to their exact variance",
    "zero_failure_runs": "an exact bound: the smallest n with (1 - rate)^n below 1 - level",
}


@pytest.mark.parametrize("name", CALIBRATED)
def test_the_calibration_is_there(name):
    """The test exists, and it or its parameters call the function."""
    path, _, test = CALIBRATED[name].partition("::")
    text = (STATS / path).read_text(encoding="utf-8")
    assert test in {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    assert f"{name}(" in text or name in text.partition(f"def {test}")[0]
