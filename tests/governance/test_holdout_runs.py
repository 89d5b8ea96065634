"""Private holdouts that ran on the same candidate: counted by when they ended, never named."""

import json

from evalstats.governance.holdout_runs import NEVER, regressed_holdouts


def hidden(repository, run_id, answers, **changes):
    repository.write("hidden", visibility="private_holdout", id="hidden-suite")
    repository.answer(answers, "hidden")
    record = repository.run(run_id, folder="hidden", role="evaluator")
    path = repository.data / f"private/runs/{run_id}/record.json"
    path.write_text(json.dumps({**record, **changes}))
    return path


def told(repository, **changes):
    run = repository.places().run("r1")
    run.record.update(changes)
    return regressed_holdouts(repository.data, run)


def test_only_holdouts_that_regressed_count(ran):
    assert told(ran) == []
    hidden(ran, "h1", "first second third")
    assert told(ran) == []
    hidden(ran, "h2", "first second", completed_at="2026-07-01T00:00:00.000Z")
    assert told(ran) == ["2026-07-01T00:00:00.000Z"]


def test_a_holdout_is_held_against_its_own_baseline(ran):
    """It lost a case, but so had its baseline; when it loses another, it has regressed."""
    path = hidden(ran, "h1", "first third")
    shelf = ran.root / "evals/hidden/baselines"
    shelf.mkdir()
    baseline = json.loads(path.read_text())
    (shelf / "hidden-suite.baseline.json").write_text(json.dumps({**baseline, "run_id": "before"}))
    assert told(ran) == []
    hidden(ran, "h2", "third", status="pass")  # passes, but lower than its baseline
    assert len(told(ran)) == 1


def test_another_commit_is_another_candidate_and_an_unknown_one_may_be_the_same(ran):
    git = {"candidate_sha": "a" * 40}
    hidden(ran, "h1", "none", git=git)
    assert len(told(ran, git=git)) == 1
    assert told(ran, git={"candidate_sha": "b" * 40}) == []
    assert len(told(ran, git={})) == 1


def test_what_cannot_be_read_cannot_be_ruled_out(ran):
    path = hidden(ran, "h1", "first second third")
    record = json.loads(path.read_text())
    record.pop("completed_at")
    path.write_text(json.dumps({**record, "status": "perhaps"}))
    assert told(ran) == [NEVER]
    path.write_text("{")  # not even whose record it is
    assert told(ran) == []
