"""What a policy asks beside its rule, each with the night on which it speaks."""

import pytest

from evalstats import gate

ON = "skill-on"
FACTS = {
    **{f"a{i}": {"archetype": "A1", "dimensions": ["correctness"]} for i in range(5)},
    **{f"b{i}": {"archetype": "A2", "dimensions": ["correctness", "safety"]} for i in range(5)},
}


@pytest.fixture
def decide(make_report, make_policy, tell):
    """Return a function: passes of ten of each case of A1 and A2 on the last night, and the policy -> result."""

    def decided(a, b, asked=None, nights=10, unusual=(), facts=FACTS, **policy):
        past = [
            tell(n, {ON: {case: (8 - (n + i) % 2, 10) for i, case in enumerate(facts)}})
            for n in range(1, nights + 1)
        ]
        past[0] = tell(1, {ON: {case: (8, 10) for case in facts}})
        last = tell(
            nights + 1, {ON: {case: (a if case[0] == "a" else b, 10) for case in facts}}, **dict(unusual)
        )
        return gate.decide(make_report([*past, last], facts=facts), make_policy(**policy), asked)

    return decided


def verdicts(result):
    return {check.name: str(check.verdict) for check in result.checks}


def test_a_dimension_may_not_drop_by_its_own_margin(decide):
    """All ten cases lose .05; the five that carry safety lose .15, more than safety may."""
    asked = {"margin": 0.15, "dimensions": {"safety": 0.1}}
    result = decide(8, 6, **asked)
    assert verdicts(result) == {"three-verdict": "pass", "dimension safety": "regression"}
    assert (result.exit_code, result.reasons[0][:28]) == (1, "safety: the candidate lies 0")
    assert decide(8, 8, **asked).exit_code == 0


def test_the_error_rate_is_shared_with_the_dimensions(decide):
    alone = decide(8, 7, margin=0.15)
    three = decide(8, 7, margin=0.15, dimensions={"safety": 0.15, "correctness": 0.15})
    assert three.checks[0].false_block <= alone.false_block
    assert three.false_block == pytest.approx(sum(check.false_block for check in three.checks))
    assert three.false_block <= 0.05  # the policy's alpha


def test_a_dimension_that_nobody_carries_is_missing_not_zero(decide):
    result = decide(8, 8, margin=0.15, dimensions={"style": 0.1})
    assert result.exit_code == 3
    assert result.reasons[0] == "style: no case carries it; a missing dimension is missing, not 0"


def test_archetypes_are_flagged_by_holm_and_block_only_if_the_policy_says_so(decide):
    flagged = decide(8, 4, margin=0.3, archetypes={"alpha": 0.05})
    assert flagged.verdict != "regression"
    told = next(check for check in flagged.checks if check.name == "archetypes")
    assert told.reasons == ("of 2 archetypes 1 dropped (Holm, 0.05): A2",)
    assert decide(8, 4, margin=0.3, archetypes={"blocks": True}).exit_code == 1
    calm = decide(8, 8, margin=0.3, archetypes={"blocks": True})
    assert calm.exit_code == 0 and calm.checks[-1].reasons == ("none of 2 archetypes dropped (Holm, 0.05)",)


@pytest.mark.parametrize(
    ("limits", "unusual", "code", "reason"),
    [
        ({"cost": 1.0}, {"cost": 0.9}, 0, None),
        ({"cost": 1.0}, {"cost": 1.25}, 1, "cost: 1.25 US dollars a run, the limit is 1"),
        ({"cost": 1.0}, {"cost": None}, 3, "cost: not recorded for every run; unknown is not zero"),
        ({"cost": 1.0}, {}, 3, "cost: not recorded for every run; unknown is not zero"),
        ({"median_duration_s": 60}, {"median_duration_s": 61}, 1,
         "median duration: 61 seconds a trial, the limit is 60"),
        ({"timeout_rate": 0.02}, {"outcomes": {"ok": 97, "timeout": 3}}, 1,
         "timeouts: 0.03 of the trials, the limit is 0.02"),
        ({"timeout_rate": 0.02}, {"outcomes": {"ok": 100}}, 0, None),
    ],
)  # fmt: skip
def test_a_run_may_cost_only_so_much(decide, limits, unusual, code, reason):
    result = decide(8, 8, margin=0.15, limits=limits, unusual=unusual)
    assert result.exit_code == code
    assert reason is None or reason in result.reasons


def test_a_spent_error_budget_stops_the_gate(decide, make_report, make_policy, make_run):
    runs = [make_run(n, {ON: 0.8 + n % 3 / 100}, infrastructure=n % 2 * 3) for n in range(1, 12)]
    asked = {"max_infrastructure_rate": 0.2, "infrastructure": {"error_budget": 0.05}}
    result = gate.decide(make_report(runs), make_policy(**asked))
    # six of eleven runs lost 3 of 30 trials each: 18 of 330
    assert result.exit_code == 3
    spent = "5.5% of the trials of 11 runs failed for infrastructure, the budget is 5.0%"
    assert result.reasons[0] == f"spent: {spent}"
    asked["infrastructure"]["error_budget"] = 0.06
    assert gate.decide(make_report(runs), make_policy(**asked)).exit_code == 0


def test_the_policy_says_what_counts_as_infrastructure(make_report, make_policy, make_run):
    runs = [make_run(n, {ON: 0.8 + n % 3 / 100}) for n in range(1, 11)]
    last = make_run(11, {ON: 0.8}, outcomes={"ok": 20, "missing": 10})
    assert gate.decide(make_report([*runs, last]), make_policy()).exit_code == 0
    counted = make_policy(infrastructure={"outcomes": ["infrastructure", "missing"]})
    result = gate.decide(make_report([*runs, last]), counted)
    assert result.reasons == ["run-11: 10 of its 30 trials failed for infrastructure (33%, limit 10%)"]


# --- a smoke run ------------------------------------------------------------------------------------


@pytest.fixture
def smoke(make_report, make_policy, tell):
    """Return a function: which cases ran with how many passes of ten, and the archetypes asked -> result."""

    def decided(ran, archetypes=("A1", "A2"), asked=True, **policy):
        past = [
            tell(n, {ON: {c: ((9 if c[0] == "a" else 3) - (n + i) % 2, 10) for i, c in enumerate(FACTS)}})
            for n in range(1, 13)
        ]
        last = tell(13, {ON: {case: (k, 10) for case, k in ran.items()}})
        rules = make_policy(**{"margin": 0.15, "smoke": {"archetypes": list(archetypes)}, **policy})
        return gate.decide(make_report([*past, last], facts=FACTS), rules, gate.Asked(smoke=asked))

    return decided


def test_a_smoke_run_is_held_against_the_same_cases(smoke):
    """The suite has a mean of .55; a smoke run of one hard case and one easy one is held to theirs alone."""
    result = smoke({"a0": 9, "b1": 3}, margin=0.25)
    assert result.exit_code == 0 and result.drop == pytest.approx(0.55 - 0.6, abs=1e-9)
    easy = smoke({"a0": 9}, archetypes=["A1"])
    assert easy.drop == pytest.approx(0.85 - 0.9, abs=1e-9)
    assert smoke({"a0": 4, "b1": 1}).exit_code == 1


def test_a_smoke_run_must_hold_the_archetypes_of_the_policy(smoke, make_report, make_policy):
    result = smoke({"a0": 9})
    assert (result.exit_code, result.reasons[0]) == (3, "the smoke run has no case of A2")


def test_without_being_asked_a_part_of_the_suite_is_refused(smoke):
    result = smoke({"a0": 9, "b1": 3}, asked=False)
    assert (result.exit_code, result.reasons[0]) == (3, "run-13: it has a score for 2 of 10 cases")


def test_a_smoke_run_that_cannot_see_the_margin_clears_nothing_alone(smoke):
    """It sees drops from .206; what it blocks it may block, as its threshold says."""
    result = smoke({"a0": 9, "b1": 3})
    assert result.exit_code == 3 and result.mde > result.margin
    assert "these 2 cases see only drops from 0.206, beyond the margin of 0.15" in result.reasons[0]
    assert "`evalstats smoke` names a larger subset" in result.reasons[0]
    assert smoke({"a0": 2, "b1": 0}).exit_code == 1


def test_an_archetype_that_differs_by_rounding_alone_is_not_flagged(make_report, make_policy, tell):
    """0.7 - 0.1 and 0.8 - 0.2 are one number: a p of next to nothing would be one over no measured noise."""
    runs = []
    for n in range(1, 12):
        on, off = (14, 2) if n % 2 else (16, 4)
        on = on if n < 11 else on - 4
        arms = {ON: {"a": (on, 20), "b": (12 + n % 3, 20)}, "skill-off": {"a": (off, 20), "b": (0, 20)}}
        runs.append(tell(n, arms))
    facts = {case: {"archetype": case.upper(), "dimensions": []} for case in "ab"}
    policy = make_policy(statistic="difference", margin=0.3, archetypes={"blocks": True})
    result = gate.decide(make_report(runs, facts=facts), policy)
    assert result.exit_code == 0
    assert result.checks[1].reasons == ("none of 1 archetypes dropped (Holm, 0.05)",)
