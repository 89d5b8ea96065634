"""Our own journals and lakes: a run stays what it is, id, manifest, attempts, provenance and all."""

import json

import pytest

from evalstats import journal, store
from evalstats.contract import Arm, ExpectationType, Outcome, Status
from evalstats.errors import LogError
from evalstats.trials import ExpectationResult

MANIFEST = {
    "run_id": "run-1", "group_id": "pair-1", "arm": "skill-on", "axis": "skill", "mode": "both", "seed": 7,
    "suite": {"id": "door", "visibility": "public_canary", "tier": "live", "sha256": "ab" * 32,
              "hashes": {"canonical": "cd" * 32, "scoring": "ef" * 32, "policy": "01" * 32}},
    "cases": ["a", "b"], "case_hashes": {"a": "aa" * 32, "b": "bb" * 32}, "trials_per_case": 2,
    "runtime": {"name": "claude"}, "model": "lab/model", "judge_model": "lab/judge", "registry_version": "r1",
    "cli_version": "c1", "judge_rubric_sha256": "12" * 32, "is_mock": False, "created_at": "2026-01-01T00:00:00.000Z",
}  # fmt: skip


@pytest.fixture
def folder(sample, make):
    """Return a run folder with a trial of every kind."""
    lost = {
        "status": Status.ERROR,
        "outcome": Outcome.INFRASTRUCTURE,
        "reason": "gone",
        "score": None,
        "passed": None,
    }
    check = ExpectationResult(index=0, type=ExpectationType.REGEX, required=False, passed=None, detail="?")
    trials = [
        make.trial(expectations=(check,), isolation="bwrap", leftover_processes=0, cited_cards=("k",), cost=0.5),
        make.trial(index=2, **lost), make.trial(index=2, attempt=2, score=0.5, passed=False, status=Status.FAIL),
        make.trial("b", utc_offset="-04:00", source_path="old.json", source_sha256="34" * 32, source_locator="line 9"),
        make.trial("b", 2, started_at=None),
    ]  # fmt: skip
    path = sample("journal", trials=trials)
    (path.parents[1] / "manifest.json").write_text(json.dumps(MANIFEST))
    return path.parents[1]


def stored(data, name):
    store.ingest(data / f"{name}.duckdb", data / "runs")
    with store.open(data / f"{name}.duckdb") as opened:
        return store.fingerprint(opened)


def test_a_run_folder_from_elsewhere_is_the_same_run_here(folder, pour, tmp_path):
    there = tmp_path / "there"
    (there / "runs").mkdir(parents=True)
    folder.rename(there / "runs/run-1")
    assert pour(there / "runs/run-1", data=tmp_path / "here") == 4
    expected, found = stored(there, "s"), stored(tmp_path / "here", "s")
    assert {name: found[name] == expected[name] for name in expected if name != "sources"} == dict.fromkeys(
        [name for name in expected if name != "sources"], True
    )
    assert journal.read_manifest(tmp_path / "here/runs/run-1") == MANIFEST
    assert pour(there / "runs/run-1", data=tmp_path / "here") == 0


def test_importing_a_run_into_where_it_is_adds_nothing(folder, pour, tmp_path):
    (tmp_path / "data/runs").mkdir(parents=True)
    moved = folder.rename(tmp_path / "data/runs/run-1")
    assert pour(moved, data=tmp_path / "data") == 0


def test_the_last_attempt_counts_when_reading_and_in_the_store(folder, read):
    trials = {(t.case_id, t.trial_index): t for t in journal.read_trials(folder)}
    assert (trials["a", 2].attempt, trials["a", 2].score) == (2, 0.5) and len(trials) == 4
    reading, found = read(folder / "journal/host-1.jsonl")
    assert [(f.row.attempt, f.supersedes) for f in found] == [
        (1, None), (1, None), (2, Outcome.INFRASTRUCTURE), (1, None), (1, None),
    ]  # fmt: skip
    assert reading.files[0].trials == 4


def test_without_a_manifest_what_trials_know_is_kept(sample, pour, tmp_path, read):
    path = sample("journal")
    reading, found = read(path)
    assert (
        found[0].run.run_id == "run-1"
        and found[0].trial.seed == 7
        and found[0].trial.artifacts == {"stdout": "ab" * 32}
    )
    assert any("no manifest beside it" in note for note in reading.files[0].warnings)
    assert pour(path) == 3
    assert stored(tmp_path / "data", "s")


def test_a_torn_line_needs_leave_and_a_broken_one_is_named(sample, read):
    path = sample("journal")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(LogError, match=r"has no line end.*--allow-truncated"):
        read(path)
    reading, found = read(path, allow_truncated=True)
    assert len(found) == 2 and "line 3 is cut off and was left out" in reading.files[0].warnings
    path.write_bytes(whole.replace(b'"trial_index":2', b'"trial_index":3'))
    with pytest.raises(LogError, match=r":2: /key: the key is not that of its run"):
        read(path)


def test_our_own_runs_keep_suite_and_arm_and_private_ones_stay_at_home(folder, read):
    with pytest.raises(LogError, match="keeps its suite, its arm and its scores"):
        read(folder, arm=Arm.BASELINE)
    private = {**MANIFEST, "suite": {**MANIFEST["suite"], "visibility": "private_holdout"}}
    (folder / "manifest.json").write_text(json.dumps(private))
    with pytest.raises(LogError, match="private suite"):
        read(folder / "journal/host-1.jsonl")
    (folder / "manifest.json").write_text("{")
    with pytest.raises(LogError, match="a manifest that cannot be read"):
        read(folder / "journal/host-1.jsonl")


def test_two_arms_in_one_run_are_refused(sample, read, make):
    path = sample("journal", trials=[make.trial(), make.trial("b", arm=Arm.SKILL_OFF)])
    with pytest.raises(LogError, match=":2: is of another suite or arm"):
        read(path)


def test_a_lake_and_back(folder, pour, read, sample, tmp_path):
    data = tmp_path / "data"
    pour(folder)
    for name in ("junit", "skill-creator", "promptfoo", "table"):
        pour(sample(name))
    expected = stored(data, "s")
    with store.open(data / "s.duckdb") as opened:
        store.export_parquet(opened, tmp_path / "lake")
    assert pour(tmp_path / "lake") == 0  # into where it came from
    assert pour(tmp_path / "lake", data=tmp_path / "again") == 4 + 6 + 4 + 4 + 4
    found = stored(tmp_path / "again", "s")
    same = [name for name in expected if name not in ("sources", "runs")]
    assert {name: found[name] == expected[name] for name in same} == dict.fromkeys(same, True)
    frames = []
    for place in (data, tmp_path / "again"):
        with store.open(place / "s.duckdb") as opened:
            frames.append(opened.runs().sort_values("run_id").reset_index(drop=True))
    assert frames[0].equals(frames[1])


def test_a_file_outside_its_lake_is_refused(folder, pour, read, tmp_path):
    pour(folder)
    stored(tmp_path / "data", "s")
    with store.open(tmp_path / "data/s.duckdb") as opened:
        store.export_parquet(opened, tmp_path / "lake")
    (file,) = (tmp_path / "lake/trials").rglob("*.parquet")
    alone = tmp_path / "alone.parquet"
    alone.write_bytes(file.read_bytes())
    with pytest.raises(LogError, match="lies in no lake"):
        read(alone)
    next((tmp_path / "lake/runs").rglob("*.parquet")).unlink()
    with pytest.raises(LogError, match="is not among the runs of this lake"):
        read(file)
