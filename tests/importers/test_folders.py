"""Imported runs in their folders: all or nothing, once, completed after a kill, one import at a time."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evalstats import contract, importers, journal, store
from evalstats.contract import Outcome
from evalstats.errors import JournalError, LogError
from evalstats.importers import folders


def recorded(data):
    return {
        (t.case_id, t.trial_index): (t.outcome, t.score, t.attempt)
        for folder in sorted((data / "runs").iterdir())
        for t in journal.read_trials(folder)
    }


def test_a_run_folder_as_the_runner_leaves_them(sample, pour, tmp_path):
    path = sample("inspect-json")
    assert pour(path) == 4
    (folder,) = (tmp_path / "data/runs").iterdir()
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*")) == [
        "journal", "journal/import-0001.jsonl", "manifest.json",
    ]  # fmt: skip
    manifest = journal.read_manifest(folder)
    contract.validate(manifest, "import-manifest.v1")
    assert manifest["case_hashes"].keys() == {"a", "b"} and manifest["trials_per_case"] == 2
    (file,) = manifest["imported"]["files"]
    assert (file["path"], file["bytes"], file["sha256"]) == (str(path), path.stat().st_size, file["identity"])
    assert manifest["imported"]["created_at"] == "2026-01-02T03:04:05-04:00"


def test_what_a_log_may_hold_does_not_break_the_manifest(sample, pour):
    spec = {
        "task": "\ud800",
        "revision": {"x": float("nan")},
        "task_version": 2**70,
        "scorers": [{"o": float("inf")}],
    }
    assert pour(sample("inspect-json", spec=spec)) == 4


def test_the_store_keeps_where_each_row_came_from(sample, pour, tmp_path):
    path = sample("junit")
    pour(path)
    data = tmp_path / "data"
    assert store.ingest(data / "s.duckdb", data / "runs").trials_added == 6
    with store.open(data / "s.duckdb") as opened:
        frame = opened.trials("pytest")
    assert set(frame["source_path"]) == {str(path)} and set(frame["utc_offset"].dropna()) == set()
    assert (
        list(frame["source_locator"])[:1] == ["testcase 1"] and frame["source_sha256"].str.len().eq(64).all()
    )


def test_importing_again_and_dry_runs_add_nothing(sample, pour, tmp_path):
    path = sample("promptfoo")
    assert pour(path, write=False) == 4 and not (tmp_path / "data").exists()
    assert [pour(path), pour(path), pour(path, write=False)] == [4, 0, 0]
    assert pour(path.rename(path.with_name("moved.json"))) == 0


def test_a_failed_import_leaves_nothing_behind(sample, pour, tmp_path):
    good, bad = sample("inspect-json", folder="a"), sample("table", folder="b", text="case,score\na,1\nb\n")
    with pytest.raises(LogError):
        pour(good, bad)
    assert not (tmp_path / "data").exists()
    pour(good)
    before = sorted((tmp_path / "data").rglob("*"))
    with pytest.raises(LogError):
        pour(good, bad)
    assert sorted((tmp_path / "data").rglob("*")) == before


def test_a_disk_that_refuses_is_one_line(sample, tmp_path):
    (tmp_path / "data").write_text("a file")
    reading = importers.read([sample("table")])
    with pytest.raises(JournalError, match="cannot be written"):
        importers.pour(reading, tmp_path / "data")


# --- what was recorded and is told again ----------------------------------------------------------

LOST, FOUND, OTHER = (
    f"run,case,trial,score,status\nr,a,1,{score},{status}\n"
    for score, status in (("", "error"), ("1", "ok"), ("0", "ok"))
)


def test_what_was_lost_and_was_tried_again(sample, pour, tmp_path):
    lost, found = sample("table", folder="1", text=LOST), sample("table", folder="2", text=FOUND)
    assert [pour(lost), pour(found), pour(lost), pour(found)] == [1, 1, 0, 0]
    data = tmp_path / "data"
    assert recorded(data) == {("a", 1): (Outcome.OK, 1.0, 2)}
    store.ingest(data / "s.duckdb", data / "runs")
    with store.open(data / "s.duckdb") as opened:
        assert list(opened.trials("scores")["score"]) == [1.0]


def test_the_store_takes_the_later_attempt_whenever_it_comes(sample, pour, tmp_path):
    data = tmp_path / "data"
    for text in (LOST, FOUND):
        pour(sample("table", text=text))
        report = store.ingest(data / "s.duckdb", data / "runs")
    assert report.trials_added == 1
    with store.open(data / "s.duckdb") as opened:
        frame = opened.trials("scores")
    assert list(frame["attempt"]) == [2] and list(frame["outcome"]) == ["ok"]
    store.rebuild(data / "again.duckdb", data / "runs")
    prints = []
    for name in ("s", "again"):
        with store.open(data / f"{name}.duckdb") as opened:
            prints.append(store.fingerprint(opened)["trials"])
    assert prints[0] == prints[1] and store.check(data / "s.duckdb", data / "runs") == []


def test_a_contradiction_names_both_places_and_the_way_out(sample, pour, tmp_path):
    found, other = sample("table", folder="1", text=FOUND), sample("table", folder="2", text=OTHER)
    pour(found)
    with pytest.raises(LogError) as caught:
        pour(other)
    assert (
        str(found) in str(caught.value)
        and str(other) in str(caught.value)
        and "--on-conflict" in str(caught.value)
    )
    assert pour(other, on_conflict="first") == 0 and recorded(tmp_path / "data")["a", 1][1] == 1.0
    assert pour(other, on_conflict="last") == 1 and recorded(tmp_path / "data")["a", 1] == (
        Outcome.OK,
        0.0,
        2,
    )
    assert pour(found, on_conflict="last") == 1 and recorded(tmp_path / "data")["a", 1] == (
        Outcome.OK,
        1.0,
        3,
    )


def test_a_run_is_not_there_as_something_else(sample, pour, tmp_path):
    pour(sample("journal"))
    manifest = next((tmp_path / "data/runs").glob("*/manifest.json"))
    manifest.write_text(manifest.read_text().replace('"skill-on"', '"skill-off"'))
    with pytest.raises(LogError, match="as arm skill-off of suite door"):
        pour(sample("journal"))


# --- kills and crowds -----------------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
from evalstats import importers
reading = importers.read([Path(sys.argv[1])], data=Path(sys.argv[2]))
print("ready", flush=True)
importers.pour(reading, Path(sys.argv[2]))
"""


def many_runs(path, runs=25, cases=40):
    rows = [f"r{r},c{c},1,{(r + c) % 2}" for r in range(runs) for c in range(cases)]
    path.write_text("run,case,trial,score\n" + "\n".join(rows) + "\n")
    return runs * cases


@pytest.mark.parametrize("delay", [0.0, 0.15, 0.3])
def test_a_killed_import_is_completed_by_the_next(delay, pour, tmp_path):
    path, data = tmp_path / "many.csv", tmp_path / "data"
    expected = many_runs(path)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, path, data], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    if (data / "runs").is_dir():
        found = store.ingest(tmp_path / "half.duckdb", data / "runs")  # whatever is there can be read
        assert found.trials_added <= expected and found.torn == ()
    pour(path)
    assert (
        len(
            {
                (f, *k)
                for f in (data / "runs").iterdir()
                for k in [(t.case_id,) for t in journal.read_trials(f)]
            }
        )
        == expected
    )
    assert not list((data / "runs").glob(".import-*")) and pour(path) == 0


def test_two_imports_at_once_take_turns(sample, tmp_path):
    data, done = tmp_path / "data", []
    paths = [
        sample("inspect-json", folder="1"),
        sample("inspect-eval", folder="2"),
        sample("junit", folder="3"),
    ]

    def work(path):
        done.append(sum(importers.pour(importers.read([path], data=data), data).values()))

    threads = [threading.Thread(target=work, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 4, 6] or sorted(done) == [0, 4, 6][::-1]


def test_an_import_does_not_wait_for_ever(sample, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "WAIT_SECONDS", 0.1)
    (tmp_path / "data/runs").mkdir(parents=True)
    with (
        folders._alone(tmp_path / "data/runs"),
        pytest.raises(JournalError, match="another import is at work"),
    ):
        importers.pour(importers.read([sample("table")]), tmp_path / "data")


def test_cases_beyond_a_hundred_thousand_are_counted_and_not_listed(pour, sample, monkeypatch, tmp_path):
    from evalstats.importers import found

    listed = {}
    for limit in (2, 100):
        monkeypatch.setattr(found, "LISTED", limit)
        rows = "".join(f"c{i},1\n" for i in (range(9) if limit == 2 else reversed(range(9))))
        assert (
            pour(sample("table", folder=str(limit), text=f"case,score\n{rows}"), data=tmp_path / str(limit))
            == 9
        )
        (manifest,) = (tmp_path / str(limit) / "runs").glob("*/manifest.json")
        listed[limit] = json.loads(manifest.read_text())
    assert (len(listed[2]["cases"]), len(listed[100]["cases"])) == (0, 9)
    assert listed[2]["suite"]["hashes"]["scoring"] != listed[100]["suite"]["hashes"]["scoring"]


def test_lines_are_held_for_all_runs_together_and_journals_are_bounded(pour, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_HELD", 7)
    path = tmp_path / "many.csv"
    expected = many_runs(path, runs=2, cases=20)
    assert pour(path) == expected == len(recorded(tmp_path / "data")) * 2
    journals = [len(list((folder / "journal").iterdir())) for folder in (tmp_path / "data/runs").iterdir()]
    assert journals == [3, 3] and pour(path) == 0
