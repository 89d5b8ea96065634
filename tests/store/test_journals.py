from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalstats import store
from evalstats.contract import Arm
from evalstats.errors import JournalError, StoreError
from evalstats.journal import encode


def count(path: Path, table: str) -> int:
    with store.open(path, read_only=True) as opened:
        return int(opened.connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def prints(path: Path) -> dict[str, str]:
    with store.open(path, read_only=True) as opened:
        return store.fingerprint(opened)


def append(journal: Path, *trials: Any) -> None:
    with journal.open("ab") as file:
        file.writelines(encode(trial.as_record()) for trial in trials)


def test_ingest_keeps_every_field(path: Path, runs: Any) -> None:
    runs.add("r1")
    report = store.ingest(path, runs.folder)
    counts = {"runs": 1, "left_out": 0, "files": 1, "unchanged": 0, "trials_added": 12, "duplicates": 0}
    assert report == store.IngestReport(**counts, torn=())
    with store.open(path, read_only=True) as opened:
        ask = opened.connection.execute
        assert ask("SELECT count(*), count(score), count(DISTINCT trial_key) FROM trials").fetchall() == [
            (12, 8, 12)
        ]
        first = ask(
            "SELECT * EXCLUDE (trial_key, stdout_sha256) FROM trials WHERE case_id = 'c1' AND trial_index = 1"
        )
        assert [str(v) for v in first.fetchall()[0]] == [
            "r1", "demo", "c1", "A1", "skill-on", "1", "1", str(2**47 + 1), "pass", "ok", "True", "None", "1.0",
            "True", "2026-03-01 12:00:01.500000", "0.25", "0", "None", "None", "None", "None", "None", "None",
            "None", "['card']", "None", "None", "bwrap", "None", "None", "None", *["None"] * 5,
        ]  # fmt: skip
        assert ask("SELECT count(*), count(passed) FROM expectations").fetchall() == [(14, 8)]
        by_dimension = ask(
            "SELECT dimension, count(*), count(score) FROM dimension_scores GROUP BY 1 ORDER BY 1"
        )
        assert by_dimension.fetchall() == [("correctness", 8, 8), ("safety", 8, 0)]
        assert ask("SELECT * FROM cases ORDER BY ALL").fetchall() == [
            ("r1", "c1", "6" * 64),
            ("r1", "c2", "7" * 64),
        ]
        run = ask("SELECT * EXCLUDE (manifest) FROM runs").fetchall()[0]
        assert [str(v) for v in run] == [
            "r1", "g1", "demo", "evals/demo/suite.json", "deterministic", "public_canary", "skill", "skill-on",
            "both", str(2**47 + 1), "2026-03-01 12:00:00.250000", "1" * 64, "2" * 64, "3" * 64, "4" * 64, "r9",
            "0.1.0", "m1", "None", "None", "shell", "False", "6",
        ]  # fmt: skip


def test_ingest_twice_adds_nothing(path: Path, runs: Any) -> None:
    runs.add("r1")
    store.ingest(path, runs.folder)
    before = prints(path)
    report = store.ingest(path, runs.folder)
    assert report == store.IngestReport(
        runs=1, left_out=0, files=0, unchanged=1, trials_added=0, duplicates=0, torn=()
    )
    assert prints(path) == before


def test_a_trial_recorded_in_two_journals_counts_once(path: Path, runs: Any) -> None:
    runs.add("r1", [runs.trial("r1", "c1", 1), runs.trial("r1", "c1", 1, score=0.5)])
    runs.add("r1", [runs.trial("r1", "c1", 1, score=0.25), runs.trial("r1", "c1", 2)], name="host-2-2")
    report = store.ingest(path, runs.folder)
    assert (report.files, report.trials_added, report.duplicates) == (2, 2, 2)
    with store.open(path) as opened:
        assert opened.trials("demo")["score"].tolist() == [1.0, 1.0]
        assert len(opened.connection.execute("FROM expectations").fetchall()) == 4


def test_a_grown_journal_is_read_on(path: Path, runs: Any) -> None:
    journal = runs.add("r1", [runs.trial("r1", "c1", 1)])
    store.ingest(path, runs.folder)
    append(journal, runs.trial("r1", "c1", 2), runs.trial("r1", "c1", 3))
    report = store.ingest(path, runs.folder)
    assert (report.files, report.trials_added, report.duplicates) == (1, 2, 0)
    assert count(path, "sources") == 1


def test_a_rewritten_journal_is_read_from_the_start(path: Path, runs: Any) -> None:
    journal = runs.add("r1", [runs.trial("r1", "c1", 1), runs.trial("r1", "c1", 2)])
    store.ingest(path, runs.folder)
    journal.write_bytes(b"")
    append(journal, runs.trial("r1", "c1", 2), runs.trial("r1", "c1", 3), runs.trial("r1", "c1", 4))
    report = store.ingest(path, runs.folder)
    assert (report.trials_added, report.duplicates) == (2, 1)


def test_a_torn_tail_is_named_and_its_trial_read_later(path: Path, runs: Any) -> None:
    journal = runs.add("r1", [runs.trial("r1", "c1", 1)])
    line = encode(runs.trial("r1", "c1", 2).as_record())
    with journal.open("ab") as file:
        file.write(line[:-1])  # whole but for its newline: still torn
    for added in (1, 0):
        report = store.ingest(path, runs.folder)
        assert (report.trials_added, report.torn) == (added, ("r1/journal/host-1-1.jsonl",))
    with journal.open("ab") as file:
        file.write(b"\n")
    report = store.ingest(path, runs.folder)
    assert (report.trials_added, report.torn) == (1, ())


def test_a_bad_line_leaves_its_whole_journal_out_and_the_others_in(path: Path, runs: Any) -> None:
    journal = runs.add("r1", [runs.trial("r1", "c1", 1)])
    with journal.open("ab") as file:
        file.write(b'{"kind": "tri\n')
    append(journal, runs.trial("r1", "c1", 2))
    runs.add("r2", [runs.trial("r2", "c1", 1)])
    with pytest.raises(JournalError, match=r"host-1-1\.jsonl:2: is not JSON") as caught:
        store.ingest(path, runs.folder)
    assert caught.value.line == 2
    with store.open(path) as opened:
        assert opened.trials("demo")["run_id"].tolist() == ["r2"]
        assert opened.connection.execute("SELECT path FROM sources").fetchall() == [
            ("r2/journal/host-1-1.jsonl",)
        ]


def test_a_bad_line_takes_back_the_batches_before_it(
    path: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalstats.store.journal_files.BATCH", 2)
    journal = runs.add("r1")
    store.ingest(path, runs.folder)
    before = prints(path)
    append(journal, *(runs.trial("r1", "c1", index) for index in range(7, 12)))
    with journal.open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(JournalError, match=r"host-1-1\.jsonl:18: "):
        store.ingest(path, runs.folder)
    assert prints(path) == before


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("/run_id", {"run_id": "r2"}),
        ("/suite_id", {"suite_id": "other"}),
        ("/arm", {"arm": Arm.SKILL_OFF}),
        ("/started_at", {"started_at": "2026-13-01T00:00:00Z"}),
    ],
)
def test_a_trial_that_contradicts_its_run_is_refused(
    field: str, changes: dict[str, Any], path: Path, runs: Any
) -> None:
    trial = runs.trial(**{"run_id": "r1", "case_id": "c1", "index": 2, **changes})
    runs.add("r1", [runs.trial("r1", "c1", 1), trial])
    with pytest.raises(JournalError) as caught:
        store.ingest(path, runs.folder)
    assert (caught.value.line, caught.value.field) == (2, field)
    assert count(path, "trials") == 0


def test_a_key_that_is_not_the_trials_own_is_refused(path: Path, runs: Any) -> None:
    record = runs.trial("r1", "c1", 1).as_record()
    journal = runs.add("r1", [])
    journal.write_bytes(encode({**record, "key": "0" * 64}))
    with pytest.raises(JournalError, match="/key"):
        store.ingest(path, runs.folder)


def test_any_text_can_be_ingested(path: Path, runs: Any) -> None:
    odd = runs.trial("r1", "c1", 1, stop_reason="a\ud800b", cited_cards=("\udfff",), reason="nul \0 here")
    runs.add("r1", [odd])
    store.ingest(path, runs.folder)
    with store.open(path) as opened:
        row = opened.connection.execute("SELECT stop_reason, cited_cards, reason FROM trials").fetchall()
    assert row == [("a?b", ["?"], "nul \0 here")]


def test_two_folders_of_one_run_are_refused(path: Path, runs: Any) -> None:
    runs.add("r1")
    shutil.copytree(runs.folder / "r1", runs.folder / "r1-copy")
    with pytest.raises(JournalError, match=r"r1-copy/manifest\.json: /run_id: is the run of r1 too"):
        store.ingest(path, runs.folder)
    assert count(path, "trials") == 12


def test_a_changed_manifest_takes_the_place_of_the_old(path: Path, runs: Any) -> None:
    runs.add("r1")
    store.ingest(path, runs.folder)
    runs.add("r1", [], model="m2", case_hashes={"c9": "9" * 64})
    store.ingest(path, runs.folder)
    with store.open(path) as opened:
        assert opened.runs()["model"].tolist() == ["m2"]
        assert opened.connection.execute("SELECT case_id FROM cases").fetchall() == [("c9",)]


def test_a_run_without_trials_yet_is_known(path: Path, runs: Any) -> None:
    runs.add("r1", []).unlink()
    (runs.folder / "notes").mkdir()  # no run
    store.ingest(path, runs.folder)
    with store.open(path) as opened:
        assert opened.runs()[["run_id", "n_trials"]].to_numpy().tolist() == [["r1", 0]]
        assert opened.case_runs("demo").empty


def test_no_folder_of_runs_is_an_error_and_makes_no_store(path: Path, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no folder of runs"):
        store.ingest(path, tmp_path / "nowhere")
    assert not path.exists()


def test_batches_do_not_show(path: Path, runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.add("r1")
    store.ingest(path, runs.folder)
    monkeypatch.setattr("evalstats.store.journal_files.BATCH", 5)
    other = path.with_name("other.duckdb")
    store.ingest(other, runs.folder)
    assert prints(other) == prints(path)


INGEST = "import sys; from pathlib import Path; from evalstats import store; print('go', flush=True);"
INGEST += "store.ingest(Path(sys.argv[1]), Path(sys.argv[2]))"


def start_ingest(path: Path, runs: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", INGEST, str(path), str(runs.folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.stdout.close()
    return process


def test_killed_ingests_lose_nothing_and_double_nothing(path: Path, runs: Any) -> None:
    for number in range(12):
        run_id = f"r{number:02}"
        runs.add(run_id, [runs.trial(run_id, f"c{case}", 1) for case in range(100)])
    killed = 0
    for delay in (0.01, 0.2, 0.3):  # while the file is made, and in the middle of the journals
        process = start_ingest(path, runs)
        time.sleep(delay)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
    assert killed > 0
    store.ingest(path, runs.folder)
    whole = path.with_name("whole.duckdb")
    report = store.ingest(whole, runs.folder)
    assert report.trials_added == count(path, "trials") == 1200
    assert prints(path) == prints(whole)


def test_ingests_at_the_same_time_take_turns(path: Path, runs: Any) -> None:
    for run_id in ("r1", "r2", "r3"):
        runs.add(run_id)
    processes = [start_ingest(path, runs) for _ in range(3)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    assert count(path, "trials") == 36
    assert [file.name for file in path.parent.glob(".*")] == []


@pytest.mark.parametrize("small_disk", ["2m"], indirect=True)
def test_a_full_disk_keeps_what_was_committed(small_disk: Path, runs: Any) -> None:
    path = small_disk / "s.duckdb"
    runs.add("r1")
    store.ingest(path, runs.folder)
    before = prints(path)
    noise = [runs.trial("r2", f"c{i}", 1, reason=os.urandom(600).hex()) for i in range(3000)]
    runs.add("r2", noise)
    with pytest.raises(StoreError, match="cannot be written"):
        store.ingest(path, runs.folder)
    after = prints(path)
    assert {t: after[t] for t in ("trials", "expectations", "sources")} == {
        t: before[t] for t in ("trials", "expectations", "sources")
    }


def test_a_rebuilt_store_says_the_same(path: Path, runs: Any) -> None:
    journal = runs.add("r1", [runs.trial("r1", "c1", 1)])
    store.ingest(path, runs.folder)
    runs.add("r2")
    append(journal, *runs.mixed("r1", "c2"))
    store.ingest(path, runs.folder)
    before, inode = prints(path), path.stat().st_ino
    report = store.rebuild(path, runs.folder)
    assert report.trials_added == 19
    assert path.stat().st_ino != inode
    assert prints(path) == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["artifacts", "evalstats.duckdb", "runs"]


def test_a_rebuild_that_fails_leaves_the_old_store(path: Path, runs: Any) -> None:
    journal = runs.add("r1")
    store.ingest(path, runs.folder)
    before = prints(path)
    with journal.open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(JournalError):
        store.rebuild(path, runs.folder)
    assert prints(path) == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["artifacts", "evalstats.duckdb", "runs"]


def test_a_rebuild_replaces_no_foreign_database(path: Path, runs: Any) -> None:
    runs.add("r1")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE precious (a INT)")
    with pytest.raises(StoreError, match="not a store of evalstats"):
        store.rebuild(path, runs.folder)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("FROM precious").fetchall() == []


def test_a_rebuild_makes_a_store_where_there_is_none(path: Path, runs: Any) -> None:
    runs.add("r1")
    assert store.rebuild(path, runs.folder).trials_added == 12


def test_a_manifest_that_is_not_a_runs_is_named(path: Path, runs: Any) -> None:
    runs.add("r1")
    manifest = runs.folder / "r1" / "manifest.json"
    document = json.loads(manifest.read_text())
    del document["suite"]["id"]
    manifest.write_text(json.dumps(document))
    with pytest.raises(JournalError) as caught:
        store.ingest(path, runs.folder)
    assert str(caught.value) == f"{manifest}: /suite/id: is missing, and a run needs it"


def test_a_damaged_store_is_moved_away_and_rebuilt(path: Path, runs: Any) -> None:
    runs.add("r1")
    store.ingest(path, runs.folder)
    os.truncate(path, 5000)
    with pytest.raises(StoreError, match="move it away and run `evalstats db rebuild`"):
        store.rebuild(path, runs.folder)
    path.rename(path.with_suffix(".damaged"))
    assert store.rebuild(path, runs.folder).trials_added == 12


def test_a_locked_store_is_not_rebuilt(path: Path, runs: Any) -> None:
    runs.add("r1")
    store.ingest(path, runs.folder)
    code = f"import duckdb; c = duckdb.connect({str(path)!r}); print('go', flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    other.stdout.readline()
    with pytest.raises(StoreError, match=f"in use by process {other.pid}"):
        store.rebuild(path, runs.folder, wait=0)
    other.communicate("\n", timeout=20)
