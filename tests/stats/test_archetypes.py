"""By archetype: one pooled variance, shrinkage for ranking, and no lift for a handful of prompts."""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from evalstats.stats.archetypes import archetype_differences, archetype_lifts, macro_lift
from evalstats.stats.families import group_means, shrunken_groups
from evalstats.stats.pairs import Pairs

PLANTS = {
    "ctrl": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    "trt1": [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    "trt2": [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}
# Failing expectations (candidate, baseline) of each archetype; those not named failed alike in both arms.
FAILING = {"A1": (9, 16), "A3": (5, 7), "A12": (4, 10)}
ALIKE = [f"A{k}" for k in (2, 4, 5, 6, 7, 8, 9, 10, 11)]


def rng(seed=3):
    return np.random.default_rng(seed)


def demo(names=(*FAILING, *ALIKE)):
    """Return pairs of single expectations, and the archetype of each."""
    new, old, labels = [], [], []
    for name in names:
        on, off = FAILING.get(name, (8, 8))
        new += [0.0] * on + [1.0] * (20 - on)
        old += [0.0] * off + [1.0] * (20 - off)
        labels += [name] * 20
    return Pairs(candidate=new, baseline=old, trials=1), labels


def test_published(published, agrees):
    if published["function"] == "archetype_differences":
        scores = [x for group in PLANTS.values() for x in group]
        pairs = Pairs(candidate=scores, baseline=[0.0] * 30, trials=1, graded=True)
        found = archetype_differences(pairs, archetypes=np.repeat(list(PLANTS), 10))
        agrees(found[published["group"]], published)
    elif published["function"] == "archetype_lifts":
        pairs, labels = demo()
        agrees(archetype_lifts(pairs, archetypes=labels, rng=rng(), reps=50)[published["group"]], published)
    else:
        pairs, labels = demo() if published["data"] == "demo" else demo(FAILING)
        agrees(macro_lift(pairs, archetypes=labels, average=published["group"]), published)


def small(n=3):
    """Return a pair table of four archetypes with n prompts each."""
    r = rng()
    new, old = r.binomial(3, 0.8, 4 * n) / 3, r.binomial(3, 0.5, 4 * n) / 3
    return Pairs(candidate=new, baseline=old, trials=3), np.repeat(["A1", "A10", "A2", "A3"], n)


def test_differences_count_the_trials_of_both_arms():
    pairs, labels = small()
    found = archetype_differences(pairs, archetypes=labels)
    assert list(found) == ["A1", "A10", "A2", "A3"]
    assert [(e.n_cases, e.n_trials, e.estimand) for e in found.values()][1] == (3, 18, "difference of A10")
    errors = {e.std_error for e in found.values()}
    assert len(errors) == 1  # one pooled variance, equal sizes


def test_shrunken_differences_lie_nearer_together_and_keep_their_names():
    pairs, labels = small()
    plain, shrunken = (archetype_differences(pairs, archetypes=labels, shrunken=s) for s in (False, True))
    assert np.ptp([e.estimate for e in shrunken.values()]) < np.ptp([e.estimate for e in plain.values()])
    differences = np.subtract(pairs.candidate, pairs.baseline)
    by_hand = shrunken_groups(list(group_means(differences, groups=labels).values()), df=8)
    assert [e.conf_low for e in shrunken.values()] == [e.conf_low for e in by_hand]
    assert shrunken["A2"].estimand == "difference of A2"


def test_lift_of_a_handful_is_refused():
    pairs, labels = small(6)
    for record in archetype_lifts(pairs, archetypes=labels, rng=rng()).values():
        assert isnan(record.estimate) and isnan(record.conf_low)
        assert record.caveats == ("6 of the 7 prompts needed for a lift of their own: see the difference",)
    pairs, labels = small(7)
    assert not isnan(archetype_lifts(pairs, archetypes=labels, rng=rng())["A1"].conf_low)


def test_same_rng_same_lifts_other_rng_others():
    pairs, labels = small(8)
    same = [archetype_lifts(pairs, archetypes=labels, rng=rng(seed)) for seed in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


def test_macro_lift_leaves_out_and_counts_archetypes_without_headroom():
    pairs = Pairs(candidate=[1.0, 0, 1, 1], baseline=[0.0, 0, 1, 1], trials=1)
    record = macro_lift(pairs, archetypes=["A1", "A1", "A2", "A2"])
    assert record.estimate == 0.5 and isnan(record.conf_low)
    assert record.caveats[-1] == "1 archetype without headroom left out"
    nothing = macro_lift(replace(pairs, baseline=[1.0] * 4), archetypes=["A1", "A1", "A2", "A2"])
    assert isnan(nothing.estimate) and "2 archetypes" in nothing.caveats[-1]


def test_input_is_checked():
    pairs, labels = small()
    with pytest.raises(ValueError, match=r"archetypes must have shape \(12,\)"):
        macro_lift(pairs, archetypes=labels[:4])
    with pytest.raises(ValueError, match="average must be one of"):
        macro_lift(pairs, archetypes=labels, average="mode")
