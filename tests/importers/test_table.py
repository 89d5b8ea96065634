"""Tables: columns by their usual names or as told, trials counted, cells that say nothing are unknown."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalstats import importers
from evalstats.contract import Arm, Outcome
from evalstats.errors import LogError, UsageError


def told(found):
    return [(f.row.case_id, f.row.trial_index, f.row.score) for f in found]


def test_usual_names(sample, read):
    reading, found = read(sample("table"))
    assert told(found) == [("q1", 1, 1.0), ("q1", 2, 0.5), ("q2", 1, 0.0), ("q2", 2, None)]
    assert [f.row.archetype for f in found] == ["x", "x", "y", "y"] and found[
        3
    ].row.outcome is Outcome.UNSCORED
    assert reading.files[0].why == "a table with columns question_id and score"


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_delimiters_quotes_and_carriage_returns(mark, sample, read):
    text = f'case{mark}score{mark}reason\r\n"a{mark}\nb"{mark}1{mark}\r\nc{mark}0{mark}"said ""no"""\r\n'
    _, found = read(sample("table", text=text))
    assert told(found) == [(f"a{mark}\nb", 1, 1.0), ("c", 1, 0.0)] and found[1].row.locator == "line 4"


def test_lines_end_at_newlines_only(sample, read):
    with pytest.raises(LogError, match="new-line character"):
        read(sample("table", text="case,score\na\rb,1\n"))
    _, found = read(sample("table", text='case,score\n"a\rb\u2028c\x0bd",1\n'))
    assert found[0].row.case_id == "a\rb\u2028c\x0bd"


def test_columns_can_be_named(sample, read):
    path = sample("table", text="a,b,n,c\nx,1,7,z\nx,0,8,z\n")
    with pytest.raises(LogError, match="no column for the case; name it with --map case=COLUMN"):
        read(path, format="table")
    _, found = read(path, format="table", columns={"case": "a", "score": "b", "trial": "n", "archetype": "c"})
    assert told(found) == [("x", 7, 1.0), ("x", 8, 0.0)] and found[0].row.archetype == "z"
    with pytest.raises(UsageError, match="unknown field 'colour'"):
        read(path, format="table", columns={"colour": "a"})
    with pytest.raises(LogError, match="has no column 'q'; it has a, b, n, c"):
        read(path, format="table", columns={"case": "q", "score": "b"})


def test_an_id_of_rows_does_not_hide_the_question(sample, read):
    """Repeats read as cases are the commonest fault of all: a row's own id is the last thing a case is named by."""
    _, found = read(sample("table", text="id,question,score\n1,q,1\n2,q,0\n"))
    assert told(found) == [("q", 1, 1.0), ("q", 2, 0.0)]


def test_trials_counted_from_zero_or_one_or_not_at_all(sample, read):
    assert [t for _, t, _ in told(read(sample("table", text="case,trial,score\na,0,1\na,1,1\n"))[1])] == [
        1,
        2,
    ]
    assert [t for _, t, _ in told(read(sample("table", text="case,trial,score\na,1,1\na,2,1\n"))[1])] == [
        1,
        2,
    ]
    assert [t for _, t, _ in told(read(sample("table", text="case,score\na,1\nb,1\na,1\n"))[1])] == [1, 1, 2]
    with pytest.raises(LogError, match="sort the rows"):
        read(sample("table", text="case,trial,score\na,1,1\na,0,1\n"))
    path = sample("table", text="case,seed,score\na,x,1\na,y,0\n")
    with pytest.raises(LogError, match="--map trial="):
        read(path)
    assert [t for _, t, _ in told(read(path, columns={"trial": ""})[1])] == [1, 2]


def test_runs_suites_and_arms(sample, read):
    text = "suite,model,arm,run,case,score\nS,m,with skill,r1,a,1\nS,m,baseline,r1,a,0\nS,m,weird,r1,a,1\n"
    _, found = read(sample("table", text=text))
    assert [(f.run.suite_id, f.run.arm, f.run.logged.label) for f in found] == [
        ("s", Arm.SKILL_ON, None), ("s", Arm.BASELINE, None), ("s", Arm.CANDIDATE, "weird"),
    ]  # fmt: skip
    assert found[0].run.group_id == found[1].run.group_id != found[2].run.group_id


def test_runs_are_told_apart_by_text_alone_in_cells_and_in_objects(sample, read):
    rows = [("a", 1), ("a", 2), ("b", 1)]
    cells = "case,model,score\n" + "".join(f"{case},{model},1\n" for case, model in rows)
    objects = "".join(json.dumps({"case": c, "model": m, "score": 1}) + "\n" for c, m in [*rows, ("b", "2")])
    objects += json.dumps({"case": "c", "model": ["m"], "score": 1}) + "\n"
    runs = [[f.run.logged.model for f in read(sample("table", text=text))[1]] for text in (cells, objects)]
    assert runs == [["1", "2", "1"], ["1", "2", "1", "2", "['m']"]]


def test_what_is_not_known_is_null(sample, read):
    text = "case,score,tokens_in,cost,duration_s,started_at,cached,outcome,reason\n"
    text += "a,1,,,,,,,\nb,true,3,0.5,1.5,2026-01-01T00:00:00-02:00,no,ok,None\nc,,,,,,,timeout,\nd,,,,,,,error,gone\n"
    _, found = read(sample("table", text=text))
    first, second, late, lost = (f.trial for f in found)
    assert (first.tokens_in, first.cost, first.duration_s, first.started_at, first.cached) == (None,) * 5
    assert (second.tokens_in, second.cost, second.duration_s, second.cached, second.utc_offset) == (
        3,
        0.5,
        1.5,
        False,
        "-02:00",
    )
    assert (late.outcome, late.score) == (Outcome.TIMEOUT, 0.0)
    assert (lost.outcome, lost.score, lost.reason) == (Outcome.INFRASTRUCTURE, None, "gone")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("007", 7), ("٣", 3), (" 3 ", 3), ("3.0", 3), ("1e3", 1000), ("9" * 15, 10**15 - 1), (str(2**53), None),
     ("²", None), ("1_0", None), ("-1", None), ("2.5", None), ("", None), (True, None), (10**400, None), (4.0, 4)],
)  # fmt: skip
def test_a_count_is_a_whole_number_however_it_is_written(written, meant):
    assert importers.whole(written) == meant


@pytest.mark.parametrize("score", ["NaN", "inf", "-inf", "1e999", "1_0", "x", "1.5", "-0.1", "0,5"])
def test_scores_that_are_none(score, sample, read):
    _, found = read(sample("table", text=f'case;score\na;"{score}"\n'))
    assert found[0].trial.score is None and found[0].trial.reason


def test_a_range_of_scores_is_brought_to_one(sample, read):
    path = sample("table", text="case,score\na,25\nb,100\nc,101\n")
    _, found = read(path, score_range=(0, 100))
    assert [f.row.score for f in found] == [0.25, 1.0, None]
    for low, high in ((1, 1), (2, 1), (float("-inf"), 1), (float("nan"), 1)):
        with pytest.raises(UsageError, match="LOW:HIGH"):
            read(path, score_range=(low, high))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case,score\na\n", ":2: has 1 cells, the header has 2"),
        ("case,score\na,1,2\nb,1\n", ":2: has 3 cells"),
        ("case,case,score\na,b,1\n", "column 'case' stands twice"),
        ('case,score\n"a,1\n', "unexpected end of data"),
        ('case,score\n"a"b,1\n', "is not CSV"),
        ("case,score\n,1\n", "a case needs an id"),
        ("case,score,outcome\na,1,lucky\n", "unknown outcome; known: completed"),
    ],
)
def test_a_broken_table_is_one_line(text, message, sample, read):
    with pytest.raises(LogError) as caught:
        read(sample("table", text=text))
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["case,score,reason\na,1,x\nb,0", 'case,score,reason\na,1,x\nb,0,"un'])
def test_a_cut_last_line(text, sample, read):
    path = sample("table", text=text)
    with pytest.raises(LogError, match="--allow-truncated"):
        read(path)
    reading, found = read(path, allow_truncated=True)
    assert len(found) == 1 and reading.files[0].warnings[1:] == ["line 3 is cut off and was left out"]


def test_a_last_line_without_an_end_is_read_and_mentioned(sample, read):
    reading, found = read(sample("table", text="case,score\na,1\nb,0.7"))
    assert len(found) == 2
    assert "the last line has no line end: the file may have been cut" in reading.files[0].warnings


def test_only_a_header_is_no_trial(sample, read):
    reading, found = read(sample("table", text="case,score\n"))
    assert found == [] and reading.files[0].trials == 0


def test_json_lines(sample, read, tmp_path):
    path = tmp_path / "x.jsonl"
    rows = [{"task_id": 1, "reward": 0.5, "metadata": {"topic": "t"}}, {"task_id": 2, "reward": None}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, found = read(path, cluster_key="metadata.topic")
    assert told(found) == [("1", 1, 0.5), ("2", 1, None)] and found[0].row.archetype == "t"
    path.write_text('{"task_id": 1, "score": 1}\n[2]\n')
    with pytest.raises(LogError, match=":2: must be an object"):
        read(path)
    path.write_text('{"task_id": 1, "score": 1, "resps": [[1]]}\n')  # a log of some tool: not guessed at
    with pytest.raises(LogError, match="no known format"):
        read(path)


def test_parquet(sample, read, tmp_path):
    path = tmp_path / "model=lab%2Fm/x.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"case": ["a", "b"], "score": [1.0, None]}), path)
    _, found = read(path)
    assert told(found) == [("a", 1, 1.0), ("b", 1, None)] and found[0].run.logged.model == "lab/m"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LogError):
        read(path, format="table")


def test_a_grown_table_is_the_same_run(sample, pour, read, tmp_path):
    text = "case,score\na,1\nb,0\n"
    assert pour(sample("table", text=text)) == 2
    grown = sample("table", folder="moved", text=text + "c,1\n")
    reading, _ = read(grown, data=tmp_path / "data")
    assert "begins with a log that was imported before: the same run, grown" in reading.files[0].warnings
    assert pour(grown, write=False) == 1
    assert [pour(grown), pour(grown), pour(sample("table", text=text))] == [1, 0, 0]
    manifests = [json.loads(p.read_text()) for p in (tmp_path / "data/runs").glob("*/manifest.json")]
    assert [m["cases"] for m in manifests] == [["a", "b", "c"]]
    assert [len(m["imported"]["files"]) for m in manifests] == [2]
    other = sample("table", folder="other", text="case,score\na,1\nb,1\n")
    assert pour(other) == 2  # begins alike, but is another log
