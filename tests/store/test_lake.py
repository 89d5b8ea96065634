from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from evalstats import store
from evalstats.contract import Arm
from evalstats.errors import StoreError


@pytest.fixture
def opened(path: Path, runs: Any) -> Any:
    runs.add("007")  # partition keys are text, whatever they look like
    trials = [runs.trial("day:1", "c1", i, arm=Arm.SKILL_OFF, score=i / 7, passed=False) for i in (1, 2, 3)]
    runs.add("day:1", trials, arm="skill-off")
    runs.add("s1", [runs.trial("s1", "c1", 1, suite_id="side")], suite={"id": "side"})
    runs.add("empty", [])
    store.ingest(path, runs.folder)
    with store.open(path, read_only=True) as answered:
        yield answered


def answers(opened: store.Store, suite_id: str) -> dict[str, pd.DataFrame]:
    return {
        "runs": opened.runs(suite_id),
        "case_runs": opened.case_runs(suite_id),
        "of a run": opened.case_runs(suite_id, run_ids=opened.runs(suite_id)["run_id"].tolist()[:1]),
        "trials": opened.trials(suite_id),
        "expectation_rates": opened.expectation_rates(suite_id),
        "outcomes": opened.outcomes(suite_id),
        "case_trials": opened.case_trials(opened.runs(suite_id)["run_id"].iloc[0], "c1"),
    }


def assert_same_answers(one: store.Store, other: store.Store, suite_id: str) -> None:
    theirs = answers(other, suite_id)
    for name, frame in answers(one, suite_id).items():
        pd.testing.assert_frame_equal(frame, theirs[name], check_exact=True)


def test_a_lake_answers_as_the_database_does(opened: Any, tmp_path: Path) -> None:
    folder = tmp_path / "la[k]e's *"
    store.export_parquet(opened, folder)
    assert (folder / "trials/suite_id=demo/run_id=day%3A1/arm=skill-off").is_dir()
    with store.open(folder) as lake:
        assert lake.suites() == ["demo", "side"]
        for suite_id in ("demo", "side"):
            assert_same_answers(opened, lake, suite_id)


def test_an_empty_store_makes_an_empty_lake(tmp_path: Path) -> None:
    with store.open(tmp_path / "s.duckdb") as empty:
        store.export_parquet(empty, tmp_path / "lake")
    with store.open(tmp_path / "lake") as lake:
        assert lake.suites() == []
        assert lake.runs().empty


def test_a_second_export_replaces_its_runs_and_keeps_the_others(
    opened: Any, tmp_path: Path, runs: Any
) -> None:
    folder = tmp_path / "lake"
    store.export_parquet(opened, folder)
    store.export_parquet(opened, folder)
    other = tmp_path / "other"
    (other / "runs").mkdir(parents=True)
    elsewhere = type(runs)(other / "runs", runs.artifacts)
    elsewhere.add("elsewhere", [runs.trial("elsewhere", "c1", 1)])
    store.ingest(other / "s.duckdb", other / "runs")
    with store.open(other / "s.duckdb") as second:
        store.export_parquet(second, folder)
    with store.open(folder) as lake:
        assert lake.runs()["run_id"].tolist() == ["007", "day:1", "elsewhere", "empty", "s1"]
        assert lake.runs()["n_trials"].tolist() == [12, 3, 1, 0, 1]
    assert not list(folder.glob(".export*"))


def test_a_run_that_grew_is_exported_anew(path: Path, runs: Any, tmp_path: Path) -> None:
    for index in (1, 2):
        runs.add("r1", [runs.trial("r1", "c1", index)])
        store.ingest(path, runs.folder)
        with store.open(path) as opened:
            store.export_parquet(opened, tmp_path / "lake")
    with store.open(tmp_path / "lake") as lake:
        assert lake.trials("demo")["trial_index"].tolist() == [1, 2]


def test_a_snapshot_holds_one_suite_and_its_runs(opened: Any, tmp_path: Path) -> None:
    store.snapshot(opened, tmp_path / "all", "demo")
    store.snapshot(opened, tmp_path / "one", "demo", ["007"])
    with store.open(tmp_path / "all") as lake:
        assert lake.suites() == ["demo"]
        assert_same_answers(opened, lake, "demo")
        store.snapshot(lake, tmp_path / "again", "demo")  # a lake can be frozen too
    with store.open(tmp_path / "again") as lake:
        assert_same_answers(opened, lake, "demo")
    with store.open(tmp_path / "one") as lake:
        assert lake.trials("demo")["run_id"].unique().tolist() == ["007"]
        pd.testing.assert_frame_equal(lake.case_runs("demo"), opened.case_runs("demo", run_ids=["007"]))
    text = b"".join(file.read_bytes() for file in (tmp_path / "all").glob("**/*.parquet"))
    assert b"candidate_ref" not in text  # manifests stay at home


def test_a_snapshot_is_written_once_and_of_a_known_suite(opened: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unknown suite"):
        store.snapshot(opened, tmp_path / "snap", "dmo")
    with pytest.raises(StoreError, match="unknown run"):
        store.snapshot(opened, tmp_path / "snap", "demo", ["s1"])
    assert not (tmp_path / "snap").exists()
    store.snapshot(opened, tmp_path / "snap", "demo")
    with pytest.raises(StoreError, match="is there already"):
        store.snapshot(opened, tmp_path / "snap", "demo")


def test_a_lake_reaches_nothing_but_its_folder(opened: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1]})  # found by a replacement scan, were it allowed
    store.export_parquet(opened, tmp_path / "lake")
    with store.open(tmp_path / "lake") as lake:
        for attack in (
            "SELECT * FROM read_text('/etc/hostname')",
            f"COPY runs TO '{tmp_path}/out.csv'",
            f"ATTACH '{tmp_path}/x.duckdb' AS x",
            "SET allowed_directories = ['/']",
            "SET threads = 1",
            "SELECT * FROM frame",
        ):
            with pytest.raises(duckdb.Error):
                lake.connection.execute(attack)
    assert len(frame) == 1


def test_a_folder_that_is_no_lake_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"without a lake\.json of evalstats"):
        store.open(tmp_path)
    (tmp_path / "lake.json").write_text('{"format": "evalstats-lake.v1", "migrations": ["0999_later"]}')
    with pytest.raises(StoreError, match="newer evalstats"):
        store.open(tmp_path)


def test_a_damaged_lake_is_named(opened: Any, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    store.export_parquet(opened, folder)
    for file in (folder / "trials").glob("**/*.parquet"):
        file.write_bytes(b"PAR1 no more")
    with pytest.raises(StoreError) as caught, store.open(folder) as lake:
        lake.trials("demo")
    assert len(str(caught.value).splitlines()) == 1


def test_nothing_is_ingested_into_a_lake(opened: Any, tmp_path: Path, runs: Any) -> None:
    store.export_parquet(opened, tmp_path / "lake")
    with pytest.raises(StoreError, match="read only"):
        store.ingest(tmp_path / "lake", runs.folder)
