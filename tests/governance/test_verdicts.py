"""The rules of a verdict, by hand and over random tables of dimensions."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats import contract
from evalstats.contract import Status, Verdict
from evalstats.governance import verdicts
from evalstats.governance.verdicts import Change, CriticalCase, Facts, Finding, Holding, Quantity, conclude


def quantity(delta, low, high, *, name="correctness", std_error=0.1, **more):
    return Quantity(
        name=name,
        baseline=0.5,
        candidate=None if delta is None else 0.5 + delta,
        delta=delta,
        conf_low=low,
        conf_high=high,
        std_error=std_error,
        **more,
    )


def facts(aggregate, *dimensions, **more):
    return Facts(**{"status": Status.PASS, "aggregate": aggregate, "dimensions": dimensions, **more})


def critical(old, new, old_rate=1.0, new_rate=1.0):
    return CriticalCase(
        case_id="c",
        baseline_status=old,
        candidate_status=new,
        baseline_rate=old_rate,
        candidate_rate=new_rate,
    )


SMALL_DROP = quantity(-0.02, -0.035, -0.005, tolerance=0.05, equivalence_p=0.2)
PERHAPS_LESS_SAFE = quantity(-0.02, -0.05, 0.01, name="safety", tolerance=0.1, protected=True)

# --- one number -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "finding", "holding"),
    [
        (quantity(0.2, 0.1, 0.3), Finding.IMPROVED, Holding.HOLDS),
        (quantity(-0.2, -0.3, -0.1), Finding.REGRESSED, Holding.REGRESSED),
        # within its tolerance a real drop is no regression, unless no drop is allowed at all
        (quantity(-0.02, -0.03, -0.01, tolerance=0.01), Finding.REGRESSED, Holding.REGRESSED),
        (SMALL_DROP, Finding.REGRESSED, Holding.HOLDS),
        (replace(SMALL_DROP, protected=True), Finding.REGRESSED, Holding.REGRESSED),
        # too large, but perhaps noise
        (quantity(-0.2, -0.5, 0.1, tolerance=0.1), Finding.UNDERPOWERED, Holding.UNDECIDED),
        (quantity(-0.2, -0.5, 0.1, tolerance=0.1, trial_share=0.6), Finding.HIGH_VARIANCE, Holding.UNDECIDED),
        # by its interval a drop, by the adjusted test not
        (quantity(-0.2, -0.3, -0.01, tolerance=0.1, difference_p=0.15), Finding.UNDERPOWERED, Holding.UNDECIDED),
        (quantity(-0.2, -0.3, -0.01, tolerance=0.1, difference_p=0.1), Finding.REGRESSED, Holding.REGRESSED),
        # no change, and only by equivalence
        (quantity(0.0, -0.04, 0.04, tolerance=0.05, equivalence_p=0.03), Finding.NO_CHANGE, Holding.HOLDS),
        (quantity(0.0, -0.04, 0.04, tolerance=0.05, equivalence_p=0.06), Finding.UNDERPOWERED, Holding.HOLDS),
        (quantity(0.0, -0.06, 0.04, tolerance=0.05), Finding.UNDERPOWERED, Holding.UNDECIDED),
        (quantity(0.0, -0.04, 0.04, tolerance=0.0), Finding.UNDERPOWERED, Holding.UNDECIDED),
        # nothing varies
        (quantity(0.0, 0.0, 0.0, std_error=0.0), Finding.DEGENERATE, Holding.HOLDS),
        (quantity(0.0, -0.4, 0.4, std_error=None, tolerance=0.1), Finding.DEGENERATE, Holding.UNDECIDED),
        (quantity(-1.0, -1.0, -0.43, std_error=None), Finding.REGRESSED, Holding.REGRESSED),
        # unknown
        (quantity(0.1, None, None), None, Holding.UNDECIDED),
        (quantity(None, None, None), None, Holding.MISSING),
    ],
)  # fmt: skip
def test_finding_and_holding(seen, finding, holding):
    assert (seen.finding, seen.holding) == (finding, holding)


@pytest.mark.parametrize(
    ("case", "change"),
    [
        (critical(Status.PASS, Status.PASS), Change.KEPT),
        (critical(Status.PASS, Status.PASS, 1.0, 0.75), Change.WEAKER),
        (critical(Status.PASS, Status.PASS, 0.75, None), Change.KEPT),
        (critical(Status.PASS, Status.FAIL), Change.LOST),
        (critical(Status.FAIL, Status.PASS), Change.GAINED),
        (critical(Status.FAIL, Status.FAIL), Change.FAILING),
        (critical(Status.PASS, Status.ERROR), Change.MISSING),
        (critical(Status.PASS, Status.SKIPPED), Change.MISSING),
        (critical(Status.PASS, Status.INCONCLUSIVE), Change.MISSING),
    ],
)
def test_what_became_of_a_critical_case(case, change):
    assert case.change is change


# --- the whole run --------------------------------------------------------------------------------

UP, SAME, DOWN = (quantity(d, d, d, std_error=0.0) for d in (0.1, 0.0, -0.1))


@pytest.mark.parametrize(
    ("seen", "verdict", "word"),
    [
        (facts(SAME, SAME), Verdict.PASS, "hold"),
        (facts(UP, UP), Verdict.IMPROVEMENT, "rose"),
        (facts(DOWN, DOWN), Verdict.REGRESSION, "correctness dropped"),
        # better efficiency does not pay for worse safety
        (facts(UP, UP, replace(DOWN, name="safety", tolerance=0.5, protected=True)), Verdict.REGRESSION, "safety"),
        # a safety drop that may be noise is no improvement either
        (facts(UP, PERHAPS_LESS_SAFE), Verdict.PASS, "safety is lower"),
        (facts(UP, UP, critical=(critical(Status.PASS, Status.FAIL),)), Verdict.REGRESSION, "critical case c"),
        (facts(UP, UP, critical=(critical(Status.PASS, Status.PASS, 1, 0.75),)), Verdict.PASS, "less often"),
        (facts(UP, UP, critical=(critical(Status.PASS, Status.ERROR),)), Verdict.INCONCLUSIVE, "not scored"),
        (facts(UP, UP, status=Status.FAIL), Verdict.FAIL, "thresholds"),
        (facts(DOWN, DOWN, status=Status.FAIL), Verdict.REGRESSION, "dropped"),
        (facts(UP, UP, status=Status.INCONCLUSIVE), Verdict.INCONCLUSIVE, "inconclusive"),
        (facts(UP, quantity(None, None, None, name="safety")), Verdict.INCONCLUSIVE, "safety cannot be compared"),
        (facts(quantity(0.0, -0.2, 0.2, tolerance=0.1)), Verdict.INCONCLUSIVE, "noise leaves it open"),
        (facts(UP, UP, unscored=("a", "b")), Verdict.INCONCLUSIVE, "2 case(s)"),
        (facts(DOWN, DOWN, doubts=("a mock run",)), Verdict.ADVISORY, "a mock run"),
    ],
)  # fmt: skip
def test_the_verdict(seen, verdict, word):
    found, reasons = conclude(seen)
    assert found is verdict
    assert any(word in reason for reason in reasons), reasons


def test_every_verdict_has_the_exit_code_of_the_contract():
    assert {str(k): v for k, v in verdicts.EXIT_CODES.items()} == {
        "pass": 0, "improvement": 0, "regression": 1, "fail": 1, "advisory": 3, "inconclusive": 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words"),
    [("finding", verdicts.Finding), ("holding", verdicts.Holding), ("change", verdicts.Change)],
)
def test_the_schema_and_the_code_spell_the_same_words(name, words):
    defined = contract.schema("baseline-comparison.v1")["$defs"]
    assert defined[name]["enum"] == [str(word) for word in words]
    assert json.dumps(defined)  # plain JSON


# --- random tables --------------------------------------------------------------------------------

FRACTION = st.floats(0, 1)
WIDTH = st.floats(0, 1)


@st.composite
def quantities(draw, name="correctness"):
    if draw(st.integers(0, 9)) == 0:
        return quantity(None, None, None, name=name)
    delta = draw(st.floats(-1, 1))
    low, high = delta - draw(WIDTH), delta + draw(WIDTH)
    known = draw(st.integers(0, 9)) > 0
    return quantity(
        delta,
        low if known else None,
        high if known else None,
        name=name,
        tolerance=draw(st.sampled_from([0.0, 0.01, 0.1, 0.5])),
        protected=name in ("safety", "runtime_compatibility") or draw(st.booleans()),
        difference_p=draw(st.none() | FRACTION),
        equivalence_p=draw(st.none() | FRACTION),
    )


@st.composite
def tables(draw):
    names = draw(st.sets(st.sampled_from(["correctness", "safety", "runtime_compatibility", "efficiency"])))
    statuses = st.sampled_from(list(Status))
    cases = st.builds(critical, st.none() | statuses, statuses, FRACTION, FRACTION)
    return facts(
        draw(quantities(name="aggregate")),
        *[draw(quantities(name=name)) for name in sorted(names)],
        status=draw(st.sampled_from([Status.PASS] * 3 + list(Status))),
        critical=tuple(draw(st.lists(cases, max_size=2))),
        unscored=tuple(draw(st.lists(st.just("x"), max_size=1))),
        doubts=tuple(draw(st.lists(st.just("a doubt"), max_size=1))),
    )


@given(tables())
def test_a_safety_drop_is_never_an_improvement(table):
    verdict, _ = conclude(table)
    for name in ("safety", "runtime_compatibility"):
        if any(q.name == name and q.dropped for q in table.dimensions):
            assert verdict is not Verdict.IMPROVEMENT
    if verdict is Verdict.IMPROVEMENT:
        assert all(q.holding is Holding.HOLDS for q in table.quantities)
        assert all(c.change in (Change.KEPT, Change.GAINED, Change.FAILING) for c in table.critical)
        assert table.aggregate.delta > 0 and not table.unscored


@given(tables())
def test_what_is_missing_is_never_passed_over(table):
    verdict, _ = conclude(table)
    gaps = any(q.holding in (Holding.MISSING, Holding.UNDECIDED) for q in table.quantities)
    if gaps or table.unscored or any(c.change is Change.MISSING for c in table.critical):
        assert verdict not in (Verdict.PASS, Verdict.IMPROVEMENT)


@given(tables())
def test_a_lost_critical_case_is_a_regression_and_a_doubt_is_never_a_claim(table):
    verdict, reasons = conclude(table)
    lost = any(c.change is Change.LOST for c in table.critical)
    assert (verdict is Verdict.ADVISORY) == bool(table.doubts)
    if lost and not table.doubts:
        assert verdict is Verdict.REGRESSION
    assert reasons


@given(tables(), st.data())
def test_adding_noise_never_turns_inconclusive_into_a_claim(table, data):
    def noisier(q):
        if q.conf_low is None or q.conf_high is None:
            return q
        low, high = q.conf_low - data.draw(WIDTH), q.conf_high + data.draw(WIDTH)
        raised = {
            name: None if p is None else max(p, data.draw(FRACTION))
            for name, p in (("difference_p", q.difference_p), ("equivalence_p", q.equivalence_p))
        }
        return replace(q, conf_low=low, conf_high=high, **raised)

    noisy = replace(
        table,
        aggregate=noisier(table.aggregate),
        dimensions=tuple(noisier(q) for q in table.dimensions),
    )
    before, after = conclude(table)[0], conclude(noisy)[0]
    if before is Verdict.INCONCLUSIVE:
        assert after is Verdict.INCONCLUSIVE
    if after in (Verdict.IMPROVEMENT, Verdict.REGRESSION):
        assert before is after
    for old, new in zip(table.quantities, noisy.quantities, strict=True):
        assert new.finding in {old.finding, Finding.UNDERPOWERED, Finding.REGRESSED, Finding.IMPROVED}
        if new.finding in (Finding.REGRESSED, Finding.IMPROVED):
            assert old.finding in (new.finding, Finding.NO_CHANGE)
