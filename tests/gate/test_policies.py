"""Every field of a policy is explained, every old policy holds, and every problem is told at once."""

import json

import pytest

from evalstats import contract, gate
from evalstats.contract import GateRule
from evalstats.errors import SuiteError
from evalstats.gate.policies import PerCase

SCHEMA = contract.schema("policy.v1")


def described(node, at=""):
    """Yield each property and whether it says what it is for, in words or by a word that does."""
    for name, field in node.get("properties", {}).items():
        yield f"{at}/{name}", "description" in field
        yield from described(field, f"{at}/{name}")


def test_every_field_is_explained():
    silent = [place for place, said in described(SCHEMA) if not said]
    assert silent == []


def test_an_old_policy_means_what_it_meant(make_policy):
    policy = gate.policy_of(make_policy())
    assert (policy.rule, policy.reruns, policy.power, policy.level) == (GateRule.THREE_VERDICT, 3, 0.8, 0.9)
    assert policy.max_infrastructure_rate == 0.1 and policy.infrastructure == ("infrastructure",)
    assert policy.dimensions == {} and policy.critical_cases == () and policy.smoke == ()
    assert policy.identity == contract.IDENTITY
    assert (policy.history.unit, policy.history.refs) == ("night", ("main", None))


def test_a_full_policy_is_read(make_policy):
    document = make_policy(
        rule="per-case",
        level=0.95,
        reruns=2,
        threshold=0.5,
        minimum_delta=0.1,
        per_case={"k": 2, "n": 3, "cases": ["a"]},
        critical_cases=["b"],
        dimensions={"safety": 0.02},
        archetypes={"alpha": 0.1, "blocks": True},
        history={"minimum": 8, "window": 28, "unit": "run", "refs": ["release/*"], "exclude": ["r1"],
                 "since": "2026-01-01T00:00:00Z"},
        infrastructure={"outcomes": ["infrastructure", "missing"], "error_budget": 0.05},
        limits={"cost": 5, "median_duration_s": 60, "timeout_rate": 0.02},
        smoke={"archetypes": ["A1"]},
    )  # fmt: skip
    assert contract.problems(document, "policy.v1") == []
    policy = gate.policy_of(document)
    assert policy.per_case == PerCase(k=2, n=3, cases=("a",))
    assert (policy.archetypes_alpha, policy.archetypes_block) == (0.1, True)
    assert policy.history.refs == ("release/*",) and policy.history.exclude == {"r1"}
    assert (policy.limits.cost, policy.error_budget, policy.smoke) == (5, 0.05, ("A1",))
    assert policy.shared_alpha() == 0.025  # the whole and one dimension


@pytest.mark.parametrize(
    ("rule", "field"),
    [("absolute", "threshold"), ("per-case", "per_case"), ("critical", "critical_cases"),
     ("minimum-delta", "minimum_delta")],
)  # fmt: skip
def test_a_rule_without_its_number_is_refused(make_policy, rule, field):
    (problem,) = contract.problems(make_policy(rule=rule), "policy.v1")
    assert f'"{field}" is a required property' in problem.message


def test_every_problem_is_told_at_once_also_those_between_fields(tmp_path, make_policy):
    document = make_policy(
        rule="absolute",
        history={"minimum": 9, "window": 8},
        per_case={"k": 4, "n": 3},
        dimensions={"safety": 0},
        colour="red",
    )
    (tmp_path / "p.json").write_text(json.dumps(document))
    with pytest.raises(SuiteError) as caught:
        gate.read_policy(tmp_path / "p.json")
    told = {(p.pointer, p.message.split(";")[0]) for p in caught.value.problems}
    assert {pointer for pointer, _ in told} == {"", "/dimensions/safety", "/history/window", "/per_case/k"}
    assert len(caught.value.problems) == 5  # at the root: the missing threshold, and the colour


@pytest.mark.parametrize(
    "document", [[], 1, None, "x", {"history": []}, {"history": {"minimum": "9", "window": 1}}]
)
def test_what_is_no_policy_is_told_in_words(tmp_path, document):
    (tmp_path / "p.json").write_text(json.dumps(document))
    with pytest.raises(SuiteError):
        gate.read_policy(tmp_path / "p.json")


def test_a_whole_number_may_be_written_with_a_point(tmp_path, make_policy):
    """To a JSON schema 3.0 is an integer."""
    tables = {"history": {"minimum": 8.0, "window": 28.0}, "per_case": {"k": 2.0, "n": 3.0}}
    document = make_policy(reruns=2.0, **tables)
    assert contract.problems(document, "policy.v1") == []
    policy = gate.policy_of(document)
    numbers = (
        policy.reruns,
        policy.history.minimum,
        policy.history.window,
        policy.per_case.k,
        policy.per_case.n,
    )
    assert numbers == (2, 8, 28, 2, 3) and all(type(number) is int for number in numbers)
    (tmp_path / "p.json").write_text(json.dumps(make_policy(history={"minimum": 9.0, "window": 8})))
    with pytest.raises(SuiteError, match="window below the minimum"):
        gate.read_policy(tmp_path / "p.json")


@pytest.mark.parametrize("alpha", [1e-300, 1e-17])
def test_an_error_rate_that_no_arithmetic_can_hold_is_refused(make_policy, alpha):
    (problem,) = contract.problems(make_policy(alpha=alpha), "policy.v1")
    assert problem.pointer == "/alpha"


def test_the_smallest_error_rate_can_be_judged(make_policy, make_report, make_run):
    runs = [make_run(n, {"skill-on": 0.8 + n % 3 / 100}) for n in range(1, 12)]
    policy = make_policy(alpha=1e-9, reruns=10, dimensions={f"d{n}": 0.1 for n in range(20)})
    assert contract.problems(policy, "policy.v1") == []
    assert 0 <= gate.decide(make_report(runs), policy).checks[0].false_block < 1e-9
