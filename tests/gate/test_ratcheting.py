"""A ratchet stands on the runs that its gate would take as the yardstick, the newest one too."""

from __future__ import annotations

import json

import pytest

from evalstats import suite
from evalstats.errors import DocumentError, UsageError
from evalstats.gate import policy_of
from evalstats.gate.ratcheting import Grounds, Told, grounds, readiness, smoke_subset
from evalstats.governance.ratchet_records import Signature, promote

ON, OFF = "skill-on", "skill-off"
STEADY = [0.80, 0.81, 0.79, 0.80, 0.81, 0.79, 0.80, 0.80, 0.79, 0.81, 0.80, 0.80]


@pytest.fixture
def door(tmp_path, write_suite, suite_document):
    return suite.load(write_suite(tmp_path, {**suite_document(), "baseline_policy": {"mode": "promotable"}}))


@pytest.fixture
def standing_on(door, make_policy, make_run):
    """Return a function: nights of scores, changes of single runs and of the policy -> grounds."""
    now = suite.hashes(door)["scoring"]

    def on(scores, changes=None, blocked=(), **policy):
        rows = []
        for number, score in enumerate(scores, 1):
            unusual = {"n_cases": 2, "identity": {"suite_scoring": now}, **(changes or {}).get(number, {})}
            rows += make_run(number, {ON: score}, **unusual)
        return Grounds(
            suite=door,
            policy=policy_of(make_policy(margin=0.05, **policy)),
            policy_sha256="c" * 64,
            told=Told(rows=tuple(rows)),
            blocked=frozenset(blocked),
        )

    return on


def ids(found, **policy):
    return [point.group_id for point in found.accepted(found.policy, found.blocked)[0]]


def test_the_newest_run_counts_too(standing_on):
    assert ids(standing_on(STEADY)) == [f"run-{n:02}" for n in range(1, 13)]
    found = readiness(standing_on(STEADY), None, seed=1)
    assert (found.state, found.reasons, found.noise.n_units) == ("READY", (), 12)


def test_the_history_begins_at_the_last_change_of_identity(standing_on):
    old = {n: {"identity": {"suite_scoring": "f" * 64}} for n in range(1, 5)}
    found = standing_on(STEADY, old)
    assert ids(found) == [f"run-{n:02}" for n in range(5, 13)]
    report = readiness(found, None, seed=1)
    assert any("suite_scoring changed" in left_out for left_out in report.past.left_out)


def test_what_is_no_yardstick_is_left_out(standing_on):
    changes = {
        3: {"is_mock": True},
        4: {"git_ref": "feature"},
        5: {"infrastructure": 20},
        6: {"n_cases": 1},
        12: {"is_mock": True},
    }
    assert ids(standing_on(STEADY, changes)) == [f"run-{n:02}" for n in (1, 2, 7, 8, 9, 10, 11)]


def test_blocked_runs_are_watched_all_the_same(standing_on):
    dropped = [*STEADY, 0.60, 0.60, 0.60]
    found = standing_on(dropped, blocked=["run-13", "run-14", "run-15"])
    report = readiness(found, None, seed=1)
    assert len(report.past.runs) == 12 and len(report.past.watched) == 15
    assert "monitoring has a confirmed alarm" in report.reasons


def test_a_suite_that_was_changed_since(standing_on):
    every = {n: {"identity": {"suite_scoring": "f" * 64}} for n in range(1, 13)}
    report = readiness(standing_on(STEADY, every), None, seed=1)
    assert report.reasons == ("the suite was changed since these runs; run it as it is now",)


def test_nothing_yet(standing_on):
    report = readiness(standing_on([]), None, seed=1)
    assert report.state == "NOT_READY" and report.more_runs == 8 and report.more_days == 5


def test_rules_without_a_readiness_and_reruns_beyond_the_policy(standing_on):
    report = readiness(standing_on(STEADY, rule="legacy"), None, seed=1)
    assert report.reasons[0].startswith("no readiness is known for the rule legacy")
    with pytest.raises(UsageError, match=r"allows 2 run\(s\)"):
        readiness(standing_on(STEADY, reruns=2), None, seed=1, reruns=3)


def test_costs_are_those_of_every_arm(standing_on):
    costs = {n: {"cost": 1.5, "outcomes": {"ok": 27, "timeout": 3}} for n in range(1, 13)}
    limits = {"cost": 1.0, "timeout_rate": 0.05}
    report = readiness(standing_on(STEADY, costs, limits=limits), None, seed=1)
    assert report.reasons == (
        "cost: 12 of 12 runs beyond 1, the worst 1.5",
        "timeout_rate: 12 of 12 runs beyond 0.05, the worst 0.1",
    )


def test_the_standing_is_read_from_the_record(standing_on, door):
    found = standing_on(STEADY)
    signed = Signature(by="ada", rationale="steady")
    promote(door, readiness(found, None, seed=1).as_record(), found.policy_sha256, signed)
    assert readiness(found, None, seed=1).asked.standing == "blocking"
    noisy = standing_on([s + (0.06 if n % 2 else -0.06) for n, s in enumerate(STEADY)])
    assert readiness(noisy, None, seed=1).state == "REVOKED"


def test_a_missing_baseline_and_a_record_that_is_not_whole(tmp_path, write_suite, standing_on):
    wants = suite.load(write_suite(tmp_path / "wants"))  # its policy: compare
    found = standing_on(STEADY)
    lacking = Grounds(suite=wants, policy=found.policy, policy_sha256=found.policy_sha256, told=found.told)
    reasons = readiness(lacking, None, seed=1).reasons
    assert any(reason.startswith("the suite wants a baseline and has none") for reason in reasons)
    (found.suite.folder / "baselines").mkdir()
    (found.suite.folder / "baselines/ratchets.jsonl").write_text("{}\n")
    assert "the ratchet record is not whole" in readiness(found, None, seed=1).reasons[0]


def test_a_smoke_subset_is_held_against_its_own_history(door, tell, make_policy):
    rows = []
    for number in range(1, 13):
        swing = number % 2
        rows += tell(number, {ON: {"open": (80 + swing, 100), "refuse": (50 + 20 * swing, 100)}})
    told = Told(rows=tuple(rows))

    def subset(archetype):
        policy = policy_of(make_policy(margin=0.08, smoke={"archetypes": [archetype]}))
        return smoke_subset(
            Grounds(suite=door, policy=policy, policy_sha256="c" * 64, told=told), seed=1, per_archetype=1
        )

    assert subset("A1").sees_margin and not subset("A10").sees_margin
    assert subset("A1").case_ids == ["open"] and subset("A1").n_units == 12


def test_the_policy_lies_beside_the_suite(door, tmp_path, make_policy):
    store, ledger = tmp_path / "none.duckdb", tmp_path / "gates"
    with pytest.raises(DocumentError):
        grounds(door, None, store, ledger)
    path = door.folder / "policy.json"
    path.write_text(json.dumps(make_policy()))
    assert grounds(door, None, store, ledger).told == Told()
    path.write_text(json.dumps(make_policy(suite="window")))
    with pytest.raises(UsageError, match="is for suite window, not door"):
        grounds(door, None, store, ledger)


def test_a_branch_with_another_model_does_not_change_the_lift_of_the_main_line(door, make_policy, make_run):
    """A lift is over the off arm of its own model, also where a later run of a branch had another."""
    now = suite.hashes(door)["scoring"]

    def of(number, on, off, **unusual):
        identity = {"suite_scoring": now, **unusual.pop("identity", {})}
        return make_run(number, {ON: on, OFF: off}, n_cases=2, identity=identity, **unusual)

    def values(*rows):
        policy = policy_of(make_policy(statistic="lift"))
        found = Grounds(suite=door, policy=policy, policy_sha256="c" * 64, told=Told(rows=rows))
        return [point.value for point in found.accepted(policy)[0]]

    main = [row for n, score in enumerate(STEADY, 1) for row in of(n, score, 0.5)]
    aside = of(13, 0.9, 0.1, identity={"model": "m-2"}, git_ref="pr-1")
    assert values(*main, *aside) == values(*main)
    assert values(*main)[0] == pytest.approx(1 - 0.2 / 0.5)
