"""What a skill changes, case by case; what ran in one leg only is listed, and a weak comparison says so."""

import hashlib

import pytest

from evalstats import contract
from evalstats.errors import UsageError
from evalstats.governance.scorecard import SUPPRESSION, delta_scorecard

PASSED = ("pass", 1.0, 1)
FAILED = ("fail", 0.0, 1)


@pytest.fixture
def record():
    """Return a function that returns a valid run record; a case is (status, score, number of trials)."""

    def run(arm, aggregate, cases, tier="headless", **changes):
        trials = sum(count for _, _, count in cases.values())
        document = {
            "schema_version": 1,
            "run_id": f"eval-1-{arm}",
            "suite": {
                "id": "door",
                "path": "evals/door/suite.json",
                "visibility": "public_canary",
                "tier": tier,
                "sha256": "0" * 64,
            },
            "status": "pass",
            "case_results": [
                {"id": name, "status": status, "score": score, "pass_rate": score, "trials": count}
                for name, (status, score, count) in cases.items()
            ],
            "aggregate_score": aggregate,
            "dimension_scores": {},
            "trials": {"planned": trials, "recorded": trials, "usable": trials},
            **changes,
        }
        contract.validate(document, "eval-run.v1")
        return document

    return run


def scorecard(on, off, difference=None):
    document = delta_scorecard(on, off, generated_at="2026-01-02T03:04:05Z", difference=difference)
    assert contract.problems(document, "delta-scorecard.v1") == []
    return document


def test_the_demonstration_of_two_cases(record):
    # one case passes only with hooks on, one in both: 1.0 and 0.5, +0.5, per case +1 and 0
    on = record("skill-on", 1.0, {"needs-it": PASSED, "does-not": PASSED})
    off = record("skill-off", 0.5, {"needs-it": FAILED, "does-not": PASSED})
    card = scorecard(on, off)
    assert (card["skill_on_aggregate"], card["skill_off_aggregate"], card["aggregate_delta"]) == (
        1.0,
        0.5,
        0.5,
    )
    assert [(case["case_id"], case["delta"]) for case in card["per_case"]] == [
        ("needs-it", 1),
        ("does-not", 0),
    ]
    assert (card["skill_on_run_id"], card["skill_off_run_id"]) == ("eval-1-skill-on", "eval-1-skill-off")
    assert (card["n_trials"], card["verdict"], card["reasons"]) == (4, None, [])
    assert all(case["comparable"] for case in card["per_case"])


@pytest.mark.parametrize(
    ("on", "off", "delta", "comparable"),
    [
        (PASSED, PASSED, 0, True),
        (PASSED, FAILED, 1, True),
        (FAILED, PASSED, -1, True),
        (FAILED, FAILED, 0, True),
        (PASSED, ("error", None, 1), 1, False),
        (("skipped", None, 0), PASSED, -1, False),
        (("inconclusive", None, 1), ("error", None, 1), 0, False),
        (("fail", 0.5, 2), ("pass", 2 / 3, 3), -1, True),
    ],
)
def test_a_case_by_hand(record, on, off, delta, comparable):
    (case,) = scorecard(record("skill-on", 1.0, {"a": on}), record("skill-off", 1.0, {"a": off}))["per_case"]
    assert (case["delta"], case["comparable"]) == (delta, comparable)
    assert (case["skill_on_status"], case["skill_off_status"]) == (on[0], off[0])
    assert (case["skill_on_score"], case["skill_off_score"]) == (on[1], off[1])
    assert (case["pass_rate_on"], case["pass_rate_off"], case["n_trials"]) == (on[1], off[1], on[2] + off[2])
    assert "note" not in case


def test_a_case_of_one_leg_is_listed(record):
    on = record("skill-on", 1.0, {"both": PASSED, "only-on": PASSED})
    off = record("skill-off", 1.0, {"only-off": PASSED, "both": PASSED})
    rows = {case["case_id"]: case for case in scorecard(on, off)["per_case"]}
    assert list(rows) == ["both", "only-on", "only-off"]
    assert rows["only-on"]["note"] == "ran only in the skill-on leg"
    assert rows["only-off"]["note"] == "ran only in the skill-off leg"
    assert [(row["comparable"], row["delta"]) for row in rows.values()] == [
        (True, 0),
        (False, 1),
        (False, -1),
    ]
    assert (
        rows["only-on"]["skill_off_score"] is None and rows["only-on"]["skill_off_status"] == "inconclusive"
    )


def test_an_unknown_aggregate_has_no_delta(record):
    lost = record("skill-off", None, {"a": ("error", None, 1)})
    assert scorecard(record("skill-on", 1.0, {"a": PASSED}), lost)["aggregate_delta"] is None


@pytest.mark.parametrize(
    ("tier", "trials", "mock", "reasons"),
    [
        ("live", 1, {}, ["a live suite with a single trial per case is never authoritative"]),
        ("live", 3, {}, []),
        ("headless", 1, {}, []),
        ("headless", 3, {"is_mock": True}, ["mock run"]),
        ("live", 1, {"is_mock": True},
         ["a live suite with a single trial per case is never authoritative", "mock run"]),
    ],
)  # fmt: skip
def test_what_may_not_be_believed_alone_is_advisory(record, tier, trials, mock, reasons):
    on = record("skill-on", 1.0, {"a": ("pass", 1.0, trials)}, tier)
    card = scorecard(on, record("skill-off", 0.0, {"a": ("fail", 0.0, trials)}, tier, **mock))
    assert (card["verdict"], card["reasons"]) == ("advisory" if reasons else None, reasons)


def test_the_interval_travels_with_the_scorecard(record):
    both = record("skill-on", 1.0, {"a": PASSED}), record("skill-off", 1.0, {"a": PASSED})
    row = {name: "x" for name in ("estimand", "method")} | {
        "population": "FIXED",
        "level": 0.8,
        "caveats": [],
    }
    row |= {"estimate": 0.0, "std_error": None, "conf_low": None, "conf_high": None}
    row |= {"n_cases": 1, "n_clusters": None, "n_trials": 2}
    assert scorecard(*both, difference=row)["difference"] == row
    assert scorecard(*both)["difference"] is None


def test_two_suites_are_not_compared(record):
    on, off = record("skill-on", 1.0, {"a": PASSED}), record("skill-off", 1.0, {"a": PASSED})
    off["suite"]["id"] = "window"
    with pytest.raises(UsageError, match="different suites, door and window"):
        scorecard(on, off)


def test_the_sentence_that_suppresses_skills_is_the_contracts(record):
    card = scorecard(record("skill-on", 1.0, {"a": PASSED}), record("skill-off", 1.0, {"a": PASSED}))
    assert SUPPRESSION == (
        "Constraint: Do NOT load additional skills or plugins. Work only with base agent capabilities."
    )
    assert card["suppression_sha256"] == hashlib.sha256(SUPPRESSION.encode()).hexdigest()


def test_a_candidate_is_compared_with_its_baseline(record):
    git = {"git": {"candidate_ref": "topic", "candidate_sha": "a" * 40}, "axis": "candidate"}
    new = record("candidate", 1.0, {"a": PASSED, "b": PASSED}, **git)
    old = record("baseline", 0.5, {"a": FAILED, "b": PASSED, "c": PASSED}, axis="candidate")
    card = scorecard(new, old)
    assert (card["axis"], card["candidate_ref"], card["candidate_sha"]) == ("candidate", "topic", "a" * 40)
    assert (card["candidate_run_id"], card["baseline_run_id"]) == ("eval-1-candidate", "eval-1-baseline")
    assert (card["candidate_aggregate"], card["baseline_aggregate"], card["aggregate_delta"]) == (
        1.0,
        0.5,
        0.5,
    )
    assert [row["delta"] for row in card["per_case"]] == [1, 0, -1]
    assert (
        card["per_case"][0]["candidate_status"] == "pass" and card["per_case"][0]["pass_rate_baseline"] == 0.0
    )
    assert card["per_case"][2]["note"] == "ran only in the baseline leg"
    assert not [name for name in (*card, *card["per_case"][0]) if name.startswith("skill")]
    assert "suppression_sha256" not in card


def test_a_scorecard_has_the_keys_of_its_own_axis(record):
    card = scorecard(record("skill-on", 1.0, {"a": PASSED}), record("skill-off", 1.0, {"a": PASSED}))
    assert card["axis"] == "skill"
    del card["axis"]  # as other tools write it
    assert contract.problems(card, "delta-scorecard.v1") == []
    assert contract.problems({**card, "axis": "candidate"}, "delta-scorecard.v1")
    assert contract.problems({**card, "axis": "context"}, "delta-scorecard.v1")
    del card["skill_on_run_id"]
    assert contract.problems(card, "delta-scorecard.v1")
