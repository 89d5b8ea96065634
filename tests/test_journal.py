"""Nothing that a journal took is ever lost, a torn tail costs one trial, and damage is named by file and line."""

import json
import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats import journal
from evalstats.contract import Arm, ExpectationType, Outcome, Status
from evalstats.errors import JournalError
from evalstats.trials import ExpectationResult, Trial


def trial(index: int, **changes) -> Trial:
    fields = {
        "run_id": "eval-1",
        "suite_id": "door",
        "case_id": "open",
        "arm": Arm.SKILL_ON,
        "trial_index": index,
        "status": Status.PASS,
        "outcome": Outcome.OK,
        "started_at": "2026-01-02T03:04:05.678Z",
        "score": 1.0,
        "passed": True,
    }
    return Trial(**{**fields, **changes})


def detail(text: str) -> Trial:
    return trial(1, expectations=(
        ExpectationResult(index=0, type=ExpectationType.REGEX, required=True, passed=True, detail=text),
    ))  # fmt: skip


def written(run: Path, *trials: Trial) -> Path:
    with journal.Journal(run / "journal") as book:
        for one in trials:
            book.append(one)
    return book.path


def indices(run: Path) -> list[int]:
    return [one.trial_index for one in journal.read_trials(run)]


# --- writing and reading --------------------------------------------------------------------------


def test_what_is_appended_is_read(tmp_path):
    trials = [trial(1), trial(2, score=0.5, passed=False), trial(3, archetype="A1", cost=0.25)]
    written(tmp_path, *trials)
    assert list(journal.read_trials(tmp_path)) == trials


def test_a_line_is_in_the_file_before_append_returns(tmp_path):
    with journal.Journal(tmp_path / "journal") as book:
        for index in range(1, 4):
            book.append(trial(index))
            assert book.path.read_bytes().count(b"\n") == index
            assert indices(tmp_path) == list(range(1, index + 1))


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_one_line(tmp_path_factory, text):
    run = tmp_path_factory.mktemp("run")
    path = written(run, detail(text))
    assert path.read_bytes().count(b"\n") == 1
    assert list(journal.read_trials(run)) == [detail(text)]


def test_half_of_a_surrogate_pair_is_written_as_a_question_mark(tmp_path):
    written(tmp_path, replace(detail("a\ud800b\udfff"), case_id="o\ud83d", reason="\U0001f600"))
    (read,) = journal.read_trials(tmp_path)
    assert (read.expectations[0].detail, read.case_id, read.reason) == ("a?b?", "o?", "\U0001f600")


def test_closing_twice_is_harmless(tmp_path):
    book = journal.Journal(tmp_path)
    book.append(trial(1))
    book.close()
    book.close()
    assert "journal-sync" not in [thread.name for thread in threading.enumerate()]


def test_the_first_of_a_key_wins(tmp_path):
    written(tmp_path, trial(1, score=0.5, passed=False), trial(1), trial(2))
    written(tmp_path, trial(2, score=0.0, passed=False), trial(3))
    assert [(t.trial_index, t.score) for t in journal.read_trials(tmp_path)] == [(1, 0.5), (2, 1.0), (3, 1.0)]


def test_each_process_has_a_journal_of_its_own(tmp_path):
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from evalstats.contract import Arm, Outcome, Status
        from evalstats.journal import Journal
        from evalstats.trials import Trial
        with Journal(Path(sys.argv[1]) / "journal") as book:
            for index in range(int(sys.argv[2]), int(sys.argv[2]) + 200):
                book.append(Trial(run_id="eval-1", suite_id="door", case_id="open", arm=Arm.SKILL_ON,
                    trial_index=index, status=Status.PASS, outcome=Outcome.OK, score=1.0, passed=True,
                    started_at="2026-01-02T03:04:05Z"))
    """)
    writers = [subprocess.Popen([sys.executable, "-c", code, tmp_path, str(start)]) for start in (1, 201)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(journal.journals(tmp_path)) == 2
    assert sorted(indices(tmp_path)) == list(range(1, 401))


def test_a_killed_process_loses_nothing_it_appended(tmp_path):
    code = textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        from evalstats.journal import Journal
        from evalstats.contract import Arm, Outcome, Status
        from evalstats.trials import Trial
        book = Journal(Path(sys.argv[1]) / "journal")
        for index in (1, 2, 3):
            book.append(Trial(run_id="eval-1", suite_id="door", case_id="open", arm=Arm.SKILL_ON,
                trial_index=index, status=Status.PASS, outcome=Outcome.OK, score=1.0, passed=True,
                started_at="2026-01-02T03:04:05Z"))
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    killed = subprocess.run([sys.executable, "-c", code, tmp_path], check=False, timeout=60)
    assert killed.returncode == -9
    assert indices(tmp_path) == [1, 2, 3]


# --- torn and damaged -----------------------------------------------------------------------------


def test_a_tail_torn_at_any_byte_costs_that_trial_only(tmp_path):
    path = written(tmp_path, trial(1), trial(2), detail("é \U0001f600"))
    whole = path.read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        records, torn = journal.read_lines(path)
        assert ([number for number, _ in records], torn) == ([1, 2], end > start)
        assert indices(tmp_path) == [1, 2]


def test_who_resumes_after_a_torn_tail_writes_elsewhere(tmp_path):
    path = written(tmp_path, trial(1), trial(2))
    path.write_bytes(path.read_bytes()[:-5])
    assert indices(tmp_path) == [1]
    assert written(tmp_path, trial(2), trial(3)) != path
    assert indices(tmp_path) == [1, 2, 3]


def damaged(path: Path, number: int, line: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = line
    path.write_bytes(b"".join(lines))


GOOD = json.loads(journal.encode(trial(2).as_record()))


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        (b"\n", None, "is not JSON"),
        (b'{"kind": "tri\n', None, "is not JSON"),
        (b"null\n", None, "is not of type"),
        (b"\xff\n", None, "is not UTF-8"),
        (b'{"a": 1, "a": 2}\n', None, "stands twice"),
        (journal.encode({**GOOD, "score": None}), None, "exactly when usable"),
        (journal.encode({**GOOD, "score": 2}), "/score", "not valid under any"),
        (journal.encode({**GOOD, "outcome": "fine"}), "/outcome", "is not one of"),
        (journal.encode({**GOOD, "surplus": 1}), None, "unexpected"),
        (journal.encode({**GOOD, "trial_index": 3}), "/key", "not that of its run, case, arm and trial"),
        (journal.encode({**GOOD, "key": trial(1).key}), "/key", "not that of its run, case, arm and trial"),
    ],
)
def test_a_bad_line_is_named_by_file_line_and_field(tmp_path, line, field, words):
    path = written(tmp_path, trial(1), trial(2), trial(3))
    damaged(path, 2, line)
    with pytest.raises(JournalError, match=words) as caught:
        indices(tmp_path)
    assert (caught.value.path, caught.value.line, caught.value.field) == (path, 2, field)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_a_bad_line_before_the_torn_tail_is_still_an_error(tmp_path):
    path = written(tmp_path, trial(1), trial(2), trial(3))
    damaged(path, 2, b"{}\n")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(JournalError, match=":2: "):
        indices(tmp_path)


def test_a_journal_that_is_not_there_is_named(tmp_path):
    with pytest.raises(JournalError, match="cannot be read: No such file"):
        journal.read_lines(tmp_path / "none.jsonl")
    assert list(journal.read_trials(tmp_path)) == []


# --- a disk that refuses --------------------------------------------------------------------------


def test_a_failed_sync_surfaces(tmp_path):
    book = journal.Journal(tmp_path)
    reader, writer = os.pipe()
    os.dup2(writer, book._fd)  # a pipe takes every write and refuses every sync
    book.append(trial(1))
    book._syncer.join(5)
    assert not book._syncer.is_alive()
    with pytest.raises(JournalError, match="cannot be written: Invalid argument") as caught:
        book.append(trial(2))
    assert caught.value.path == book.path
    with pytest.raises(JournalError, match="Invalid argument"):
        book.close()
    os.close(writer)
    assert os.read(reader, 1 << 16).count(b"\n") == 1
    os.close(reader)


def test_a_sync_that_fails_only_at_the_end_surfaces_too(tmp_path):
    book = journal.Journal(tmp_path)
    reader, writer = os.pipe()
    os.dup2(writer, book._fd)
    with pytest.raises(JournalError, match="Invalid argument"):
        book.close()
    os.close(reader)
    os.close(writer)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(JournalError, match="cannot be written: Not a directory"):
        journal.Journal(tmp_path / "file/journal")


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from evalstats.contract import Arm, Outcome, Status
from evalstats.errors import JournalError
from evalstats.journal import Journal
from evalstats.trials import Trial

def trial(index):
    return Trial(run_id="eval-1", suite_id="door", case_id="open", arm=Arm.SKILL_ON, trial_index=index,
        status=Status.PASS, outcome=Outcome.OK, score=1.0, passed=True, started_at="2026-01-02T03:04:05Z")

book = Journal(Path(sys.argv[1]) / "journal")
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
index = 0
try:
    while index < 1000:
        book.append(trial(index + 1))
        index += 1
except JournalError as error:
    print(index, error, sep="\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    book.append(trial(index + 2))
except JournalError as error:
    print(error)
try:
    book.close()
except JournalError as error:
    print(error)
"""


def test_a_full_disk_keeps_every_earlier_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, timeout=60, check=True
    )
    count, *errors = done.stdout.splitlines()
    assert 3 < int(count) < 100
    assert len(errors) == 3 and all("is the disk full?" in error for error in errors)
    (path,) = journal.journals(tmp_path)
    assert path.stat().st_size == 5000
    assert journal.read_lines(path)[1]
    assert indices(tmp_path) == list(range(1, int(count) + 1))


@pytest.fixture
def tiny_disk(tmp_path):
    """Return a folder on a file system of 64 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
    if os.geteuid() or subprocess.run(options, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_really_full_disk_keeps_every_earlier_line(tiny_disk):
    book = journal.Journal(tiny_disk / "journal")
    count = 0
    with pytest.raises(JournalError, match=r"No space left on device|is the disk full"):
        while count < 1000:
            book.append(trial(count + 1))
            count += 1
    (tiny_disk / "later").touch()
    with pytest.raises(JournalError):
        book.append(trial(count + 2))
        book.close()
    assert count > 50
    assert indices(tiny_disk) == list(range(1, count + 1))
    with pytest.raises(JournalError, match="cannot be written"):
        journal.write_synced(tiny_disk / "manifest.json", b"x" * 100_000)
    assert not list(tiny_disk.glob("*manifest*"))


# --- whole files ----------------------------------------------------------------------------------


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    journal.write_synced(tmp_path / "manifest.json", b"one")
    journal.write_synced(tmp_path / "manifest.json", b"two")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("manifest.json", b"two")]


@pytest.mark.parametrize(("place", "words"), [("none/x", "No such file"), ("file/x", "Not a directory")])
def test_a_file_that_cannot_be_written_is_named(tmp_path, place, words):
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match=f"cannot be written: {words}") as caught:
        journal.write_synced(tmp_path / place, b"x")
    assert caught.value.path == tmp_path / place


def test_the_manifest_says_that_a_folder_is_a_run(tmp_path):
    manifest = tmp_path / "manifest.json"
    for text, words in (
        (None, "No such file"),
        ("{", "is not JSON"),
        ("[]", "not the manifest"),
        ("{}", "not the manifest"),
    ):
        if text is not None:
            manifest.write_text(text)
        with pytest.raises(JournalError, match=words) as caught:
            journal.read_manifest(tmp_path)
        assert caught.value.path == manifest
    manifest.write_text('{"run_id": "eval-1"}')
    assert journal.read_manifest(tmp_path) == {"run_id": "eval-1"}
