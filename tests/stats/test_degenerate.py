"""What does each function say when there is next to nothing to say? Every public name meets the same bad days.

No data, one datum, all pass, all fail, one cluster, ties, NaN, an empty group, one trial. The answer must be one
of: known (an interval, a p-value), unknown (NaN, and a caveat says why), nothing (an empty answer to no question)
or refused (a ValueError that names the value). Never a crash, a silent NaN, or an interval without width. The
tables below say which, and a function without an entry fails.
"""

import inspect
import re
from functools import partial
from math import isnan, nan

import numpy as np
import pytest

from evalstats import stats
from evalstats.stats import (
    CaseTrials,
    Confusion,
    Costs,
    Estimate,
    Evidence,
    Judged,
    Pairs,
    Rule,
    Spread,
    Study,
    Test,
    WithinCases,
    World,
)

FUNCTIONS = [name for name in stats.__all__ if not inspect.isclass(getattr(stats, name))]
SIX, HALF = [0, 0, 1, 1, 2, 2], [1.0, 1, 0.5, 0.5, 0, 0]
RULE, COIN = Rule(margin=0.1), [1, 0, 1, 1, 0, 0]
SPREAD, PAIRED, WORLD = Spread(case=0.04, trial=0.16), Study(paired=True), World(cases=10, trials=3)
NORMAL = stats.in_control([0.5, 0.52, 0.48, 0.5, 0.51, 0.49, 0.5, 0.5])
LABELLED = Confusion.of([1] * 18 + [0] * 2 + [0] * 16 + [1] * 4, labels=[1] * 20 + [0] * 20)


def asked(name, *arguments, **options):
    """Call a public function; one that draws gets a generator and few draws."""
    function = getattr(stats, name)
    parameters = inspect.signature(function).parameters
    if "rng" in parameters:
        options["rng"] = np.random.default_rng(1)
    if "reps" in parameters:
        options["reps"] = 99
    return function(*arguments, **options)


# --- the bad days of each kind of input -------------------------------------------------------------


def scores(call):
    days = {"none": [], "one": [1.0], "all pass": [1.0] * 6, "all fail": [0.0] * 6}
    days |= {"ties": [0.5] * 5 + [1.0], "NaN": [1.0, nan, 0.0]}
    return {day: partial(call, values) for day, values in days.items()}


def clustered_scores(call):
    return scores(call) | {"one cluster": partial(call, [1.0, 0.5, 0.0], clusters=[7] * 3)}


def grouped(call, word):
    days = {
        "none": ([], []),
        "one": ([1.0], ["a"]),
        "all pass": ([1.0] * 6, SIX),
        "all fail": ([0.0] * 6, SIX),
        "ties": (HALF, SIX),
        "NaN": ([1.0, nan, 0, 1], [0, 0, 1, 1]),
        "one cluster": ([1.0, 0.5, 0.0], [7] * 3),
        "one trial": ([1.0, 0.5, 0.0], [1, 2, 3]),
    }
    return {day: partial(call, values, **{word: labels}) for day, (values, labels) in days.items()}


def arms(call):
    days = {
        "none": ([], []),
        "one": ([1.0], [0.0]),
        "all pass": ([1.0] * 6, [1.0] * 6),
        "all fail": ([0.0] * 6, [0.0] * 6),
        "ties": (HALF, HALF),
        "NaN": ([1.0, nan, 0], [1.0, 0, 0]),
        "empty group": ([1.0, 0], []),
    }
    return {day: partial(call, *both) for day, both in days.items()}


def clustered_arms(call):
    return arms(call) | {"one cluster": partial(call, [1.0, 0.5, 0], [0.5] * 3, clusters=[7] * 3)}


def pairs(call):
    def of(candidate, baseline, trials=3, clusters=None):
        return call(Pairs(candidate=candidate, baseline=baseline, trials=trials, clusters=clusters))

    lone = {"one cluster": partial(of, [1.0, 0.5, 0], [0.5] * 3, clusters=[7] * 3)}
    return arms(of) | lone | {"one trial": partial(of, [1.0, 0, 1], [0.0, 0, 1], 1)}


def archetypes(call):
    def of(candidate, baseline, trials=3, kinds=None):
        kinds = ["a", "b"] * len(candidate) if kinds is None else kinds
        arms_of = Pairs(candidate=candidate, baseline=baseline, trials=trials)
        return call(arms_of, archetypes=kinds[: len(candidate)])

    lone = {"one cluster": partial(of, [1.0, 0.5, 0], [0.5] * 3, kinds=["a"] * 3)}
    return arms(of) | lone | {"one trial": partial(of, [1.0, 0, 1], [0.0, 0, 1], 1, list("abc"))}


def count(call):
    days = {"none": (0, 0), "one": (1, 1), "all pass": (9, 9), "all fail": (0, 9), "NaN": (nan, 9)}
    return {day: partial(call, *both) for day, both in days.items()}


def counts(call):
    days = {
        "none": ([], []),
        "one": ([2], [3]),
        "all pass": ([3] * 6, [3] * 6),
        "all fail": ([0] * 6, [3] * 6),
        "ties": ([2] * 6, [3] * 6),
        "NaN": ([nan, 1, 2], [3, 3, 3]),
        "one trial": ([1, 0, 1, 1], [1] * 4),
        "empty group": ([0, 1, 2], [0, 3, 3]),
    }
    return {day: partial(call, *both) for day, both in days.items()}


def clustered_counts(call):
    return counts(call) | {"one cluster": partial(call, [1, 2, 3], [3] * 3, clusters=[7] * 3)}


def ratings(call):
    days = {
        "none": np.zeros((0, 2)),
        "one": [[1, 0]],
        "all pass": [[1, 1]] * 6,
        "all fail": [[0, 0]] * 6,
        "ties": [[1, 1], [0, 0], [1, 1], [0, 0]],
        "NaN": [[1, nan], [0, nan], [1, nan]],
        "one trial": [[1], [0], [1]],
    }
    return {day: partial(call, table) for day, table in days.items()}


def tables(call):
    days = {"none": (0, 0, 0, 0), "one": (0, 1, 0, 0), "all pass": (9, 0, 0, 0), "all fail": (0, 0, 0, 9)}
    days |= {"NaN": (nan, 1, 1, 1), "ties": (3, 2, 2, 3)}
    return {day: partial(call, cells) for day, cells in days.items()}


def contrasts(call, word):
    sides, cases = [True, False] * 3, list("aabbcc")
    days = {
        "none": ([], [], [], []),
        "one": ([1.0, 0], [1.0, 1], sides[:2], ["a", "a"]),
        "all pass": ([1.0] * 6, [1.0] * 6, sides, cases),
        "all fail": ([0.0] * 6, [0.0] * 6, sides, cases),
        "ties": ([1.0] * 6, [0.0] * 6, sides, cases),
        "NaN": ([1.0] * 6, [nan] * 6, sides, cases),
        "empty group": ([1.0] * 6, [1.0] * 6, [True] * 6, cases),
        "one trial": ([1.0, 0, 1], [1.0, 0, 0], sides[:3], list("abc")),
        "one cluster": ([1.0, 0, 1], [1.0, 0, 0], sides[:3], ["a"] * 3),
    }
    return {
        day: partial(call, verdicts, labels, cases=names, **{word: side})
        for day, (verdicts, labels, side, names) in days.items()
    }


def labelled(call):
    def of(labels, verdicts, others, clusters=None):
        return call(Judged(labels=labels, verdicts=verdicts, unlabelled=others, clusters=clusters))

    mixed = [1.0, 0] * 10
    return {
        "none": partial(of, [], [], []),
        "one": partial(of, [1.0], [1.0], [1.0]),
        "all pass": partial(of, [1.0] * 20, [1.0] * 20, [1.0] * 50),
        "all fail": partial(of, [0.0] * 20, [0.0] * 20, [0.0] * 50),
        "ties": partial(of, mixed, [1.0] * 20, [1.0] * 50),
        "NaN": partial(of, [1.0, nan], [1.0, 1], [1.0]),
        "empty group": partial(of, mixed, mixed, []),
        "one cluster": partial(of, mixed, mixed, [1.0] * 5, clusters=[7] * 20),
    }


def pooled(values, cases):
    return WithinCases.of(values, cases=cases)


def noise(values, transcripts):
    return stats.judge_noise(values, transcripts=transcripts)


def of_trials(name, values, cases):
    """Ask a function of `CaseTrials`; an arm is compared with itself."""
    trials = CaseTrials(values, cases)
    more = {"probability_of_improvement": [trials], "performance_profile": [[0.5]]}
    return asked(name, trials, *more.get(name, []))


# --- who meets which days, and what comes of it -----------------------------------------------------

UNSURE = {"none": "unknown", "one": "unknown", "all pass": "unknown", "all fail": "unknown", "NaN": "refused"}
UNSURE |= {"ties": "known", "one cluster": "unknown", "one trial": "unknown", "empty group": "refused"}
SURE = UNSURE | {"all pass": "known", "all fail": "known"}  # methods that know where the scale ends
ALWAYS = SURE | {"one": "known", "one trial": "known"}
TOLD = dict.fromkeys(UNSURE, "known") | {"none": "nothing", "NaN": "refused"}  # arithmetic on a series
FLAT = UNSURE | {"ties": "unknown"}  # ties are all it sees
MISSING = FLAT | {"NaN": "unknown"}  # NaN is how a missing value is written
# name: (days, what comes of them, and where this one differs)
DAYS = {
    "case_mean": (clustered_scores, UNSURE, {}),
    "mean_score": (clustered_scores, SURE, {}),
    "saddlepoint_mean": (clustered_scores, UNSURE, {}),
    "sign_flip_test": (clustered_scores, ALWAYS, {"one cluster": "known"}),
    "exact_median": (scores, SURE, {"NaN": "unknown"}),
    "icc": (partial(grouped, word="clusters"), FLAT, {}),
    "design_effect": (partial(grouped, word="clusters"), FLAT, {}),
    "anova_one_way": (partial(grouped, word="groups"), FLAT, {}),
    "group_means": (partial(grouped, word="groups"), FLAT, {"none": "nothing", "one cluster": "known"}),
    "judge_noise": (partial(grouped, word="transcripts"), FLAT, {}),
    "variance_components": (partial(grouped, word="cases"), UNSURE, {}),
    "mixed_model": (partial(grouped, word="cases"), FLAT, {}),
    "paired_t": (clustered_arms, FLAT, {}),
    "paired_t_test": (clustered_arms, FLAT, {}),
    "dp25": (clustered_arms, ALWAYS, {}),
    "cost_ratio": (clustered_arms, FLAT, {"NaN": "unknown"}),
    "saddlepoint_ratio": (clustered_arms, FLAT, {}),
    "cohen_kappa": (arms, FLAT, {}),
    "kappa_paradox": (arms, ALWAYS, {"ties": "refused"}),
    "paired_difference": (pairs, SURE, {"one trial": "known"}),
    "lift": (pairs, SURE, {"all pass": "unknown", "one trial": "known"}),
    "lift_smoothed": (pairs, ALWAYS, {"all pass": "unknown"}),
    "lift_delta_log": (pairs, FLAT, {"one trial": "known"}),
    "lift_fieller": (pairs, FLAT, {}),
    "lift_saddlepoint": (pairs, FLAT, {}),
    "archetype_differences": (archetypes, FLAT, {"none": "nothing", "one cluster": "known"}),
    "archetype_lifts": (archetypes, FLAT, {"none": "nothing"}),
    "macro_lift": (archetypes, FLAT, {}),
    "wilson": (count, ALWAYS, {}),
    "clopper_pearson": (count, ALWAYS, {}),
    "jeffreys": (count, ALWAYS, {}),
    "beta_posterior": (count, ALWAYS, {}),
    "confidence_sequence": (count, ALWAYS, {"none": "known"}),
    "mcnemar_exact": (tables, ALWAYS, {}),
    "newcombe_paired": (tables, ALWAYS, {}),
    "pass_rate": (clustered_counts, SURE, {"one trial": "known"}),
    "wilson_effective": (clustered_counts, SURE, {"one trial": "known"}),
    "beta_binomial_grid": (counts, SURE, {"one trial": "known"}),
    "beta_binomial_posterior": (counts, ALWAYS, {"none": "known"}),
    "case_correlation": (counts, FLAT, {}),
    "two_level_means": (counts, ALWAYS, {"none": "refused"}),
    "krippendorff_alpha": (ratings, MISSING, {}),
    "fleiss_kappa": (ratings, MISSING, {}),
    "flip_rate": (
        ratings,
        MISSING,
        {"one": "known", "all pass": "known", "all fail": "known", "ties": "known"},
    ),
    "rater_icc": (ratings, FLAT, {}),
    "prediction_band": (scores, UNSURE, {}),
    "confidence_band": (scores, UNSURE, {}),
    "tolerance_band": (scores, UNSURE, {}),
    "in_control": (scores, UNSURE, {}),
    "e_process_test": (scores, ALWAYS, {}),
    "e_divisive": (scores, dict.fromkeys(UNSURE, "nothing") | {"NaN": "refused"}, {}),
    "shiryaev_roberts": (scores, TOLD, {}),
    "holm": (scores, TOLD, {"NaN": "unknown"}),
    "benjamini_hochberg": (scores, TOLD, {"NaN": "unknown"}),
    "ppi_mean": (labelled, UNSURE, {"empty group": "known"}),
    "bias_by_arm": (partial(contrasts, word="candidate"), MISSING, {"empty group": "unknown"}),
    "self_preference": (partial(contrasts, word="own"), MISSING, {"empty group": "unknown"}),
}
CALLS = {
    name: (days(partial(asked, name)), outcomes | changed) for name, (days, outcomes, changed) in DAYS.items()
}
CALLS |= {  # functions that want more than their data
    name: (clustered_arms(partial(asked, name, margin=0.1)), FLAT) for name in ("tost", "non_inferiority")
}
CALLS |= {
    name: (
        clustered_counts(partial(asked, name, k=2)),
        FLAT | {"all pass": "known", "all fail": "known"} | more,
    )
    for name, more in (
        ("pass_at_k", {"ties": "known", "empty group": "unknown"}),
        ("pass_hat_k", {"empty group": "unknown"}),
    )
}
CALLS |= {
    name: (grouped(partial(of_trials, name), "cases"), FLAT | {"one cluster": "known"})
    for name in ("iqm", "probability_of_improvement", "performance_profile")
}
CALLS["probability_of_improvement"][0]["empty group"] = lambda: asked(
    "probability_of_improvement", CaseTrials([1.0, 0], ["a", "b"]), CaseTrials([], [])
)
CALLS |= {
    name: (scores(lambda values, name=name: asked(name, values, NORMAL)), TOLD)
    for name in ("shewhart", "ewma", "cusum")
}
CALLS |= {
    "bootstrap": (
        clustered_scores(lambda x, **k: asked("bootstrap", np.reshape(x, (-1, 1)), lambda m: m[..., 0], **k)),
        UNSURE,
    ),
    "resampled_means": (
        clustered_scores(lambda x, **k: asked("resampled_means", np.reshape(x, (-1, 1)), **k)),
        ALWAYS | {"none": "refused", "one cluster": "known"},
    ),
    "lift_of_medians": (
        arms(
            lambda *both: asked("lift_of_medians", *(np.repeat(np.reshape(x, (-1, 1)), 3, 1) for x in both))
        ),
        SURE | {"all pass": "unknown"},
    ),
    "newcombe": (
        {
            day: partial(asked, "newcombe", new, old)
            for day, new, old in (
                ("none", (0, 0), (0, 0)),
                ("one", (1, 1), (0, 1)),
                ("all pass", (9, 9), (9, 9)),
                ("all fail", (0, 9), (0, 9)),
                ("NaN", (nan, 9), (1, 9)),
                ("empty group", (3, 9), (0, 0)),
            )
        },
        ALWAYS | {"empty group": "unknown"},
    ),
    "variance_ratio": (scores(lambda x: asked("variance_ratio", x, pooled(COIN, SIX))), SURE),
    "model_band": (
        grouped(lambda x, cases: asked("model_band", 0.5, pooled(x, cases)), "cases"),
        FLAT | {"one cluster": "known"},
    ),
    "three_verdict": (
        scores(lambda x: asked("three_verdict", x, [0.7], RULE)),
        ALWAYS | {"none": "refused", "one": "refused"},
    ),
    "gate_readiness": (
        scores(lambda x: asked("gate_readiness", Evidence(history=x, days=range(len(x))), RULE)),
        UNSURE,
    ),
    "legacy_gate": (scores(lambda x: asked("legacy_gate", x, 0.7)), ALWAYS | {"none": "refused"}),
    "blocking_curve": (scores(lambda x: asked("blocking_curve", x, 1.0, 20, RULE)), TOLD),
    "judge_share": (
        grouped(
            lambda x, transcripts: asked("judge_share", x, cases=transcripts, transcripts=transcripts),
            "transcripts",
        ),
        FLAT,
    ),
    "repeats_needed": (
        grouped(
            lambda x, transcripts: stats.repeats_needed(
                stats.judge_share(x, cases=transcripts, transcripts=transcripts)
            ),
            "transcripts",
        ),
        FLAT,
    ),
    "difference_floor": (
        grouped(lambda x, t: asked("difference_floor", noise(x, t), judgements=9), "t"),
        FLAT,
    ),
    "lift_floor": (
        grouped(
            lambda x, t: asked("lift_floor", noise(x, t), fail_with=0.3, fail_base=0.4, judgements=9), "t"
        ),
        FLAT,
    ),
    "rogan_gladen": (
        count(lambda c, n: asked("rogan_gladen", stats.wilson(c, n), LABELLED))
        | {
            "empty group": lambda: stats.rogan_gladen(
                stats.wilson(7, 9), Confusion.of([1] * 20, labels=[1] * 20)
            ),
            "ties": lambda: stats.rogan_gladen(stats.wilson(35, 50), LABELLED),
        },
        ALWAYS | {"empty group": "unknown"},
    ),
    "shrunken_groups": (
        grouped(lambda x, g: stats.shrunken_groups(list(stats.group_means(x, groups=g).values())), "g"),
        FLAT | {"none": "nothing", "one cluster": "known"},
    ),
}
PLANNERS = {  # no data, only numbers: what counts nothing, or cannot be, is refused
    "best_allocation": [lambda: asked("best_allocation", SPREAD, Costs(case=1, trial=0), PAIRED)],
    "cases_needed": [
        lambda: asked("cases_needed", 0.0, SPREAD, PAIRED),
        lambda: asked("cases_needed", nan, SPREAD, PAIRED),
        lambda: asked("cases_needed", 0.1, SPREAD, PAIRED, trials=0),
        lambda: asked("cases_needed", 0.1, SPREAD, Study(paired=True, sides=0)),
        lambda: asked("cases_needed", 0.1, SPREAD, Study(paired=True, power=0.01)),
        lambda: asked("cases_needed", 0.1, Spread(case=0, trial=0), PAIRED),
    ],
    "cheapest_plan": [lambda: asked("cheapest_plan", 0.1, SPREAD, Costs(case=-1, trial=1), PAIRED)],
    "cusum_run_length": [lambda: asked("cusum_run_length", h=-1)],
    "detectable_effect": [
        lambda: asked("detectable_effect", SPREAD, PAIRED, cases=0),
        lambda: asked("detectable_effect", SPREAD, PAIRED, cases=9, trials=0),
        lambda: asked("detectable_effect", SPREAD, PAIRED, cases=9, judge_repeats=0),
    ],
    "diagnose": [
        lambda: stats.diagnose(
            lambda s, rng: stats.case_mean(s.candidate), WORLD, rng=np.random.default_rng(1), reps=0
        ),
        lambda: asked("diagnose", lambda s, rng: stats.case_mean(s.candidate), World(cases=0)),
        lambda: asked("diagnose", lambda s, rng: stats.case_mean(s.candidate), World(cases=9, mean=1.0)),
        lambda: asked("diagnose", lambda s, rng: stats.case_mean(s.candidate), World(cases=9, effect=0.4)),
    ],
    "ewma_run_length": [
        lambda: asked("ewma_run_length", weight=0.0),
        lambda: asked("ewma_run_length", limit=0),
    ],
    "false_alarm_probability": [
        lambda: asked("false_alarm_probability", 1, 5.0),
        lambda: asked("false_alarm_probability", 8, 5.0, nights=0),
    ],
    "flipped_lift": [
        lambda: asked("flipped_lift", nan, 0.4, flips=0.1),
        lambda: asked("flipped_lift", 0.3, 4.0, flips=0.1),
        lambda: asked("flipped_lift", 0.3, 0.4, flips=0.6),
    ],
    "largest_ready_spread": [lambda: asked("largest_ready_spread", 10, RULE, reruns=0)],
    "legacy_operating_characteristic": [
        lambda: asked("legacy_operating_characteristic", World(cases=9, trials=3, correlation=0.0)),
    ],
    "n_required": [lambda: asked("n_required", 1.0, 0.1), lambda: asked("n_required", 0.5, 0.0)],
    "shewhart_run_length": [lambda: asked("shewhart_run_length", limit=-1.0)],
    "simulated_limit": [lambda: asked("simulated_limit", 1), lambda: asked("simulated_limit", 8, nights=0)],
    "simulated_power": [lambda: asked("simulated_power", World(cases=9, pairing=2.0))],
    "zero_failure_runs": [lambda: asked("zero_failure_runs", 0.0), lambda: asked("zero_failure_runs", 1.0)],
}


def needed(name):
    """Return the bad days that a function can have, by what it takes."""
    words = set(inspect.signature(getattr(stats, name)).parameters)
    days = {"none", "one", "all pass", "all fail", "NaN"}
    days |= (
        {"one cluster"} if words & {"clusters", "groups", "cases", "pairs", "judged", "archetypes"} else set()
    )
    days |= {"empty group"} if words & {"baseline", "pairs", "judged"} else set()
    days |= {"one trial"} if {"passed", "trials"} <= words or "pairs" in words else set()
    return days - ({"one cluster"} if name in ("rogan_gladen", "lift_of_medians", "newcombe") else set())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_its_bad_days(name):
    assert (name in CALLS) != (name in PLANNERS)
    if name in CALLS:
        days, outcomes = CALLS[name]
        assert needed(name) <= set(days), f"{name} lacks {needed(name) - set(days)}"
        assert set(days) <= set(outcomes)


def flat(result):
    """Return the records of an answer; an answer that is no record stays as it is."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (stats.Components, list, tuple)) and not hasattr(result, "_fields"):
        return [record for part in result for record in flat(part)]
    if isinstance(result, stats.KappaParadox):
        return [result.kappa, result.pabak]
    return [result]


def is_known(record):
    """Say whether a record tells what it is asked; on the way, that it is never certain of too little."""
    if isinstance(record, Estimate):
        assert isnan(record.std_error) or record.std_error > 0, record
        assert isnan(record.conf_low) or record.conf_low < record.conf_high or record.caveats, record
        return not isnan(record.conf_low)
    if isinstance(record, Test):
        return not isnan(record.p_value)
    if isinstance(record, stats.Repeats):
        return record.safe is not None
    if isinstance(record, (stats.InControl, stats.Readiness)):
        return not isnan(getattr(record, "sigma", getattr(record, "spread", nan)))
    if isinstance(record, stats.Chart):
        return bool(np.isfinite(record.upper).all())
    return bool(np.isfinite(record).all()) if isinstance(record, np.ndarray) else True


def outcome(call):
    try:
        result = call()
    except ValueError as error:
        said = str(error)
        assert "np.float" not in said and "\n" not in said and re.search(r"got|needed|nothing", said), said
        return "refused"
    records = flat(result)
    assert not re.search(r"\b1 (?!is\b)[a-z]+s\b", " ".join(map(str, records))), records
    empty = not records or any(np.size(getattr(r, "upper", r)) == 0 for r in records)
    return "nothing" if empty else "known" if any(map(is_known, records)) else "unknown"


@pytest.mark.parametrize(
    ("name", "day"), [(name, day) for name, (days, _) in CALLS.items() for day in days], ids=lambda x: x
)
def test_on_a_bad_day(name, day):
    days, outcomes = CALLS[name]
    assert outcome(days[day]) == outcomes[day]


@pytest.mark.parametrize("name", PLANNERS)
def test_what_counts_nothing_is_refused(name):
    for call in PLANNERS[name]:
        assert outcome(call) == "refused", inspect.getsource(call)
