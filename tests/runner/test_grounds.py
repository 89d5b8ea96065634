"""Where arms stand: a candidate on the files of its commit, the baseline on the working tree."""

import json
import subprocess

import pytest

from evalstats import runner
from evalstats.contract import Arm
from evalstats.errors import SuiteError, UsageError
from evalstats.journal import journals

WHERE = "cat ../../lib/word; cat $HOME/evals/x/brought 2>/dev/null; true"


@pytest.fixture
def repo(make_suite, case, tmp_path):
    """Return (root, function that commits a word and loads the suite of it)."""
    root = tmp_path / "repo"

    def commit(word, *cases, **sections):
        cases = cases or (
            case("a", {"type": "artifact_contains", "target": "../../lib/word", "value": "new"}, shell=WHERE),
        )
        suite = make_suite(*cases, folder="repo/evals/x", root=root, **sections)
        (root / "lib").mkdir(exist_ok=True)
        (root / "lib/word").write_text(word + "\n")
        (root / "evals/x/brought").write_text(f"brought by {word}\n")
        if not (root / ".git").exists():
            git("init", "-q", "-b", "main")
        git("add", ".")
        git("commit", "-q", "--allow-empty", "-m", word)
        git("tag", word)
        return suite

    def git(*words):
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        return subprocess.run(
            ["git", "-C", root, *identity, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    return root, commit, git


def out_of(ran):
    return {t.arm.value: ran.blobs.get(t.artifacts["stdout"]).decode() for t in ran.trials}


def test_the_candidate_runs_on_its_commit_and_the_baseline_on_the_working_tree(repo, go):
    root, commit, git = repo
    commit("new")
    suite = commit("old")
    (root / "lib/word").write_text("edited\n")
    ran = go(suite, candidate="new", trials=2, run_id="r")
    assert out_of(ran) == {"candidate": "new\n", "baseline": "edited\n"}
    assert {(t.arm, t.passed) for t in ran.trials} == {(Arm.CANDIDATE, True), (Arm.BASELINE, False)}
    assert [r["run_id"] for r in ran.result.records] == ["r-candidate", "r-baseline"]
    assert not (ran.data / "runs/r-candidate/candidate").exists()
    manifests = [
        json.loads((ran.data / f"runs/r-{arm}/manifest.json").read_text())
        for arm in ("candidate", "baseline")
    ]
    sha = git("rev-parse", "new")
    assert [m["candidate"] for m in manifests] == [{"ref": "new", "sha": sha}] * 2
    assert manifests[0]["git"] == {"dirty": False, "candidate_ref": "new", "candidate_sha": sha}
    assert manifests[1]["git"]["candidate_sha"] == git("rev-parse", "old")
    assert [(m["axis"], m["mode"]) for m in manifests] == [("candidate", "candidate")] * 2


def test_an_arm_brings_the_files_of_its_own_tree(repo, go):
    _, commit, _ = repo
    files = {arm: {"files": ["evals/x/brought"]} for arm in ("candidate", "baseline")}
    commit("new", arms=files)
    ran = go(commit("old", arms=files), candidate="new")
    assert out_of(ran) == {"candidate": "new\nbrought by new\n", "baseline": "old\nbrought by old\n"}


def test_the_questions_are_those_of_the_working_tree(repo, go, case):
    _, commit, _ = repo
    commit("new")
    ran = go(commit("old", case("b", shell="cat ../../lib/word")), candidate="new")
    assert {t.case_id for t in ran.trials} == {"b"}
    assert out_of(ran) == {"candidate": "new\n", "baseline": "old\n"}


def test_a_resumed_run_takes_the_commit_it_began_with(repo, go):
    _, commit, git = repo
    commit("new")
    ran = go(commit("old"), candidate="new", trials=2, run_id="r")
    for arm in ("candidate", "baseline"):
        (path,) = journals(ran.data / f"runs/r-{arm}")
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    git("tag", "-f", "new", "old")
    (ran.data / "runs/r-candidate/candidate").mkdir()  # as a runner that was killed leaves it
    plan = runner.resume_plan(ran.data, "r")
    assert (plan.mode, len(plan.specs)) == ("candidate", 2)
    result = runner.run(plan, data=ran.data)
    assert {(t.arm, t.passed) for t in result.trials} == {(Arm.CANDIDATE, True), (Arm.BASELINE, False)}


def test_a_resumed_context_is_laid_again(make_suite, case, go, tmp_path):
    suite = make_suite(
        case("a", shell="cat $EVALSTATS_CONTEXT_ROOT/note"), arms={"context-on": {"files": ["note"]}}
    )
    (tmp_path / "suite/note").write_text("noted\n")
    ran = go(suite, context_mode="ab", trials=2, run_id="r")
    (path,) = journals(ran.data / "runs/r-context-on")
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    result = runner.run(runner.resume_plan(ran.data, "r"), data=ran.data)
    assert {(t.arm, t.passed) for t in result.trials} == {(Arm.CONTEXT_ON, True), (Arm.CONTEXT_OFF, False)}
    (tmp_path / "suite/note").write_text("something else\n")
    with pytest.raises(UsageError, match="changed since run r began"):
        runner.resume_plan(ran.data, "r")


def test_a_commit_without_the_suite(repo, go):
    root, commit, git = repo
    suite = commit("old")
    git("rm", "-q", "-r", "--cached", "evals")
    git("commit", "-q", "-m", "bare")
    with pytest.raises(UsageError, match="has no folder of this suite") as caught:
        go(suite, candidate="main", run_id="r")
    assert caught.value.field == "--candidate"
    assert not list((root.parent / "data").rglob("manifest.json"))
    git("reset", "-q", "old")
    assert go(suite, candidate="main", run_id="r").trials  # the id is free again


def test_a_commit_that_lacks_what_its_cases_stand_on(repo, go):
    root, commit, _ = repo
    commit("new")
    (root / "extra").write_text("x")
    suite = commit("old", fixtures=[{"path": "extra", "purpose": "test"}])
    with pytest.raises(SuiteError) as caught:
        go(suite, candidate="new")
    (problem,) = caught.value.problems
    assert (caught.value.path, problem.pointer) == (suite.path, "/fixtures/0/path")
    assert problem.message.startswith("in new: fixture 'extra' is missing")
