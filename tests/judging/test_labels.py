import csv
import importlib.util
import io
from pathlib import Path

import pytest

from evalstats import judgements, store
from evalstats.errors import DocumentError
from evalstats.judging import labels, transcripts

spec = importlib.util.spec_from_file_location("conftest_labels", Path(__file__).with_name("conftest.py"))
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)
HEAD = "run,case,arm,trial,expectation,label,labeller,time\n"
ROW = "r1,nice,skill-on,1,0,yes,ada,2026-03-01T10:00:00Z\n"


@pytest.fixture
def runs(ran):
    return {run.run_id: run for run in transcripts.runs(ran(), "r1")}


def read(tmp_path, runs, text, **more):
    path = tmp_path / "labels.csv"
    path.write_text(text, "utf-8")
    return labels.read(path, runs, **more)


def known(runs):
    return {
        (label.case_id, label.trial_index, label.labeller): label.passed
        for label in labels.latest(judgements.read_labels(runs["r1"].folder))
    }


def test_out_filled_in_and_back(tmp_path, runs):
    table = labels.table(runs.values())
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [(r["case"], r["trial"], r["text"]) for r in rows[:4]] == [
        ("mute", "1", ""), ("mute", "2", ""), ("nice", "1", "please\n"), ("nice", "2", "please\n"),
    ]  # fmt: skip
    for row in rows:
        row["label"] = "yes" if "please" in row["text"] else "no"
    rows[0]["label"] = ""
    out = io.StringIO()
    writer = csv.DictWriter(out, labels.COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    done = read(tmp_path, runs, out.getvalue(), labeller="ada")
    assert (done.added, done.known, done.empty) == (5, 0, 1)
    assert known(runs) == {
        ("mute", 2, "ada"): False, ("nice", 1, "ada"): True, ("nice", 2, "ada"): True, ("rude", 1, "ada"): False,
        ("rude", 2, "ada"): False,
    }  # fmt: skip
    again = read(tmp_path, runs, out.getvalue(), labeller="ada")
    assert (again.added, again.known) == (0, 5)
    # what was exported with its labels comes back as the same labels
    exported = labels.table(runs.values(), texts=False)
    assert (read(tmp_path, runs, exported).added, exported.count(",yes,ada,")) == (0, 2)


def test_the_last_label_of_a_person_counts(tmp_path, runs):
    read(tmp_path, runs, HEAD + ROW)
    done = read(tmp_path, runs, HEAD + ROW.replace("yes", "no").replace("10:00", "11:00"))
    assert done.added == 1 and known(runs) == {("nice", 1, "ada"): False}
    read(tmp_path, runs, HEAD + ROW.replace("10:00", "09:00"))  # an older one, found later
    assert known(runs) == {("nice", 1, "ada"): False}


@pytest.mark.parametrize("word", ["yes", "YES", " pass ", "true", "1"])
def test_words_for_yes(tmp_path, runs, word):
    read(tmp_path, runs, HEAD + ROW.replace("yes", word))
    assert known(runs) == {("nice", 1, "ada"): True}


def test_every_fault_is_named_with_its_line_and_nothing_is_recorded(tmp_path, runs):
    bad = [
        ("r9,nice,skill-on,1,0,yes,ada,", "run", "is not known"),
        ("r1,nicer,skill-on,1,0,yes,ada,", "case", "is not known"),
        ("r1,nice,skill-off,1,0,yes,ada,", "arm", "is not known"),
        ("r1,nice,skill-on,3,0,yes,ada,", "trial", "is not known"),
        ("r1,nice,skill-on,1,1,yes,ada,", "expectation", "is not known"),
        ("r1,nice,skill-on,one,0,yes,ada,", "trial", "is no number"),
        ("r1,nice,skill-on,１,0,yes,ada,", "trial", "is no number"),
        ("r1,nice,skill-on,1,0,maybe,ada,", "label", "neither yes nor no"),
        ("r1,nice,skill-on,1,0,yes,,", "labeller", "nobody is named"),
        ("r1,nice,skill-on,1,0,yes,ada,yesterday", "time", "is no date"),
        ("r1,nice,skill-on,1,0,no,ada,2026-03-01T10:00:00Z", "label", "says yes and no at the same time"),
    ]
    text = HEAD + ROW + "".join(f"{line}\n" for line, _, _ in bad)
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, runs, text)
    assert [(p.line, p.pointer) for p in caught.value.problems] == [
        (number, field) for number, (_, field, _) in enumerate(bad, 3)
    ]
    for problem, (_, _, message) in zip(caught.value.problems, bad, strict=True):
        assert message in problem.message
    assert known(runs) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is a column that is needed"),
        ("run,case\n", "is a column that is needed"),
        (HEAD.replace("time", "tiem"), "a column that is not known"),
        (HEAD.replace("time", "run"), "a column twice"),
        (HEAD + "r1,nice\n", "has 2 cells, the header 8"),
        (HEAD + 'r1,"nice\n', "is not CSV"),
    ],
)
def test_a_table_of_another_shape(tmp_path, runs, text, message):
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, runs, text)
    assert any(message in problem.message for problem in caught.value.problems)


def test_files_that_are_no_text(tmp_path, runs):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(DocumentError, match="not UTF-8"):
        labels.read(tmp_path / "x.csv", runs)
    with pytest.raises(DocumentError, match="No such file"):
        labels.read(tmp_path / "none.csv", runs)


def test_a_byte_order_mark_and_line_ends_of_a_spreadsheet(tmp_path, runs):
    done = read(tmp_path, runs, "\ufeff" + (HEAD + ROW).replace("\n", "\r\n"))
    assert done.added == 1


def test_no_cell_is_a_formula_and_nothing_hides(ran):
    cases = [conftest.case("a", "printf '=cmd|calc'"), conftest.case("b", r"printf '\342\200\256x'")]
    rows = {
        r["case"]: r["text"]
        for r in csv.DictReader(io.StringIO(labels.table(transcripts.runs(ran(cases), "r1"))))
    }
    assert rows == {"a": "'=cmd|calc", "b": "\\u{202E}x"}


def test_the_store_gives_one_label_of_several_people(tmp_path, runs, ran):
    rows = [
        "r1,nice,skill-on,1,0,no,ada,2026-03-01T10:00:00Z", "r1,nice,skill-on,1,0,yes,ada,2026-03-01T11:00:00Z",
        "r1,nice,skill-on,1,0,yes,bob,2026-03-01T10:00:00Z", "r1,nice,skill-on,1,0,no,cem,2026-03-01T10:00:00Z",
        "r1,rude,skill-on,1,0,yes,ada,2026-03-01T10:00:00Z", "r1,rude,skill-on,1,0,no,bob,2026-03-01T10:00:00Z",
    ]  # fmt: skip
    read(tmp_path, runs, HEAD + "\n".join(rows) + "\n")
    done = store.ingest(tmp_path / "s.duckdb", tmp_path / "data/runs")
    assert done.labels_added == 6
    with store.open(tmp_path / "s.duckdb") as opened:
        found = opened.labels("manners")
    shown = found[["case_id", "trial_index", "expectation", "label", "n_labels", "n_yes"]]
    assert shown.fillna(-1).to_numpy().tolist() == [["nice", 1, 0, 1.0, 3, 2], ["rude", 1, 0, -1, 2, 1]]
