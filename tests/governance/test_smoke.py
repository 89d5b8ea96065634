"""Few cases by archetype: the draw, what it sees, and which larger one would see the margin."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.stats import nct, t

from evalstats import suite
from evalstats.errors import UsageError
from evalstats.governance.smoke import Values, by_archetype, choose, draw
from evalstats.stats.decisions import Rule

CASES = {"A1": tuple(f"a{n}" for n in range(6)), "A10": tuple(f"b{n}" for n in range(3)), "A2": ("c0",)}
RULE = Rule(margin=0.10, looks=1)


def noisy(per_case: float, nights: int = 20):
    """Return a history whose spread is that of a mean over cases that scatter by ``per_case`` each."""
    pattern = np.tile([-1.0, 1.0], nights // 2)
    pattern /= pattern.std(ddof=1)

    def history(cases):
        return Values(list(0.7 + pattern * per_case / sqrt(len(cases))), 0.0)

    return history


def test_one_case_of_each_archetype_by_seed():
    drawn = draw(CASES, 1, 7)
    assert {name: len(cases) for name, cases in drawn.items()} == {"A1": 1, "A10": 1, "A2": 1}
    assert drawn == draw(CASES, 1, 7)
    assert len({draw(CASES, 1, seed)["A1"] for seed in range(40)}) == 6, "every case can be drawn"


def test_a_larger_draw_holds_the_smaller_and_takes_all_where_there_are_few():
    for seed in range(10):
        small, large = draw(CASES, 2, seed), draw(CASES, 4, seed)
        assert all(set(small[name]) <= set(large[name]) for name in CASES)
        assert [len(large[name]) for name in CASES] == [4, 3, 1]


def test_the_draw_of_an_archetype_does_not_depend_on_the_order_of_the_suite():
    turned = dict(reversed(CASES.items()))
    assert draw(CASES, 2, 3)["A1"] == draw(turned, 2, 3)["A1"]


def test_the_smallest_drop_by_the_noncentral_t():
    found = choose("desk", CASES, noisy(0.05), RULE, seed=1)
    error = 0.05 / sqrt(3) * sqrt(1 + 1 / 20)
    block_above = max(RULE.fraction * 0.10, t.ppf(0.95, 19) * error)
    assert found.mde is not None and found.n_units == 20
    if block_above > RULE.fraction * 0.10:
        power = 1 - nct.cdf(t.ppf(0.95, 19), 19, found.mde / error)
    else:
        power = t.cdf((found.mde - block_above) / error, 19)
    assert power == pytest.approx(0.80, abs=1e-6)


def test_it_gates_alone_only_if_it_sees_the_margin():
    fine = choose("desk", CASES, noisy(0.05), RULE, seed=1)
    assert fine.sees_margin and fine.larger is None and "within the margin" in fine.why
    blind = choose("desk", CASES, noisy(0.08), RULE, seed=1)
    assert not blind.sees_margin and "beyond the margin" in blind.why
    assert blind.larger is not None and blind.larger.mde <= 0.10 < blind.mde
    before = choose("desk", CASES, noisy(0.08), RULE, seed=1, per_archetype=blind.larger.per_archetype - 1)
    assert not before.sees_margin, "no smaller one would do"
    again = choose("desk", CASES, noisy(0.08), RULE, seed=1, per_archetype=blind.larger.per_archetype)
    assert again.mde == blind.larger.mde and len(again.case_ids) == blind.larger.n_cases


def test_where_no_subset_would_do_it_says_so():
    found = choose("desk", CASES, noisy(0.5), RULE, seed=1)
    assert found.larger is None and "even all cases" in found.why


def test_the_noise_is_at_least_that_of_the_trials():
    """Nights that lie close together by luck do not make a steady suite."""
    lucky = [0.70, 0.71] * 10

    found = choose("desk", CASES, lambda cases: Values(lucky, 0.0, 0.2 / len(cases)), RULE, seed=1)
    bare = choose("desk", CASES, lambda cases: Values(lucky, 0.0), RULE, seed=1)
    assert bare.sees_margin and not found.sees_margin
    assert found.mde == pytest.approx(choose("desk", CASES, noisy(0.2 / sqrt(3)), RULE, seed=1).mde)


@pytest.mark.parametrize("values", [[], [0.7], [0.7] * 12])
def test_what_is_unknown_is_not_seen(values):
    found = choose("desk", CASES, lambda _: Values(values, 0.0), RULE, seed=1)
    assert found.mde is None and not found.sees_margin and found.larger is None
    assert "unknown" in found.why and found.n_units == len(values)


def test_archetypes_of_the_suite(tmp_path, write_suite, suite_document):
    door = suite.load(write_suite(tmp_path))
    assert by_archetype(door) == {"A1": ("open",), "A10": ("refuse",)}
    assert by_archetype(door, ["A10"]) == {"A10": ("refuse",)}
    with pytest.raises(UsageError, match="has no case of A3; it has: A1, A10"):
        by_archetype(door, ["A1", "A3"])
    document = suite_document()
    for case in document["cases"]:
        del case["archetype"]
    with pytest.raises(UsageError, match="names no archetypes"):
        by_archetype(suite.load(write_suite(tmp_path / "bare", document)))
