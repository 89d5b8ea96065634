"""Which outside number is held by which test? A table, so that none can be lost.

Each number of the method notes' list of outside numbers, and of their tables of gates and readiness, names its
reference row (a file of `tests/reference`, the function, and cells that one row must have) or the test that spells
it. A row or test that is gone fails.
"""

import ast
import csv
from pathlib import Path
from typing import NamedTuple

import pytest

LEGACY = "legacy_operating_characteristic"
STATS, REFERENCE = Path(__file__).parent, Path(__file__).parents[1] / "reference"
NIST = ("SiRstv", "SmLs01", "SmLs02", "SmLs03", "AtmWtAg", *(f"SmLs0{k}" for k in range(4, 10)))
DIGITS = (13, 13, 13, 13, 10, 10, 10, 10, 4, 4, 4)


class Row(NamedTuple):
    """A line of `tests/reference/<file>.csv`."""

    file: str
    function: str
    cells: tuple[str, ...]


class Spelled(NamedTuple):
    """A test that has the number in its own file."""

    file: str
    test: str
    words: tuple[str, ...]


def row(file, function, *cells):
    return Row(file, function, cells)


def spelled(file, test, *words):
    return Spelled(file, test, words)


def design(test, *words):
    return spelled("test_design_tables.py", test, *words)


def real(test, *words):
    return spelled("test_real_data.py", test, *words)


HELD = {
    "Wilson 81/263": row("proportions", "wilson", "81", "263", "0.2553", "0.3662"),
    "Wilson 15/148": row("proportions", "wilson", "15", "148", "0.0624", "0.1605"),
    "Wilson 0/20": row("proportions", "wilson", "0", "20", "0", "0.1611"),
    "Wilson 1/29": row("proportions", "wilson", "1", "29", "0.0061", "0.1718"),
    "Clopper-Pearson 81/263": row("proportions", "clopper_pearson", "81", "263", "0.2527", "0.3676"),
    "Newcombe 56/70 vs 48/80": row("proportions", "newcombe", "56", "48", "0.0524", "0.3339"),
    "McNemar chi-square": spelled(
        "test_paired_counts.py",
        "test_exact_and_chi_square_agree_where_pairs_are_many",
        "794, 86, 150, 570",
        "17.356",
    ),
    "McNemar difference": row("pairs", "paired_t", "approval", "0.04", "0.0213", "0.0587"),
    "tolerance k2 n=43": row("bands", "tolerance_band", "43", "0.90", "0.99", "2.217"),
    "tolerance k1 n=43": row("bands", "tolerance_band", "43", "0.90", "0.99", "1.8740"),
    "tolerance k1 n=10": row("bands", "tolerance_band", "10", "0.95", "2.911"),
    "tolerance k1 n=20": row("bands", "tolerance_band", "20", "0.95", "2.396"),
    "tolerance k1 n=30": row("bands", "tolerance_band", "30", "0.90", "1.657"),
    "prediction factor n=10": row("bands", "prediction_band", "10", "0.95", "2.3726"),
    "zero failures .10": row("planning", "zero_failure_runs", "0.10", "29"),
    "zero failures .05": row("planning", "zero_failure_runs", "0.05", "59"),
    "zero failures .02": row("planning", "zero_failure_runs", "0.02", "149"),
    "zero failures .01": row("planning", "zero_failure_runs", "0.01", "299"),
    "Miller 969": row("planning", "cases_needed", "969"),
    "BH-1995: BH 4, Holm 3": spelled(
        "test_families.py",
        "test_benjamini_hochberg_1995_rejects_four_and_holm_three",
        "== 4",
        "== 3",
        "0.3240",
    ),
    "pass@5 of 3 in 10": row("attempts", "pass_at_k", "3", "10", "5", "0.916667"),
    "pass^2 of 3 in 4": row("attempts", "pass_hat_k", "3", "4", "2", "0.5"),
    "Shrout-Fleiss mean squares": row("anova", "TwoWay", "11.24", "6.26", "32.49", "1.02"),
    "Shrout-Fleiss ICC(1,1)": row("anova", "rater_icc", "ICC(1,1)", "0.166"),
    "Shrout-Fleiss ICC(2,1)": row("anova", "rater_icc", "ICC(2,1)", "0.290"),
    "Shrout-Fleiss ICC(3,1)": row("anova", "rater_icc", "ICC(3,1)", "0.715"),
    "Shrout-Fleiss components, units and raters": row("anova", "TwoWay", "2.556", "5.244"),
    "Shrout-Fleiss component, units": row("components", "variance_components", "shrout_fleiss", "2.556"),
    "Shrout-Fleiss component, rest": row("components", "variance_components", "shrout_fleiss", "1.019"),
    "Dyestuff between": row("components", "variance_components", "dyestuff", "1764.05"),
    "Dyestuff within": row("components", "variance_components", "dyestuff", "2451.25"),
    "Krippendorff nominal": row("agreement", "krippendorff_alpha", "readme", "nominal", "0.691"),
    "Krippendorff interval": row("agreement", "krippendorff_alpha", "readme", "interval", "0.811"),
    "Krippendorff four units": row("agreement", "krippendorff_alpha", "four_units", "0.685714"),
    "clustered SE without C/(C-1)": spelled(
        "test_means.py",
        "test_without_the_correction_for_few_clusters_the_error_is_smaller",
        "0.157135",
    ),
    "clustered SE with C/(C-1)": row("means", "case_mean", "1 1 0 0 1 0 1 1 1", "0.192450"),
    "Beta(1,1) 20/20": row("proportions", "beta_posterior", "20", "0.8389", "0.9988"),
    "Beta(1,1) 18/20": row("proportions", "beta_posterior", "18", "20", "0.6962", "0.9695"),
    "Beta(1,1) 1/20": row("proportions", "beta_posterior", "1", "20", "0.0117", "0.2382"),
    "Beta(1,1) 0/20": row("proportions", "beta_posterior", "0", "20", "0.0012", "0.1611"),
    "IQM x": row("robust", "iqm", "1 2 / 2 2 / 1 1 / 2 1", "1.5"),
    "IQM y": row("robust", "iqm", "1 1 / 2 2 / 3 3", "2"),
    "P(x>y)": row("robust", "probability_of_improvement", "1 2 / 2 2 / 1 1 / 2 1", "0.3333333"),
    "Rogan-Gladen": row("accuracy", "rogan_gladen", "70", "100", "90", "80", ".714286"),
    "change point, first series": row(
        "change_points", "e_divisive", "1.02 0.95 0.99 1 1.12 0.90 0.50 0.51 0.48 0.48 0.55", "6"
    ),
    "change point, second series": row(
        "change_points", "e_divisive", "2.02 2.03 2.01 2.04 1.82 1.85 1.79 1.81 1.80 1.76 1.78", "4"
    ),
    "ARL0 Shewhart": row("run_lengths", "shewhart_run_length", "3", "0", "370.4"),
    "ARL0 EWMA": row("run_lengths", "ewma_run_length", "0.2", "2.962", "0", "500"),
    "ARL0 CUSUM": row("run_lengths", "cusum_run_length", "0.5", "5", "0", "465"),
    "confidence sequence 8/10": row("sequential", "confidence_sequence", "8", "10", "0.3530", "0.9895"),
    "confidence sequence 80/100": row("sequential", "confidence_sequence", "80", "100", "0.6518", "0.9072"),
    "n_required (.5, .03)": row("planning", "n_required", "0.5 0.03", "4361"),
    "n_required (.5, .15)": row("planning", "n_required", "0.5 0.15", "175"),
    "n_required (.5, .25)": row("planning", "n_required", "0.5 0.25", "63"),
    "n_required (.8, .1)": row("planning", "n_required", "0.8 0.1", "252"),
    "unpaired total (.5, .1)": row("planning", "cases_needed", "0.1 1.0 0 1 1", "785"),
    "baseline 1.0 is refused": spelled(
        "test_planning.py", "test_saturated_baseline_is_refused", "[0.0, 1.0", "baseline must be inside"
    ),
    **{
        f"NIST {name}": row("anova", "anova_one_way", name, str(digits))
        for name, digits in zip(NIST, DIGITS, strict=True)
    },
    **{
        f"NIST NumAcc{k}": spelled("test_anova.py", "test_nist_numacc", f"NumAcc{k}", "== 15", ">= 8.2")
        for k in range(1, 5)
    },
    "plugin-eval 3.10 - none": real("test_scorecard_differences", "29, 0.2305, (0.140, 0.328), 0.2351"),
    "plugin-eval 3.9.0 - none": real("test_scorecard_differences", "28, 0.0696, (-0.011, 0.159), 0.0618"),
    "plugin-eval 3.10 - 3.9.0": real("test_scorecard_differences", "28, 0.1429, (0.059, 0.240), 0.1532"),
    "plugin-eval pooled": real("test_pooled_over_criteria_is_another_number", "0.2351", "0.0618", "0.1532"),
    "estate ablation by model": real("test_four_tasks_show_no_equivalence", "p_value > 0.05"),
    "estate ablation pooled": real("test_both_models_together_are_still_four_clusters", "p_value > 0.05"),
    "terminal-bench openhands": real(
        "test_terminal_bench", "(0.4125, 0.0502, 0.2019, 0.1911, 0.0538, 0.0153)"
    ),
    "terminal-bench mini-swe": real(
        "test_terminal_bench", "(0.1275, 0.0294, 0.0691, 0.0584, 0.0538, 0.0347)"
    ),
    "terminal-bench droid": real("test_terminal_bench", "(0.525, 0.0484, 0.1877, 0.1717, 0.0800, 0.0468)"),
    "Inspect a: SE": row("means", "case_mean", "0.65", "0.07344887"),
    "Inspect b: SE": row("means", "case_mean", "0.60", "0.08390157"),
    "Inspect a: clustered SE": row("means", "case_mean", "0.65", "0.06123724"),
    "Inspect b: clustered SE": row("means", "case_mean", "0.60", "0.07015608"),
    "Inspect pair": row("pairs", "paired_t", "inspect", "0.05", "0.04659456"),
    "Inspect a: between": row("components", "variance_components", "inspect_a", "0.06622807"),
    "Inspect a: within": row("components", "variance_components", "inspect_a", "0.1666667"),
    "Inspect a: ICC": row("components", "case_correlation", "inspect_a", "0.28436911"),
    "Inspect b: between": row("components", "variance_components", "inspect_b", "0.10537"),
    "Inspect b: within": row("components", "variance_components", "inspect_b", "0.14167"),
    "Inspect b: ICC": row("components", "case_correlation", "inspect_b", "0.42654"),
    "Inspect logs themselves": real("test_inspect_logs", "0.07344887", "0.42654"),
    # the design's own tables: the prescribed rule, the gate, readiness
    "legacy, 50 prompts unchanged": row("legacy", LEGACY, "50", "1", "0", "0.31"),
    "legacy, 50 prompts down 5 points": row("legacy", LEGACY, "50", "1", "0.05", "0.52"),
    "legacy, 10 prompts unchanged": row("legacy", LEGACY, "10", "1", "0", "0.37", "0.41"),
    "legacy, 10 prompts down 5 points": row("legacy", LEGACY, "10", "1", "0.05", "0.46"),
    "legacy, other worlds": row("legacy", LEGACY, "50", "1", "0", "0.21", "0.32"),
    "legacy, graded": row("legacy", LEGACY, "50", "5", "0", "0.13", "0.19"),
    "median of three, .500 reads .531": row("lifts", "lift_of_medians", "0.80 0.20", "0.60 0.40", "0.531"),
    "trials pooled cover 59 to 67%, 40 to 42%": design(
        "test_trials_pooled_as_if_independent_cover_far_too_little", "0.59, 0.67", "0.40, 0.42"
    ),
    "trials counted twice cover 82 to 90%": design(
        "test_trials_resampled_inside_resampled_cases_are_counted_twice", "0.82, 0.90"
    ),
    **{
        f"gate, sigma {sigma}": spelled(
            "test_decisions.py", "test_the_table_of_operating_characteristics", *lines
        )
        for sigma, lines in {
            "1.5": ("(0.015, 0.00, 0.012, 0.988, 0.000, 1.01)", "(0.015, 0.05, 0.894,"),
            "3": ("(0.030, 0.00, 0.031, 0.931, 0.038, 1.47)", "(0.030, 0.05, 0.688,", "(0.030, 0.10, 0.997,"),
            "6": (
                "(0.060, 0.00, 0.036, 0.616, 0.349, 2.14)",
                "(0.060, 0.05, 0.261,",
                "(0.060, 0.10, 0.726,",
                "(0.060, 0.20, 0.999,",
            ),
        }.items()
    },
    "gate, reruns of one night": design(
        "test_reruns_of_one_night_taken_as_independent_block_too_often",
        "(0.5, 0.06, 0.07)",
        "(1.0, 0.09, 0.10)",
    ),
    **{
        f"ready at {n} runs, {reruns} reruns": row(
            "readiness", "largest_ready_spread", n, reruns, "5", "0.90", spread
        )
        for n, reruns, spread in (
            ("10", "1", "1.305"),
            ("10", "3", "2.08"),
            ("20", "1", "1.54"),
            ("20", "3", "2.54"),
            ("30", "1", "1.63"),
            ("30", "3", "2.74"),
        )
    },
    "ready by luck blocks falsely 15%": design(
        "test_a_noisy_suite_is_seldom_ready_and_then_blocks_the_innocent", "0.15, abs=0.005"
    ),
    "CUSUM after 8 nights": row("chart_limits", "false_alarm_probability", "8", "5", "cusum", "28", "0.36"),
    "CUSUM after 28 nights": row("chart_limits", "false_alarm_probability", "28", "5", "cusum", "0.15"),
    "judge flips 10%: .169 reads .129": row("noise_floors", "flipped_lift", "0.1", "0.129"),
}


def names_in(path):
    """Return the names of the test functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("number", [name for name, where in HELD.items() if isinstance(where, Row)])
def test_its_reference_row_is_there_and_asked_for(number):
    where = HELD[number]
    assert "test_published" in names_in(STATS / f"test_{where.file}.py")
    with open(REFERENCE / f"{where.file}.csv", newline="", encoding="utf-8") as file:
        rows = [line for line in csv.DictReader(file) if line["function"] == where.function]
    assert any(set(where.cells) <= set(line.values()) for line in rows), where


@pytest.mark.parametrize("number", [name for name, where in HELD.items() if isinstance(where, Spelled)])
def test_its_test_is_there_and_spells_it(number):
    where = HELD[number]
    assert where.test in names_in(STATS / where.file)
    text = (STATS / where.file).read_text(encoding="utf-8")
    assert all(word in text for word in where.words), where
