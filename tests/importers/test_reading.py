"""Every format is recognised by its content, and every row is held to the same rules."""

import json
import os
import shutil
from collections import Counter

import pytest

from evalstats.contract import Arm, Outcome
from evalstats.errors import LogError, UsageError

# small log -> format, runs, cases, trials, statuses
EXPECTED = {
    "inspect-json": ("inspect", 1, 2, 4, {"ok": 4}),
    "inspect-eval": ("inspect", 1, 2, 4, {"ok": 4}),
    "lm-eval": ("lm-eval", 1, 3, 3, {"ok": 3}),
    "promptfoo": ("promptfoo", 1, 2, 4, {"ok": 4}),
    "promptfoo-lines": ("promptfoo", 1, 2, 4, {"ok": 4}),
    "openai-evals": ("openai-evals", 1, 3, 3, {"ok": 2, "error": 1}),
    "swe-bench": ("swe-bench", 1, 5, 5, {"ok": 3, "error": 1, "missing": 1}),
    "junit": ("junit", 1, 4, 6, {"ok": 4, "error": 1, "skipped": 1}),
    "skill-creator": ("skill-creator", 2, 2, 4, {"ok": 4}),
    "helm": ("helm", 1, 2, 3, {"ok": 3}),
    "terminal-bench": ("terminal-bench", 1, 3, 6, {"ok": 2, "error": 1, "timeout": 2, "unscored": 1}),
    "terminal-bench-table": ("terminal-bench", 2, 2, 4, {"ok": 2, "error": 1, "timeout": 1}),
    "harbor": ("harbor", 1, 1, 1, {"ok": 1}),
    "tau-bench": ("tau-bench", 1, 2, 4, {"ok": 4}),
    "agentops-record": ("agentops", 1, 4, 4, {"ok": 2, "error": 1, "unscored": 1}),
    "agentops-scorecard": ("agentops", 2, 2, 4, {"ok": 3, "skipped": 1}),
    "agentops-trials": ("agentops", 2, 2, 8, {"ok": 8}),
    "agentops-escapes": ("agentops", 2, 1, 5, {"ok": 3, "degraded": 2}),
    "agentops-verdicts": ("agentops", 1, 3, 3, {"ok": 2, "degraded": 1}),
    "journal": ("journal", 1, 2, 3, {"ok": 2, "error": 1}),
    "table": ("table", 1, 2, 4, {"ok": 3, "unscored": 1}),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_format_is_recognised_by_content_and_counted(name, sample, read, tmp_path):
    path = sample(name)
    renamed = path.with_name("x.dat") if name not in ("lm-eval", "swe-bench") else path
    path.rename(renamed)
    reading, found = read(renamed)
    (file,) = reading.files
    counted = (file.format, file.runs, file.cases, file.trials, dict(+file.statuses))
    assert counted == EXPECTED[name]
    assert len(found) == file.trials and file.why and not file.duplicates
    if name != "journal":  # our own trials stay what they are
        assert all(each.trial.source_sha256 and each.trial.source_locator for each in found)
    assert all(declared.agrees for declared in file.declared)
    assert set(file.as_record()) - {"declared", "why", "refused", "suites"} == {
        "path",
        "format",
        "suite",
        "runs",
        "cases",
        "trials",
        "statuses",
        "duplicates",
        "replaced",
        "warnings",
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_a_byte_order_mark_changes_nothing(name, sample, read):
    path = sample(name)
    _, plain = read(path)
    if name not in ("inspect-eval", "journal"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        _, marked = read(path)
        said = [
            [(f.row.case_id, f.row.trial_index, f.row.score, f.row.outcome) for f in each]
            for each in (plain, marked)
        ]
        assert said[0] == said[1]


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"inspect-eval"}))
def test_another_encoding_is_refused_with_the_offset(name, sample, read):
    path = sample(name)
    content = path.read_bytes()
    place = next(i for i in range(len(content) // 2, len(content)) if chr(content[i]).isalnum())
    path.write_bytes(content[:place] + b"\xe9" + content[place + 1 :])
    with pytest.raises(LogError, match="UTF-8") as caught:
        read(path, format=EXPECTED[name][0])
    assert f"byte {place}" in str(caught.value) or name == "journal"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_a_whole_file_in_another_encoding_is_refused(encoding, sample, read, samples):
    path = sample("table")
    path.write_bytes("question_id,score\ncafé,1\n".encode(encoding))
    with pytest.raises(LogError, match="not UTF-8 at byte"):
        read(path, format="table")


# --- what a folder holds --------------------------------------------------------------------------


def test_a_folder_is_read_whole_and_what_is_no_log_is_named(sample, read, tmp_path):
    for name in ("inspect-json", "junit", "table"):
        sample(name, folder=f"logs/{name}")
    (tmp_path / "logs/readme.md").write_text("hello")
    (tmp_path / "logs/.hidden.csv").write_text("case,score\na,1\n")
    (tmp_path / "logs/.agents").mkdir()
    shutil.copy(sample("tau-bench", folder="other"), tmp_path / "logs/.agents")
    reading, found = read(tmp_path / "logs")
    assert Counter(file.format for file in reading.files) == Counter(
        ["inspect", "junit", "table", "tau-bench", None]
    )
    assert len(found) == 4 + 6 + 4 + 4
    (unknown,) = [file for file in reading.files if file.format is None]
    assert unknown.path.endswith("readme.md") and unknown.why == "no known format" and not unknown.refused


def test_links_lead_nowhere_and_broken_ones_are_no_files(sample, read, tmp_path):
    path = sample("table")
    (path.parent / "self").symlink_to(path.parent)
    (path.parent / "loop").symlink_to("loop")
    (path.parent / "gone").symlink_to("nowhere")
    (path.parent / "again.csv").symlink_to(path)
    reading, found = read(path.parent)
    assert [file.path.rpartition("/")[2] for file in reading.files] == ["again.csv"] and len(found) == 4


def test_a_file_or_folder_that_may_not_be_read_is_named(sample, read, tmp_path, monkeypatch):
    path = sample("table")
    closed = path.with_name("closed.csv")
    closed.write_text("case,score\na,1\n")
    (path.parent / "shut").mkdir()
    if os.geteuid() == 0:  # nothing is closed to root: say so as the system would to others
        real, walk = os.access, os.walk
        monkeypatch.setattr(os, "access", lambda place, mode: place != closed and real(place, mode))

        def walked(folder, onerror):
            onerror(PermissionError(13, "Permission denied", str(path.parent / "shut")))
            yield from walk(folder)

        monkeypatch.setattr(os, "walk", walked)
    else:
        closed.chmod(0)
        (path.parent / "shut").chmod(0)
    reading, found = read(path.parent)
    assert [(file.path.rpartition("/")[2], file.refused) for file in reading.files] == [
        ("closed.csv", True), ("scores.csv", False), ("shut", True),
    ]  # fmt: skip
    assert len(found) == 4
    with pytest.raises(UsageError, match="is not there"):
        read(path.parent / "absent")


def test_the_data_folder_inside_what_is_imported_is_no_source(sample, pour, read, tmp_path):
    path = sample("table")
    data = path.parent / "data"
    assert [pour(path.parent, data=data), pour(path.parent, data=data)] == [4, 0]
    assert len(read(path.parent, data=data)[0].files) == 1
    reading, _ = read(path, data / "runs", data=data)  # named, it is one; and it tells the same
    assert sum(file.duplicates for file in reading.files) == 4


def test_a_pipe_is_no_file(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        read(tmp_path / "pipe")


def test_what_is_named_must_be_a_log(read, tmp_path):
    path = tmp_path / "x.txt"
    for content in (
        b"",
        b"hello",
        b"{}",
        b"[]",
        b"[1]",
        b"null",
        b'"x"',
        b"PK\x03\x04",
        b"<a/>",
        b"\0" * 100,
    ):
        path.write_bytes(content)
        with pytest.raises(LogError):
            read(path)
    with pytest.raises(UsageError, match="unknown format 'x'; known: inspect"):
        read(path, format="x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="nothing here is a log"):
        read(tmp_path / "empty")


@pytest.mark.parametrize("name", sorted({format for format, *_ in EXPECTED.values()}))
def test_a_forced_format_refuses_what_is_something_else(name, read, tmp_path):
    path = tmp_path / "x"
    for content in (
        b"",
        b"{}",
        b"[]",
        b"[1]",
        b"1",
        b"x,y\n1,2\n",
        b"<a/>",
        b"PK\x03\x04",
        b'{"results": 1}\n',
        b"\xff",
    ):
        path.write_bytes(content)
        try:
            _, found = read(path, format=name)
            assert found == []
        except LogError as error:
            assert error.__cause__ is None and "\n" not in str(error)


def test_only_the_refused_file_of_a_folder_is_left_out(sample, read, tmp_path):
    path = sample("skill-creator", runs=[])
    document = json.loads(path.read_text())
    del document["runs"]
    path.write_text(json.dumps(document))
    with pytest.raises(LogError, match="aggregates only"):
        read(path)
    sample("table")
    reading, found = read(path.parent)
    assert [(file.format, file.refused) for file in reading.files] == [
        ("skill-creator", True),
        ("table", False),
    ]
    assert len(found) == 4


def test_a_torn_archive_in_a_folder_is_named(sample, read):
    path = sample("table")
    path.with_name("torn.eval").write_bytes(sample("inspect-eval").read_bytes()[:-30])
    path.with_name("log.eval").unlink()
    reading, found = read(path.parent)
    assert [(file.refused, "is not a zip archive" in file.why) for file in reading.files] == [
        (False, False),
        (True, True),
    ]
    assert len(found) == 4
    with pytest.raises(LogError, match="is not a zip archive"):
        read(path.with_name("torn.eval"))


# --- the same trial told twice --------------------------------------------------------------------


def test_identical_duplicates_collapse_and_are_counted(sample, read):
    path = sample("table", text="case,trial,score\na,1,1\na,1,1\na,2,0\n")
    reading, found = read(path)
    assert len(found) == 2 and reading.files[0].duplicates == 1


def test_a_conflict_names_both_places(sample, read):
    path = sample("table", text="case,trial,score\na,1,1\nb,1,1\na,1,0\n")
    with pytest.raises(LogError) as caught:
        read(path)
    text = str(caught.value)
    assert "(line 4)" in text and f"{path} (line 2)" in text and "--on-conflict" in text
    for chosen, score in (("first", 1.0), ("last", 0.0)):
        reading, found = read(path, on_conflict=chosen)
        last = {(f.row.case_id, f.row.trial_index): f.row.score for f in found}
        assert last["a", 1] == score
        assert reading.files[0].trials == 2 and reading.files[0].statuses["ok"] == 2


def test_a_conflict_between_files_names_both(sample, read, tmp_path):
    one = sample("table", folder="one", text="run,case,trial,score\nr,a,1,1\n")
    two = sample("table", folder="two", text="run,case,trial,score\nr,a,1,0\n")
    with pytest.raises(LogError) as caught:
        read(one, two)
    assert str(one) in str(caught.value) and str(two) in str(caught.value)


def test_a_lost_attempt_gives_way_to_the_one_that_was_not(sample, read):
    text = "run,case,trial,score,status\nr,a,1,,error\nr,b,1,,error\n"
    one, two = (
        sample("table", folder="1", text=text),
        sample("table", folder="2", text="run,case,trial,score\nr,a,1,1\n"),
    )
    reading, found = read(one, two)
    assert [(f.row.case_id, f.row.outcome, f.row.attempt, f.supersedes) for f in found] == [
        ("a", Outcome.INFRASTRUCTURE, 1, None),
        ("b", Outcome.INFRASTRUCTURE, 1, None),
        ("a", Outcome.OK, 2, Outcome.INFRASTRUCTURE),
    ]
    assert [file.trials for file in reading.files] == [1, 1]
    assert [dict(+file.statuses) for file in reading.files] == [{"error": 1}, {"ok": 1}]
    reading, found = read(two, one)  # the other way round, the lost one changes nothing
    assert [file.trials for file in reading.files] == [1, 1] and reading.files[1].duplicates == 1


# --- options --------------------------------------------------------------------------------------


def test_suite_and_arm_can_be_told(sample, read):
    _, found = read(sample("inspect-json"), suite="My Suite", arm=Arm.BASELINE)
    assert {(f.run.suite_id, f.run.arm) for f in found} == {("my-suite", Arm.BASELINE)}
    assert found[0].run.run_id != read(sample("inspect-json"))[1][0].run.run_id


def test_a_cluster_key_is_looked_up_or_missed_aloud(sample, read):
    path = sample("inspect-json")
    _, found = read(path, cluster_key="metadata.topic")
    assert [f.trial.archetype for f in found] == ["topic-a", "topic-a", "topic-b", "topic-b"]
    reading, found = read(path, cluster_key="metadata.colour")
    assert {f.trial.archetype for f in found} == {None}
    assert "nothing stands at metadata.colour: the cases are in no groups" in reading.files[0].warnings


def test_a_metric_that_is_not_there_is_missed_aloud(sample, read):
    reading, found = read(sample("inspect-json"), metric="elegance")
    assert {f.row.outcome for f in found} == {Outcome.UNSCORED}
    assert "no score is called elegance; there are match" in reading.files[0].warnings


def test_somebody_elses_importer_that_stumbles_is_one_line(read, tmp_path, monkeypatch):
    from evalstats.importers import Options, Reading

    class Broken:
        NAME = "broken"

        def sniff(self, log):
            return "everything"

        def read(self, log, options):
            yield from {}["x"]

    (tmp_path / "x").write_text("x")
    with pytest.raises(LogError, match=r"cannot be read as broken.*\(KeyError\)"):
        list(Reading([tmp_path / "x"], Options(), [Broken()]))
