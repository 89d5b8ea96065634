"""``evalstats import`` as a person types it: exit codes, JSON, one line an error, tables at 80 columns."""

import json
from types import SimpleNamespace

import pytest

from evalstats.cli import run_command

CSV = "case,trial,score,topic\na,1,1,x\na,2,0,x\nb,1,,y\n"


@pytest.fixture
def evalstats(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command line in an empty folder."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = run_command([str(word) for word in words])
        said = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)

    return run


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "logs" / "scores.csv"
    path.parent.mkdir()
    path.write_text(CSV)
    return path


def test_import_then_import_again(evalstats, table):
    first = evalstats("import", table)
    assert (first.returncode, first.stderr) == (0, "")
    assert "3 trial(s) in 1 file(s), 3 new (ok 2, unscored 1)" in first.stdout.splitlines()[-1]
    assert max(map(len, first.stdout.splitlines()[:2])) <= 80
    again = evalstats("import", table, "--json")
    shape = json.loads(again.stdout)
    assert set(shape) == {"files", "totals"}
    (file,) = shape["files"]
    assert {
        "path",
        "format",
        "suite",
        "runs",
        "cases",
        "trials",
        "statuses",
        "duplicates",
        "warnings",
    } <= set(file)
    assert (file["format"], file["suite"], file["runs"], file["cases"], file["trials"]) == (
        "table",
        "scores",
        1,
        2,
        3,
    )
    assert file["statuses"] == {"ok": 2, "unscored": 1}
    assert (shape["totals"]["trials"], shape["totals"]["added"]) == (3, 0)


def test_a_dry_run_writes_nothing(evalstats, table, tmp_path):
    done = evalstats(
        "import", table, "--dry-run", "--cluster-key", "topic", "--suite", "Mine", "--arm", "baseline"
    )
    assert done.returncode == 0 and "3 would be new" in done.stdout and not (tmp_path / "data").exists()


def test_columns_and_ranges(evalstats, table):
    table.write_text("q;p\na;50\nb;100\n")
    done = evalstats(
        "import", table, "--format", "table", "--map", "case=q,score=p", "--score-range", "0:100", "--json"
    )
    assert json.loads(done.stdout)["files"][0]["statuses"] == {"ok": 2}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.csv"], "absent.csv: is not there"),
        (["logs/scores.csv", "--format", "x"], "--format: unknown format 'x'"),
        (["logs/scores.csv", "--map", "case"], "--map: must be FIELD=COLUMN"),
        (["logs/scores.csv", "--map", "colour=x"], "--map: unknown field 'colour'"),
        (["logs/scores.csv", "--score-range", "5"], "--score-range: must be LOW:HIGH"),
        (["logs/scores.csv", "--score-range", "1:0"], "--score-range: must be LOW:HIGH"),
        (["logs/broken.csv"], "logs/broken.csv:2: has 1 cells, the header has 2"),
        (["logs/conflict.csv"], "(line 2)"),
        (["logs/scores.csv", "--on-conflict", "maybe"], "Invalid value"),
        ([], "Missing argument"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_2(words, message, evalstats, table):
    table.with_name("broken.csv").write_text("case,score\na\n")
    table.with_name("conflict.csv").write_text("case,trial,score\na,1,1\na,1,0\n")
    done = evalstats("import", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert (
        message in done.stderr
        and len(done.stderr.strip().splitlines()) == 1
        and "Traceback" not in done.stderr
    )


def test_a_refused_file_of_a_folder_is_named_and_exits_1(evalstats, table):
    benchmark = {"skill_name": "s", "configurations": {"with_skill": {"pass_rate": 1}}}
    table.with_name("benchmark.json").write_text(json.dumps(benchmark))
    done = evalstats("import", "logs")
    assert done.returncode == 1 and "benchmark.json: refused: holds aggregates only" in done.stdout
    assert "3 new" in done.stdout


def test_nothing_found_exits_1(evalstats, table):
    table.write_text("case,score\n")
    done = evalstats("import", table)
    assert done.returncode == 1 and "0 trial(s)" in done.stdout and "holds no trials" in done.stdout


def test_differences_are_shown_and_unknown_files_counted(evalstats, table):
    report = '<testsuite name="s" tests="1" failures="3"><testcase classname="t" name="a"/></testsuite>'
    table.with_name("r.xml").write_text(report)
    table.with_name("notes.md").write_text("hello")
    done = evalstats("import", "logs")
    assert "r.xml: the log says failures 3, its rows say 0" in done.stdout
    assert "left out, of no known format: 1 .md" in done.stdout and done.returncode == 0


def test_help_and_examples(evalstats):
    text = evalstats("import", "--help").stdout
    assert (
        "Example: evalstats import logs/" in text and "--on-conflict" in text and "--allow-truncated" in text
    )
