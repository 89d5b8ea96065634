"""The judge and label commands as a person types them, on real runs, a real store and a judge on this machine."""

import csv
import importlib.util
import io
import json
import shutil
from pathlib import Path

import pytest

from evalstats import contract, store
from evalstats.journal import read_manifest

spec = importlib.util.spec_from_file_location(
    "judging_fixtures", Path(__file__).parent.parent / "judging" / "conftest.py"
)
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)
evalstats, judge_server, ran = fixtures.evalstats, fixtures.judge_server, fixtures.ran
says, polite, graded = fixtures.says, fixtures.polite, fixtures.graded
DB = "data/evalstats.duckdb"


def narrow(text):
    return max((len(line) for line in text.splitlines()), default=0) <= 80


def prints(root):
    with store.open(root / DB, read_only=True) as opened:
        return store.fingerprint(opened), opened.case_runs("manners").set_index(["run_id", "case_id"])


def record(root, run="r1"):
    return json.loads((root / f"data/runs/{run}/record.json").read_text())


def test_judging_scores_the_run_everywhere(evalstats, judge_server, ran):
    data = ran()
    assert record(data.parent)["status"] == "inconclusive"
    server = judge_server()
    done = evalstats("judge", "r1", "--base-url", server.url, "--repeats", 3)
    assert done.code == 0, done.err
    assert "6 yes, 12 no, 0 error; 18 asked now" in done.out and narrow(done.out)
    assert "the majority of 3 decides the scores" in done.out
    found = record(done.root)
    scores = {case["id"]: (case["score"], case["status"]) for case in found["case_results"]}
    assert scores == {"nice": (1.0, "pass"), "rude": (0.0, "fail"), "mute": (0.0, "fail")}
    assert found["judge_model"] == "mistral-judge" and found["trials"]["usable"] == 6
    assert found["judge_rubric_sha256"] == contract.digest(fixtures.RUBRIC.encode())
    assert found["aggregate_score"] == pytest.approx(1 / 3) and contract.problems(found, "eval-run.v1") == []
    _, table = prints(done.root)
    assert table.loc[("r1", "nice"), ["n_usable", "n_passed", "score_sum"]].tolist() == [2, 2, 2.0]
    assert table.loc[("r1", "rude"), ["n_usable", "n_passed", "score_sum"]].tolist() == [2, 0, 0.0]
    assert set(table["judge_model"]) == {"mistral-judge"}
    again = evalstats("judge", "r1", "--base-url", server.url, "--repeats", 3)
    assert "0 asked now" in again.out and len(server.requests) == 18


def test_a_score_is_the_mean_of_its_votes(evalstats, judge_server, ran):
    ran([fixtures.case("a", "echo x")], trials=1)
    votes = iter(["yes", "no", "yes"])
    server = judge_server(lambda r: says(f'{{"verdict": "{next(votes)}"}}'))
    done = evalstats("judge", "r1", "--base-url", server.url, "--repeats", 3, "-j", 1)
    case = record(done.root)["case_results"][0]
    assert case["score"] == pytest.approx(2 / 3) and case["status"] == "pass"


def test_the_store_is_the_same_in_whatever_order_things_came(evalstats, judge_server, ran):
    data = ran()
    server = judge_server()
    evalstats("judge", "r1", "--base-url", server.url, "--repeats", 2)
    evalstats("judge", "r1", "--base-url", server.url, "--repeats", 3, "--model", "gpt-x")  # beside it
    evalstats("run", "manners", "--run-id", "r2")
    step_by_step, table = prints(data.parent)
    assert evalstats("db", "check").code == 0
    assert evalstats("db", "rebuild").code == 0
    rebuilt, again = prints(data.parent)
    assert step_by_step == rebuilt and table.equals(again)
    assert evalstats("db", "check").out == "store and journals agree\n"
    evalstats("ingest")
    assert prints(data.parent)[0] == rebuilt


def test_a_lake_answers_about_judgements_as_the_store_does(evalstats, judge_server, ran, tmp_path):
    ran()
    evalstats("judge", "r1", "--base-url", judge_server().url, "--repeats", 2)
    assert evalstats("db", "export", "--parquet", "lake").code == 0
    with store.open(tmp_path / DB, read_only=True) as one, store.open(tmp_path / "lake") as other:
        for ask in ("judgements", "labels"):
            here, there = (getattr(each, ask)("manners") for each in (one, other))
            assert here.equals(there) and list(here.columns) == list(there.columns)
        assert len(one.judgements("manners")) == 12
        # six trials of three cases, one required question each: a sixth of the headline hangs on each
        assert one.judgements("manners")["of_headline"].unique() == pytest.approx([1 / 6])


def test_check_finds_judgements_that_were_not_ingested(evalstats, judge_server, ran, tmp_path):
    ran()
    shutil.copy(tmp_path / DB, tmp_path / "before.duckdb")
    evalstats("judge", "r1", "--base-url", judge_server().url)
    found = evalstats("db", "check", "--store", "before.duckdb")
    assert found.code == 1 and "6 judgements of its journals are not in the store" in found.out


def test_the_judge_that_decides_can_be_changed(evalstats, judge_server, ran):
    ran()
    evalstats("judge", "r1", "--base-url", judge_server().url)
    lenient = judge_server(says('{"verdict": "yes"}'))
    beside = evalstats("judge", "r1", "--base-url", lenient.url, "--model", "gpt-x")
    assert "measurements beside" in beside.out and record(beside.root)["judge_model"] == "mistral-judge"
    now = evalstats("judge", "r1", "--base-url", lenient.url, "--model", "gpt-x", "--deploy")
    assert record(now.root)["judge_model"] == "gpt-x" and record(now.root)["aggregate_score"] == 1.0
    _, table = prints(now.root)
    assert table["n_passed"].tolist() == [2, 2, 2]


def test_an_undecided_text_stays_unscored_and_is_told(evalstats, judge_server, ran):
    ran()
    server = judge_server(lambda r: says("hm") if "now" in graded(r) else polite(r))
    done = evalstats("judge", "r1", "--base-url", server.url)
    assert done.code == 3 and "2 text(s) have no verdict and stay unscored" in done.out
    assert "errors: 2 unparsable" in done.out
    found = {c["id"]: c for c in record(done.root)["case_results"]}
    assert found["rude"]["score"] is None and found["nice"]["score"] == 1.0
    assert found["rude"]["diagnostics"] == ["the judge gave no verdict in 1 judgement(s)"]


def test_run_and_judge_in_one(evalstats, judge_server, tmp_path):
    fixtures.write_suite(tmp_path, fixtures.CASES)
    server = judge_server()
    done = evalstats(
        "run", "manners", "--run-id", "r1", "--mode", "both", "--trials", 2, "--judge-repeats", 2, "--judge-url",
        server.url, "--out", "card.json",
    )  # fmt: skip
    assert len(server.requests) == 3 * 2 * 2 * 2
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["skill_on_aggregate"] == pytest.approx(1 / 3) == card["skill_off_aggregate"]
    assert done.code == 1 and "nice" in done.out  # rude and mute fail
    resumed = evalstats("run", "--resume", "r1")
    assert resumed.code == 1 and record(tmp_path, "r1-skill-on")["aggregate_score"] == pytest.approx(1 / 3)
    order = [r.body["seed"] for r in server.requests]
    assert order != sorted(order) or len(set(order)) == 24


def test_run_refuses_before_it_runs_what_could_not_be_judged(evalstats, judge_server, tmp_path):
    fixtures.write_suite(tmp_path, fixtures.CASES)
    missing = evalstats("run", "manners", "--run-id", "r1", "--judge-repeats", 2)
    assert missing.code == 2 and "--base-url" in missing.err
    fixtures.write_suite(tmp_path, [fixtures.case("a", "true", {"type": "exit_code", "value": 0})])
    nothing = evalstats(
        "run", "manners", "--run-id", "r1", "--judge-repeats", 2, "--judge-url", "http://127.0.0.1:9/v1"
    )
    assert nothing.code == 2 and "no expectation of the suite asks a judge" in nothing.err
    assert not (tmp_path / "data/runs/r1").exists()


def test_a_judge_that_is_away_costs_no_trial(evalstats, tmp_path):
    fixtures.write_suite(tmp_path, [fixtures.case("a", "echo x")])
    done = evalstats("run", "manners", "--run-id", "r1", "--judge-repeats", 1, "--judge-model", "m", "--judge-url",
                     "http://127.0.0.1:9/v1")  # fmt: skip
    assert done.code in (1, 3) and record(tmp_path)["case_results"][0]["score"] is None
    assert read_manifest(tmp_path / "data/runs/r1")["judge_model"] == "m"


def test_a_key_goes_into_a_header_and_nowhere_else(evalstats, judge_server, ran, monkeypatch, tmp_path):
    ran()
    monkeypatch.setenv("EVALSTATS_JUDGE_KEY", "k" * 20)
    server = judge_server()
    evalstats("judge", "r1", "--base-url", server.url)
    assert server.requests[0].headers["authorization"] == "Bearer " + "k" * 20
    for path in (tmp_path / "data").rglob("*"):
        assert not path.is_file() or b"k" * 20 not in path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("judge", "r9", "--base-url", "http://127.0.0.1:9/v1"), "there is no run r9"),
        (("judge", "r1"), "give the address of the judge"),
        (("judge", "r1", "--base-url", "http://127.0.0.1:9/v1", "--form", "poem"), "unknown form 'poem'"),
        (("judge", "r1", "--base-url", "http://127.0.0.1:9/v1", "--rubric", "none.md"), "the rubric cannot be read"),
        (("judge", "r1", "--base-url", "http://127.0.0.1:9/v1", "--max-rpm", "0"), "above 0"),
        (("judge", "r1", "--base-url", "http://127.0.0.1:9/v1", "--repeats", "0"), "repeats"),
        (("judge", "migrate", "a", "b"), "nothing of suite manners was judged"),
        (("judge", "escalate", "--suite", "nope"), "unknown suite 'nope'"),
        (("judge", "sentinel", "s"), "cannot be read"),
        (("judge", "sentinel", "../s"), "a sentinel is called"),
        (("judge", "sentinel", "s", "--level", "2"), "must lie between 0 and 1"),
        (("labels", "export", "r9"), "there is no run r9"),
        (("labels", "import", "none.csv", "r1"), "none.csv"),
    ],
)  # fmt: skip
def test_what_is_asked_wrongly_is_one_clear_line(evalstats, ran, arguments, message):
    ran([fixtures.case("a", "true")], trials=1)
    done = evalstats(*arguments)
    assert done.code == 2 and message in done.err and done.out == ""
    assert len(done.err.strip().splitlines()) == 1 and "Traceback" not in done.err


def test_migrate_and_escalate_and_label(evalstats, judge_server, ran, tmp_path):
    ran()
    evalstats("judge", "r1", "--base-url", judge_server().url, "--repeats", 2)
    lenient = judge_server(says('{"verdict": "yes"}'))
    evalstats("judge", "r1", "--base-url", lenient.url, "--model", "gpt-x")
    moved = evalstats("judge", "migrate", "mistral-judge", "gpt-x", "--pass-mark", "0.5")
    assert moved.code == 0 and "0 yes become no, 4 no become yes" in moved.out
    document = json.loads(evalstats("judge", "migrate", "mistral-judge", "gpt-x", "--json").out)
    assert document["counts"] == {"both_yes": 2, "only_new": 4, "only_old": 0, "both_no": 0}
    assert document["test"]["p_value"] == pytest.approx(2 / 16) and len(document["moved"]) == 4
    first = evalstats("judge", "escalate", "-n", 4, "--out", "to-label.csv")
    assert first.code == 0 and narrow(first.out)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "to-label.csv").read_text())))
    assert {row["case"] for row in rows} == {"rude", "mute"}  # where the judges disagree
    for row in rows:
        row["label"], row["labeller"] = "no", "ada"
    with (tmp_path / "labelled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert "4 label(s) added" in evalstats("labels", "import", "labelled.csv", "r1").out
    left = json.loads(evalstats("judge", "escalate", "--json").out)
    assert [row["case_id"] for row in left] == ["nice", "nice"]


def test_labels_say_whether_the_judge_is_right(evalstats, judge_server, ran, tmp_path):
    """The store's two questions feed the estimates: 12 right of 12 yes, 10 right of 12 no, counted by hand."""
    from evalstats import estimates

    cases = [fixtures.case(f"p{i}", f"echo please {i}") for i in range(12)]
    cases += [fixtures.case(f"n{i}", f"echo now {i}") for i in range(12)]
    ran(cases, trials=1)
    server = judge_server(
        lambda r: polite(r) if graded(r).strip() not in ("now 0", "now 1") else says('{"verdict": "yes"}')
    )
    evalstats("judge", "r1", "--base-url", server.url, "--repeats", 2)
    rows = list(csv.DictReader(io.StringIO(evalstats("labels", "export", "r1", "--no-texts").out)))
    keys = ("run", "case", "arm", "trial", "expectation")
    lines = [",".join([*map(r.get, keys), "yes" if r["case"][0] == "p" else "no"]) for r in rows]
    (tmp_path / "l.csv").write_text("run,case,arm,trial,expectation,label\n" + "\n".join(lines) + "\n")
    assert evalstats("labels", "import", "l.csv", "r1", "--labeller", "ada").code == 0
    with store.open(tmp_path / DB, read_only=True) as opened:
        judgements, labels = opened.judgements("manners"), opened.labels("manners")
    found = estimates.judge_accuracy(judgements, labels, arms=("skill-on", "skill-off"))
    overall = found[found["arm"].isna()].set_index("measure")["estimate"]
    assert overall["true positive rate"] == 1.0 and overall["true negative rate"] == pytest.approx(10 / 12)
    floor = estimates.noise_floor(judgements, deployed=2).set_index("measure")
    assert floor.loc["flips", "estimate"] == 0.0 and floor.loc["flips", "n_cases"] == 24


def test_sentinel_in_its_whole_life(evalstats, judge_server, ran):
    ran([fixtures.case(f"c{i}", f"echo {'please' if i % 2 else 'now'} {i}") for i in range(6)], trials=1)
    good, bad = judge_server(), judge_server(says('{"verdict": "yes"}'))
    made = evalstats("judge", "sentinel", "nightly", "--freeze", "r1", "--base-url", good.url)
    assert made.code == 0 and "6 text(s) frozen, judged 3 time(s) each" in made.out
    assert evalstats("judge", "sentinel", "nightly", "--base-url", good.url).code == 0
    caught = evalstats("judge", "sentinel", "nightly", "--base-url", bad.url)
    assert caught.code == 1 and "CHANGED" in caught.out and narrow(caught.out)
    document = json.loads(evalstats("judge", "sentinel", "nightly", "--base-url", bad.url, "--json").out)
    assert [line["changed"] for line in document["history"]] == [False, True, True]
    assert document["unchanged_at"] == document["history"][0]["checked_at"]
    nothing = evalstats("judge", "sentinel", "nightly", "--base-url", judge_server(says("?")).url)
    assert nothing.code == 3 and "cannot tell" in nothing.out


def test_rubric_check_tells_an_agreeable_judge(evalstats, judge_server, ran, tmp_path):
    ran(trials=1)
    words = {
        "schema_version": 1,
        "rewordings": [{"question": fixtures.QUESTION, "same": ["Is there a please?"]}],
    }
    (tmp_path / "words.json").write_text(json.dumps(words))
    agreeable = judge_server(says('{"verdict": "yes"}'))
    done = evalstats("judge", "rubric-check", "r1", "--base-url", agreeable.url, "--rewordings", "words.json")
    assert done.code == 0 and narrow(done.out)
    asked = [
        "judge",
        "rubric-check",
        "r1",
        "--base-url",
        agreeable.url,
        "--rewordings",
        "words.json",
        "--json",
    ]
    found = {m["measure"]: m["estimate"] for m in json.loads(evalstats(*asked).out)["measures"]}
    assert found == {"same, reworded": 1.0, "same, inverted": 0.0, "yes to both": 1.0, "no to both": 0.0}
    assert len(agreeable.requests) == 3 * 3  # recorded under their wordings, so not asked again
    assert record(tmp_path)["status"] == "inconclusive"  # other wordings enter no score


def test_a_private_run_is_judged_in_its_own_tree(evalstats, judge_server, tmp_path):
    fixtures.write_suite(tmp_path, fixtures.CASES, visibility="private_holdout")
    assert evalstats("run", "manners", "--run-id", "r1", "--role", "evaluator").code in (1, 3)
    server = judge_server()
    refused = evalstats("judge", "r1", "--base-url", server.url)
    assert refused.code == 2 and server.requests == []
    done = evalstats("judge", "r1", "--base-url", server.url, "--role", "evaluator")
    assert done.code == 0 and "nice" not in done.out + done.err
    files = list((tmp_path / "data/private/runs/r1/judgements").glob("*.jsonl"))
    assert files and all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert (tmp_path / "data/private/runs/r1/record.json").stat().st_mode & 0o077 == 0
    assert evalstats("labels", "export", "r1").code == 2
