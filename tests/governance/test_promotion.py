"""Promotions of real runs: what is written, what is refused, and what the chain then tells."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalstats import contract
from evalstats.errors import UsageError
from evalstats.governance import baselines, reviews
from evalstats.governance.captures import capture
from evalstats.governance.promotion import PromotionRefused, Request, promote
from evalstats.governance.provenance import broken, origin
from evalstats.governance.refusals import Reason, Standing
from evalstats.governance.reviews import LookedAt, Opinion, Outcome
from evalstats.suite import load

REQUEST = Request(rationale=" first measured run ", promoter="ada")


def reasons(run_id, places, request=REQUEST):
    with pytest.raises(PromotionRefused) as refused:
        promote(run_id, request, places)
    assert len(refused.value.lines()) == 1 + len(refused.value.refusals)
    return {refusal.reason for refusal in refused.value.refusals}


def accept(repository, run_id):
    opinion = Opinion(reviewer="bob", outcome=Outcome.ACCEPTED, looked_at=[LookedAt.HOLDOUTS], notes="secret")
    reviews.review(repository.places().run(run_id), opinion, repository.data)


def test_a_promotion_holds_all_that_it_stands_on(ran):
    record = json.loads((ran.data / "runs/r1/record.json").read_text())
    accept(ran, "r1")
    entry = promote("r1", REQUEST, ran.places())
    folder, runs = ran.root / "evals/tiny/baselines", ran.data / "runs/r1"
    [line] = (folder / "promotions.jsonl").read_bytes().splitlines()
    assert json.loads(line) == entry
    contract.validate(entry, "baseline-promotion.v1")
    assert entry["rationale"] == "first measured run"
    assert (entry["run_id"], entry["promoter"]) == ("r1", "ada")
    assert entry["baseline_path"] == "evals/tiny/baselines/tiny.baseline.json"
    assert (entry["replaced"], entry["comparison"], entry["previous"]) == (None, None, None)
    assert entry["conditions"] == {
        "repeat_count": 2, "variance_notes": None, "skipped_cases": [], "standing": "advisory",
    }  # fmt: skip
    assert (entry["n_trials"], entry["hashes"]["suite"]) == (6, record["suite"]["hashes"])
    for name, path in (("record", runs / "record.json"), ("manifest", runs / "manifest.json")):
        assert entry["hashes"][name] == contract.digest(path.read_bytes())
    promoted = baselines.read(folder / "tiny.baseline.json")
    assert entry["hashes"]["baseline"] == promoted.sha256
    assert promoted.record["baseline"]["promoted_by"] == "ada"
    assert [r["reviewer"] for r in entry["reviews"]] == ["bob"]
    assert "secret" not in line.decode()


def test_promotions_follow_one_another(ran):
    for run_id in ("r1", "r2"):
        entry = promote(run_id, REQUEST, ran.places())
    first, _ = (ran.root / "evals/tiny/baselines/promotions.jsonl").read_bytes().splitlines()
    assert entry["previous"] == contract.digest(first)
    assert entry["replaced"] == {"run_id": "r1", "sha256": json.loads(first)["hashes"]["baseline"]}
    assert entry["comparison"] == {"verdict": "pass", "aggregate_delta": 0.0}
    assert reasons("r2", ran.places()) == {Reason.ALREADY_PROMOTED}


def test_everything_at_once(ran):
    promote("r1", REQUEST, ran.places())
    ran.answer("nothing")
    ran.run("r4")
    for path in (ran.data / "artifacts").rglob("*.zst"):
        path.unlink()
    ran.write(baseline_policy={"mode": "none"}, scoring=changed_scoring())
    assert reasons("r4", ran.places(), Request(rationale=" ", promoter="", standing=Standing.BLOCKING)) == {
        Reason.CRITICAL_CANARY_FAILED,
        Reason.SAFETY_REGRESSED,
        Reason.RUNTIME_COMPATIBILITY_REGRESSED,
        Reason.ARTIFACTS_MISSING,
        Reason.RATIONALE_EMPTY,
        Reason.PROMOTER_UNNAMED,
        Reason.SUITE_CHANGED,
        Reason.POLICY_WITHOUT_BASELINE,
        Reason.CANARY_NOT_PERFECT,
    }  # fmt: skip


def changed_scoring():
    names = ("correctness", "safety", "runtime_compatibility")
    return {
        "aggregate_threshold": 0.1,
        "dimensions": [{"name": n, "weight": 1, "threshold": 0} for n in names],
    }


def test_a_refusal_leaves_nothing_behind(repository):
    repository.answer("first second")
    repository.run("r1")
    before = sorted(repository.root.rglob("*"))
    assert reasons("r1", repository.places()) == {Reason.CRITICAL_CANARY_FAILED}
    assert sorted(repository.root.rglob("*")) == before


def test_a_safety_regression_alone_is_refused(ran):
    promote("r1", REQUEST, ran.places())
    ran.answer("second third")
    ran.run("r4")
    assert reasons("r4", ran.places()) == {Reason.SAFETY_REGRESSED}


def test_a_mock_run_and_an_edited_record_are_refused(ran):
    path = ran.data / "runs/r1/record.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "is_mock": True}))
    assert reasons("r1", ran.places()) == {Reason.MOCK_RUN}
    path.write_text(json.dumps({**record, "aggregate_score": 0.123}))
    assert reasons("r1", ran.places()) == {Reason.RECORD_ALTERED}


def test_a_run_of_some_cases_and_a_lost_run_folder_are_refused(repository):
    repository.run("r1", case_ids=("first", "third"))
    assert reasons("r1", repository.places()) == {Reason.CASES_MISSING}
    repository.run("r2")
    capture(repository.places().run("r2"), repository.data)
    (repository.data / "runs/r2").rename(repository.root / "gone")
    assert reasons("r2", repository.places()) == {Reason.ARTIFACTS_MISSING}


def test_a_live_suite_needs_its_conditions(repository):
    repository.write(tier="live", trials={"per_case": 3})
    repository.run("lone", trials=1)
    assert reasons("lone", repository.places()) == {
        Reason.ONE_TRIAL,
        Reason.VARIANCE_NOTES_ABSENT,
        Reason.SKIPPED_CASES_ABSENT,
        Reason.STANDING_ABSENT,
    }
    repository.run("r1", trials=3)
    asked = {"variance_notes": "SD .02", "skipped_cases": (), "standing": Standing.BLOCKING}
    full = Request(rationale="x", promoter="ada", **asked)
    assert reasons("r1", repository.places(), full) == {Reason.BLOCKING_UNRATCHETED}
    advisory = Request(rationale="x", promoter="ada", **{**asked, "standing": Standing.ADVISORY})
    entry = promote("r1", advisory, repository.places())
    assert entry["conditions"] == {
        "repeat_count": 3, "variance_notes": "SD .02", "skipped_cases": [], "standing": "advisory",
    }  # fmt: skip


def test_a_regressed_holdout_stops_a_promotion_until_it_is_reviewed(ran):
    ran.write("hidden", visibility="private_holdout", id="hidden-suite")
    ran.answer("first second", "hidden")
    ran.run("h1", folder="hidden", role="evaluator")
    with pytest.raises(PromotionRefused) as refused:
        promote("r1", REQUEST, ran.places())
    assert [r.reason for r in refused.value.refusals] == [Reason.HOLDOUT_UNREVIEWED]
    assert "hidden" not in str(refused.value.lines())
    assert "h1" not in str(refused.value.lines())
    accept(ran, "r1")
    assert promote("r1", REQUEST, ran.places())["run_id"] == "r1"


def test_a_holdout_that_regressed_after_the_review_needs_another(ran):
    accept(ran, "r1")
    ran.write("hidden", visibility="private_holdout", id="hidden-suite")
    ran.answer("none", "hidden")
    ran.run("h1", folder="hidden", role="evaluator")
    assert reasons("r1", ran.places()) == {Reason.HOLDOUT_UNREVIEWED}


def test_a_rejected_run_is_refused(ran):
    opinion = Opinion(reviewer="bob", outcome=Outcome.REJECTED, looked_at=[LookedAt.CASES])
    reviews.review(ran.places().run("r1"), opinion, ran.data)
    assert reasons("r1", ran.places()) == {Reason.REVIEW_REJECTED}


def test_the_baseline_of_a_private_suite_stays_beside_it_for_its_owner(repository):
    repository.write(visibility="private_holdout")
    repository.run("r1", role="evaluator")
    places = {"role": "evaluator", "baselines": repository.root / "flat"}
    with pytest.raises(UsageError, match="stays beside its suite"):
        promote("r1", REQUEST, repository.places(**places))
    promote("r1", REQUEST, repository.places(role="evaluator"))
    folder = repository.root / "evals/tiny/baselines"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_two_at_once_make_one_chain(ran):

    def attempt(run_id):
        return promote(run_id, REQUEST, ran.places())["run_id"]

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, ["r1", "r2"])) == ["r1", "r2"]
    found = origin(load(ran.root / "evals/tiny"))
    assert (broken([found]), found.problems) == ([], ())
