"""Which run is meant, and what is kept of it: on real runs."""

import json

import pytest

from evalstats.errors import UsageError
from evalstats.governance import baselines
from evalstats.governance.captures import capture, of_run


def test_a_capture_keeps_what_the_run_folder_knows(ran):
    manifest = json.loads((ran.data / "runs/r1/manifest.json").read_text())
    path = capture(ran.places().run("r1"), ran.data)
    assert path == ran.data / "baselines/tiny/r1.baseline.json"
    found = baselines.read(path)
    assert found.case_hashes == manifest["case_hashes"]
    assert found.record["baseline"] == {"mode": "capture"}
    assert [case["score_variance"] for case in found.record["case_results"]] == [0.0, 0.0, 0.0]
    before = path.read_bytes()
    capture(ran.places().run("r1"), ran.data)
    assert path.read_bytes() == before


def test_a_single_trial_has_no_variance(repository):
    repository.run("r1", trials=1)
    assert "score_variance" not in of_run(repository.data / "runs/r1").record["case_results"][0]


def test_a_run_is_found_by_its_id_its_folder_its_file_and_its_capture(ran):
    places = ran.places()
    folder = ran.data / "runs/r1"
    by_id, by_folder, by_file = (
        places.find(name) for name in ("r1", str(folder), str(folder / "record.json"))
    )
    assert by_id == by_folder == by_file
    kept = capture(by_id, ran.data)
    folder.rename(ran.root / "elsewhere")
    assert places.find("r1").record["case_results"] == by_id.record["case_results"]
    assert places.find(str(kept)).run_id == "r1"


def test_a_suite_name_means_its_promoted_baseline(ran):
    places = ran.places()
    with pytest.raises(UsageError, match="suite tiny has no promoted baseline"):
        places.find("tiny")
    baselines.write(ran.root / "evals/tiny/baselines/tiny.baseline.json", places.run("r1").record)
    assert places.find("tiny").run_id == "r1"


@pytest.mark.parametrize("name", ["nobody", "", "..", "*", "a/b", "ü" * 300])
def test_what_is_not_there_is_one_clear_error(repository, name):
    repository.data.mkdir()
    with pytest.raises(UsageError):
        repository.places().find(name)


def test_an_unfinished_run_is_no_run_yet(ran):
    (ran.data / "runs/r1/record.json").unlink()
    with pytest.raises(UsageError, match="--resume"):
        ran.places().run("r1")


def test_the_arms_of_a_pair_are_named(repository):
    repository.run("pair", mode="both")
    with pytest.raises(UsageError, match="pair-skill-off, pair-skill-on"):
        repository.places().find("pair")


def test_a_private_run_is_read_in_the_role_for_it_and_kept_for_its_owner(repository):
    repository.write(visibility="private_holdout")
    repository.run("r1", role="evaluator")
    with pytest.raises(UsageError, match="--role evaluator"):
        repository.places().run("r1")
    path = capture(repository.places(role="evaluator").run("r1"), repository.data)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with pytest.raises(UsageError, match="--role evaluator"):
        repository.places().find(str(path))


def test_the_rules_come_from_the_suite_as_it_is_now(repository):
    repository.run("r1")
    policy = {"mode": "compare", "max_aggregate_regression": 0.25}
    repository.write(baseline_policy=policy)
    run = repository.places().run("r1")
    assert repository.places().rules(run).aggregate_tolerance == 0.25
    nowhere = repository.places(suites=repository.root / "none")
    assert nowhere.rules(run).aggregate_tolerance == 0.25  # from where it lay when it ran
    (repository.root / "evals/tiny/suite.json").unlink()
    assert nowhere.rules(run).weights is None
