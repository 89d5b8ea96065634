import pytest

from evalstats.errors import UsageError
from evalstats.report import material, tables


def test_the_runs_of_both_arms_with_what_stands_behind_them(fill_store):
    found = material.read(str(fill_store(nights=2)), "demo")
    assert found.arms == found.pair == ("skill-on", "skill-off") and found.is_paired
    assert len(found.runs) == 2 * 2 * 8 and len(found.trials) == 2 * 2 * 8 * 3
    assert found.expectations.empty and found.judgements.empty and found.notes == ()
    assert found.facts["n_cases"] == 8 and found.facts["n_trials"] == 96


def test_one_arm_alone(fill_store):
    found = material.read(str(fill_store(arms=("skill-on",))), "demo")
    assert (found.arms, found.pair, found.is_paired) == (("skill-on",), ("skill-on", "skill-on"), False)


def test_no_such_suite_is_refused(fill_store):
    from evalstats.errors import EvalstatsError

    with pytest.raises(EvalstatsError, match="unknown suite"):
        material.read(str(fill_store()), "nobody")
    with pytest.raises(UsageError, match="no store here or above"):
        material.read("nowhere.duckdb", "demo")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdefgh"), "a, b, c, d, e, f and 2 more"),
    ],
)
def test_names_in_a_row(names, text):
    assert material.joined(names) == text


def test_an_estimate_in_short():
    row = {"estimate": 0.5, "conf_low": 0.4, "conf_high": 0.6, "caveats": ("why",)}
    assert material.estimate(row, tables.rate) == "0.50 [0.40, 0.60]"
    assert material.estimate({**row, "conf_low": None}, tables.rate) == "0.50, no interval"
    assert material.estimate({**row, "estimate": float("nan")}, tables.rate) == "n/a"
    assert material.estimate({**row, "estimate": None}, tables.rate, unknown="refused") == "refused"
