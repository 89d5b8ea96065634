"""`evalstats site build`: JSON for scripts, one line for each problem, and exit code 1 when there is one."""

import json

from evalstats.cli import run_command


def test_it_says_where_the_dashboard_is(publish, tmp_path, capsys):
    publish("lift", "demo")
    words = ["site", "build", "--data", str(tmp_path), "--suites", str(tmp_path / "evals")]
    assert run_command(words) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path}/site/index.html (2 page(s), ")
    out = tmp_path / "public"
    assert run_command([*words, "--out", str(out), "--reports", str(tmp_path / "none"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "path": str(out), "index": str(out / "index.html"), "pages": 1, "bytes": told["bytes"], "problems": [],
    }  # fmt: skip


def test_a_problem_is_a_line_on_stderr_and_never_stops_the_build(publish, tmp_path, capsys):
    version = publish("lift", "demo")
    (version / "report.html").write_bytes(b"else")
    (tmp_path / "gates").mkdir()
    (tmp_path / "gates/demo.jsonl").write_text("{not a decision\n")
    words = ["site", "build", "--data", str(tmp_path), "--suites", str(tmp_path / "evals"), "--json"]
    assert run_command(words) == 1
    said = capsys.readouterr()
    problems = json.loads(said.out)["problems"]
    assert len(problems) == 2 and said.err.count("\n") == 2
    assert (tmp_path / "site/index.html").is_file()
