"""`evalstats compare`: files without a store, verdicts under a policy, what must never be concluded."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalstats.cli import run_command

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real files are not here")
POLICY = {
    "schema_version": 1, "suite": "s", "rule": "three-verdict", "statistic": "pass_rate",
    "margin": 0.1, "alpha": 0.05, "history": {"minimum": 8, "window": 28},
}  # fmt: skip


def table(path: Path, rows: list[tuple[str, str, Any, int]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "model", "score", "trial"])
        writer.writerows(rows)
    return path


def arms(path: Path, a: list[list[int]], b: list[list[int]]) -> Path:
    """Write trials: one list of scores a case and side."""
    rows = [
        (f"c{case}", side, score, trial)
        for side, cases in (("a", a), ("b", b))
        for case, scores in enumerate(cases)
        for trial, score in enumerate(scores)
    ]
    return table(path, rows)


def compared(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = run_command(["compare", *map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def the(found: dict[str, Any], kind: str, **named: str) -> dict[str, Any]:
    return next(e for e in found[kind] if all(e[k] == v for k, v in named.items()))


@needs_shared
def test_the_inspect_pair(capsys: pytest.CaptureFixture[str]) -> None:
    folder = SHARED / "inspect_ai"
    a, b = (folder / f"gen_flaky_20x4_model-{m}.eval" for m in "ab")
    code, found = compared(capsys, f"a={a}", f"b={b}", "--margin", 0.1)
    difference = the(found, "estimates", quantity="difference")
    assert code == 0 and found["verdict"] is None
    assert (difference["side"], difference["minus"]) == ("b", "a")
    assert difference["estimate"] == pytest.approx(-0.05)
    assert difference["std_error"] == pytest.approx(0.04659455581480467, rel=1e-12)
    assert [side["n_cases"] for side in found["sides"]] == [20, 20]
    assert not Path("data").exists()  # no store was touched


@needs_shared
@pytest.mark.parametrize("name", ["luna", "terra"])
def test_no_claim_survives_four_task_clusters(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    log = SHARED / f"agentops/evals/estate-ablation/results/sweep1-{name}.jsonl"
    Path("policy.json").write_text(json.dumps(POLICY))
    code, found = compared(capsys, log, "--policy", "policy.json")
    assert (code, found["verdict"]) == (4, "inconclusive")
    assert any(r.startswith("underpowered: 4 cases") and "cases needed" in r for r in found["reasons"])


@needs_shared
def test_three_sides_are_corrected_and_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    card = next((SHARED / "agentops/evals/plugin-eval/scorecards").glob("*.json"))
    code, found = compared(capsys, card)
    moved = {
        (e["side"].split()[0], e["minus"].split()[0]): e["estimate"]
        for e in found["estimates"]
        if e["quantity"] == "difference"
    }
    # Means of case rates over the shared cases, from the scorecard's own figures.
    assert moved["without_plugin", "with_3_10"] == pytest.approx(-0.2305, abs=5e-5)
    assert moved["without_plugin", "with_3_9_0"] == pytest.approx(-0.0696, abs=5e-5)
    assert moved["with_3_9_0", "with_3_10"] == pytest.approx(-0.1429, abs=5e-5)
    assert code == 0 and all(
        "Holm" in str(test["caveats"]) for test in found["tests"] if test["test"] == "difference"
    )
    assert ["with_3_9_0 skill-on", "without_plugin skill-off"] in found["not_told_apart"]


def test_the_verdicts_of_a_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.json").write_text(json.dumps(POLICY))
    mixed = [[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0]] * 10
    worse = [[1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 0], [1, 0, 1, 0]] * 10
    for a, b, code, word in (
        (mixed, worse, 1, "regression"),
        (worse, mixed, 0, "improvement"),
        (mixed, [scores[::-1] for scores in mixed[1:] + mixed[:1]], 3, "advisory"),  # equal case by case
        (mixed[:4], [[1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]], 4, "inconclusive"),
    ):
        log = arms(tmp_path / f"{word}.csv", a, b)
        assert compared(capsys, log, "--policy", "policy.json")[0] == code, word
        assert compared(capsys, log, "--policy", "policy.json")[1]["verdict"] == word


def test_an_equivalent_pair_passes_only_by_tost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.json").write_text(json.dumps(POLICY))
    a = [[1, 1, 1, 0], [1, 1, 0, 1]] * 60
    b = [*a[:-2], [1, 1, 1, 1], [1, 0, 0, 1]]  # one case better, one worse
    code, found = compared(capsys, arms(tmp_path / "t.csv", a, b), "--policy", "policy.json")
    assert (code, found["verdict"]) == (0, "pass")
    assert found["reasons"][0] == "no change: the difference lies within the margin (TOST)"
    assert the(found, "tests", test="equivalence")["p_value"] < 0.05


def test_a_mean_does_not_hide_a_case_that_fails_every_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [[1] * 10 for _ in range(9)]
    log = arms(tmp_path / "t.csv", [*cases, [1] * 10], [*cases, [0] * 10])
    assert run_command(["compare", str(log)]) == 0
    printed = capsys.readouterr().out
    assert "c9          10/10  0/10" in printed
    assert "no case ever gave two different scores: copies, or deterministic" in printed


def test_lost_trials_leave_the_denominator_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "t.csv").open("w") as file:
        file.write("case,model,score,trial,outcome\n")
        for case in range(10):
            file.write(
                f"c{case},a,1,0,ok\nc{case},b,{'' if case < 4 else 1},0,{'error' if case < 4 else 'ok'}\n"
            )
    code, found = compared(capsys, "t.csv")
    assert "b lost 40% of its trials to infrastructure (limit 10%)" in found["reasons"]
    assert "b: 4 of 10 trials have no score and are left out" in found["notes"]
    assert code == 3  # more than a fifth of the cases has no partner, so nothing is estimated
    assert the(found, "estimates", quantity="difference")["estimate"] is None
    assert {a["reason"] for a in found["attrition"]} == {"no usable trial in b"}


def test_of_a_retried_trial_the_last_attempt_alone_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"c{n}", side, int(side == "b" or n % 2), 1) for n in range(8) for side in "ab"]
    clean, retried = table(tmp_path / "clean.csv", rows), tmp_path / "retried.csv"
    table(retried, [("c1", "a", "", 1), ("c2", "b", "", 1), *rows])
    (_, expected), (_, found) = compared(capsys, clean), compared(capsys, retried)
    assert found["estimates"] == expected["estimates"]
    assert [side["n_trials"] for side in found["sides"]] == [8, 8]


def test_cases_that_ask_different_things_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side, texts in (("a", ["x", "y"]), ("b", ["x", "y", "z"])):
        runs = [
            {
                "eval_id": case, "configuration": "with_skill", "run_number": 1,
                "expectations": [{"text": t, "passed": True} for t in (texts if case == 0 else ["x"])],
            }
            for case in range(4)
        ]  # fmt: skip
        meta = {"skill_name": "s", "timestamp": f"2026-01-0{len(texts)}T00:00:00Z"}
        (tmp_path / f"{side}.json").write_text(
            json.dumps({"metadata": meta, "runs": runs, "run_summary": {}})
        )
    code, found = compared(capsys, "a.json", "b.json")
    assert code == 0
    assert found["asked_differently"] == ["0"]
    assert the(found, "estimates", quantity="difference")["n_cases"] == 3


def test_clusters_that_are_named_widen_the_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "t.csv").open("w") as file:
        file.write("case,model,score,topic\n")
        for case in range(40):  # whole topics move together
            file.write(f"c{case},a,0,t{case // 5}\nc{case},b,{int(case // 5 % 2)},t{case // 5}\n")
    plain = the(compared(capsys, "t.csv")[1], "estimates", quantity="difference")
    named = the(compared(capsys, "t.csv", "--cluster-key", "topic")[1], "estimates", quantity="difference")
    assert named["n_clusters"] == 8 and plain["n_clusters"] is None
    # Eight equal clusters of which half moved: the standard error of 8 means of 0 or 1.
    assert named["std_error"] == pytest.approx(math.sqrt(8 * 0.25 / 7 / 8), rel=0.08)
    assert named["std_error"] > 2 * plain["std_error"]


def test_runs_and_arms_of_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = arms(tmp_path / "t.csv", [[1, 0]] * 6, [[1, 1]] * 6)
    assert run_command(["import", str(log), "--suite", "s"]) == 0
    capsys.readouterr()
    run_command(["runs", "--json"])
    runs = [run["run_id"] for run in json.loads(capsys.readouterr().out)]
    code, found = compared(capsys, *runs)
    assert code == 0 and abs(the(found, "estimates", quantity="difference")["estimate"]) == pytest.approx(0.5)
    assert compared(capsys, "s@candidate", runs[0])[1]["sides"][0]["runs"] == sorted(runs)


def test_in_the_store_a_case_varies_within_a_run_or_between_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = arms(tmp_path / "t.csv", [[1, 1], [0, 0]] * 6, [[1, 1], [1, 1]] * 6)
    assert run_command(["import", str(log), "--suite", "steady"]) == 0
    log = arms(tmp_path / "t.csv", [[1, 0], [0, 0]] * 6, [[1, 0], [1, 1]] * 6)
    assert run_command(["import", str(log), "--suite", "restless"]) == 0
    capsys.readouterr()
    run_command(["runs", "--json"])
    runs: dict[str, list[str]] = {"steady": [], "restless": []}
    for run in json.loads(capsys.readouterr().out):
        runs[run["suite_id"]].append(run["run_id"])

    def copies(*names: str) -> int:
        return sum("no case ever gave" in note for note in compared(capsys, *names)[1]["notes"])

    assert (copies(*runs["steady"]), copies(*runs["restless"])) == (2, 0)
    assert copies("steady@candidate", runs["steady"][0]) == 1  # two runs pooled, which differ


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope", "nope2"], "neither a path, nor SUITE@ARM, nor a run"),
        (["x@north", "y"], "arms: skill-on"),
        (["one.csv"], "needs two sides"),
        (["one.csv", "two.csv", "--score-range", "1:0"], "LOW below HIGH"),
        (["one.csv", "two.csv", "--map", "case"], "FIELD=COLUMN"),
    ],
)
def test_bad_questions_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("case,score\na,1\nb,0\nc,1\n")
    assert run_command(["compare", *arguments]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and len(printed.err.splitlines()) == 1 and not printed.out
