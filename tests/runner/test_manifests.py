"""The folder of a run, and coming back to it."""

import fcntl
import json
import os
import stat
import subprocess

import pytest

from evalstats import contract, runner
from evalstats import suite as suites
from evalstats.artifacts import Artifacts
from evalstats.errors import JournalError, UsageError
from evalstats.journal import journals, read_trials
from evalstats.runner import Options, events, manifests


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


def manifest_of(data, run_id):
    return json.loads((data / "runs" / run_id / "manifest.json").read_text())


def resume(data, run_id, on_event=lambda event: None):
    plan = runner.resume_plan(data, run_id)
    return plan, runner.run(plan, data=data, jobs=2, on_event=on_event)


def test_manifest_holds_the_plan_and_the_circumstances(make_suite, case, go, tmp_path):
    suite = make_suite(
        case("a", shell="true"),
        folder="repo/evals/tiny",
        root=tmp_path / "repo",
        metadata={"registry_version": "v7"},
    )
    ran = go(suite, mode="both", trials=2, seed=5, run_id="r", jobs=2)
    manifest = manifest_of(ran.data, "r-skill-off")
    assert manifest["suite"]["path"] == "evals/tiny/suite.json"
    assert manifest["suite"]["hashes"] == suites.hashes(suite)
    assert manifest["case_hashes"] == suites.case_hashes(suite)
    assert manifest["runs"] == [
        {"run_id": "r-skill-on", "arm": "skill-on"},
        {"run_id": "r-skill-off", "arm": "skill-off"},
    ]
    wanted = {"run_id": "r-skill-off", "group_id": "r", "arm": "skill-off", "axis": "skill", "mode": "both"}
    wanted |= {"cases": ["a"], "trials_per_case": 2, "seed": 5, "jobs": 2, "isolation": "subreaper"}
    wanted |= {"registry_version": "v7", "model": None, "judge_model": None, "is_mock": False, "git": None}
    assert {name: manifest[name] for name in wanted} == wanted
    assert manifest["runtime"]["name"] == "shell" and manifest["runtime"]["timeout_seconds"] == 60
    assert manifest["places"] == {
        "suite": "../repo/evals/tiny/suite.json",
        "root": "../repo",
        "absolute": {"suite": str(suite.path), "root": str(tmp_path / "repo")},
    }
    del manifest["places"]["absolute"]
    assert str(tmp_path) not in json.dumps(manifest)


def test_manifest_is_on_disk_before_the_first_trial(make_suite, case, go, data):
    there = []

    def look(event):
        if isinstance(event, events.Started | events.TrialStarted):
            there.append((data / "runs/r/manifest.json").is_file() and (data / "runs/r/suite.json").is_file())

    go(make_suite(case("a", shell="true")), run_id="r", on_event=look)
    assert there == [True, True]


def test_git_facts(make_suite, case, go, tmp_path):
    repo = tmp_path / "repo"
    suite = make_suite(case("a", shell="true"), folder="repo/evals/tiny", root=repo)

    def git(*arguments):
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        return subprocess.run(
            ["git", "-C", str(repo), *identity, *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q", "-b", "topic")
    assert go(suite, run_id="none").plan and manifest_of(tmp_path / "data", "none")["git"] == {
        "dirty": True,
        "candidate_ref": "topic",
    }
    git("add", ".")
    git("commit", "-q", "-m", "x")
    go(suite, run_id="clean")
    clean = {"dirty": False, "candidate_sha": git("rev-parse", "HEAD"), "candidate_ref": "topic"}
    assert manifest_of(tmp_path / "data", "clean")["git"] == clean
    suite.path.write_bytes(suite.raw + b"\n")
    (record,) = go(suite, run_id="dirty").result.records
    assert record["git"] == {**clean, "dirty": True}


def test_resume_after_a_torn_journal(make_suite, case, go, data):
    suite = make_suite(case("a", shell="true"), case("b", shell="true"))
    first = go(suite, trials=3, run_id="r", jobs=1)
    (path,) = journals(data / "runs/r")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:100])
    (data / "runs/r/record.json").unlink()
    told = []
    plan, result = resume(data, "r", told.append)
    assert [spec.key for spec in plan.specs] == [spec.key for spec in first.plan.specs[4:]]
    assert [(e.done, e.planned) for e in told if isinstance(e, events.TrialFinished)] == [(5, 6), (6, 6)]
    assert len(journals(data / "runs/r")) == 2
    assert path.read_bytes().endswith(lines[4][:100])  # never appended to
    trials = list(read_trials(data / "runs/r"))
    assert sorted(t.key for t in trials) == sorted(spec.key for spec in first.plan.specs)
    assert {t.key: t.seed for t in trials} == {spec.key: spec.seed for spec in first.plan.specs}
    assert result.records[0]["trials"] == {"planned": 6, "recorded": 6, "usable": 6, "unusable": {}}
    assert json.loads((data / "runs/r/record.json").read_text()) == json.loads(json.dumps(result.records[0]))


@pytest.mark.parametrize("name", ["r", "r-skill-on", "r-skill-off"])
def test_resume_by_the_group_or_either_arm(make_suite, case, go, data, name):
    go(make_suite(case("a", shell="true")), trials=2, run_id="r", mode="both")
    (path,) = journals(data / "runs/r-skill-off")
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    plan, result = resume(data, name)
    assert [(spec.run_id, plan.group_id) for spec in plan.specs] == [("r-skill-off", "r")]
    assert [record["run_id"] for record in result.records] == ["r-skill-on", "r-skill-off"]


def test_resume_of_a_selection_keeps_the_selection(make_suite, case, go, data):
    suite = make_suite(case("a", shell="true"), case("b", shell="true"), case("c", shell="true"))
    go(suite, run_id="r", case_ids=("c", "a"))
    plan, result = resume(data, "r")
    assert ([c.id for c in plan.cases], plan.specs) == (["a", "c"], ())
    assert [c["id"] for c in result.records[0]["case_results"]] == ["a", "c"]


def test_resume_refuses_a_suite_that_asks_something_else(make_suite, case, go, data):
    go(make_suite(case("a", shell="true")), run_id="r")
    make_suite(case("a", shell="false"))
    with pytest.raises(UsageError, match="changed since run r began; start a new run"):
        runner.resume_plan(data, "r")


def test_resume_does_not_mind_a_new_description(make_suite, case, go, data):
    go(make_suite(case("a", shell="true")), run_id="r")
    make_suite(case("a", shell="true"), description="better words")
    assert runner.resume_plan(data, "r").specs == ()


def test_resume_finds_a_tree_that_was_moved(make_suite, case, go, tmp_path):
    go(make_suite(case("a", shell="true")), run_id="r")
    moved = tmp_path.with_name(tmp_path.name + "-moved")
    tmp_path.rename(moved)
    assert runner.resume_plan(moved / "data", "r").suite.path.resolve() == moved / "suite/suite.json"
    moved.rename(tmp_path)


@pytest.mark.parametrize("name", ["x", "r-", "r-skill"])
def test_resume_of_what_is_not_there(make_suite, case, go, data, name):
    go(make_suite(case("a", shell="true")), run_id="r", mode="both")
    with pytest.raises(UsageError, match="there is no run"):
        runner.resume_plan(data, name)


def test_resume_of_a_folder_that_is_no_run(data):
    (data / "runs/r").mkdir(parents=True)
    with pytest.raises(JournalError):
        runner.resume_plan(data, "r")


def test_one_process_at_a_time(make_suite, case, go, data):
    go(make_suite(case("a", shell="true")), run_id="r")
    plan = runner.resume_plan(data, "r")
    descriptor = os.open(data / "runs/r", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match="is being run by another process"):
        runner.run(plan, data=data)
    os.close(descriptor)
    runner.run(plan, data=data)


def test_resume_clears_what_a_dead_runner_left(make_suite, case, go, data, nap):
    go(make_suite(case("a", shell="true")), run_id="r")
    (data / "runs/r/t/0123").mkdir(parents=True)
    resume(data, "r")
    assert not (data / "runs/r/t").exists()


def test_the_run_of_a_private_suite_is_its_owners_alone(make_suite, case, data):
    suite = make_suite(case("a", shell="echo out; umask; touch made"), visibility="private_holdout")
    plan = runner.plan(suite, Options(run_id="r", mode="both", role="evaluator"))
    before = os.umask(0o022)
    try:
        runner.run(plan, data=data)
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    private = data / "private"
    files = [path for path in private.rglob("*") if path.is_file()]
    assert {"manifest.json", "suite.json", "record.json"} < {path.name for path in files}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    folders = [private, *(path for path in private.rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    for run in plan.runs:
        (trial,) = read_trials(private / "runs" / run.run_id)
        assert Artifacts(private / "artifacts").get(trial.artifacts["stdout"]) == b"out\n0022\n"
    assert [path.name for path in data.iterdir()] == ["private"]
    assert stat.S_IMODE((suite.folder / "made").stat().st_mode) == 0o644  # trials keep the umask we came with


def test_a_private_suite_is_read_by_evaluators_alone(make_suite, case, data):
    suite = make_suite(case("a", shell="true"), visibility="private_holdout")
    words = "a private holdout is read only with --role evaluator"
    for role in (None, "author"):
        with pytest.raises(UsageError, match=words):
            runner.plan(suite, Options(run_id="r", role=role))
    runner.run(runner.plan(suite, Options(run_id="r", role="evaluator")), data=data)
    with pytest.raises(UsageError, match="there is no run r to resume"):
        runner.resume_plan(data, "r")
    assert runner.resume_plan(data, "r", role="evaluator").specs == ()


def test_private_and_public_runs_do_not_mix(make_suite, case, data):
    private = make_suite(case("a", shell="true"), visibility="private_holdout")
    runner.run(runner.plan(private, Options(run_id="r", role="evaluator")), data=data)
    public = runner.plan(make_suite(case("a", shell="true")), Options(run_id="p", role="evaluator"))
    with pytest.raises(UsageError, match="holds private suites alone"):
        runner.run(public, data=data / "private")
    runner.run(public, data=data)
    assert runner.resume_plan(data, "p", role="evaluator").specs == ()
    assert [path.name for path in (data / "runs").iterdir()] == ["p"]


def test_a_private_suite_that_is_gone_is_not_named(make_suite, case, data):
    suite = make_suite(case("a", shell="true"), visibility="private_holdout")
    runner.run(runner.plan(suite, Options(run_id="r", role="evaluator")), data=data)
    suite.path.unlink()
    with pytest.raises(UsageError, match="is gone, or no longer valid") as caught:
        runner.resume_plan(data, "r", role="evaluator")
    assert str(suite.folder) not in str(caught.value)


@pytest.mark.parametrize("left", ["nothing", "half a manifest", "a torn manifest", "an empty journal"])
def test_a_run_that_never_began_does_not_keep_its_id(make_suite, case, go, data, left):
    folder = data / "runs/r"
    folder.mkdir(parents=True)
    if left == "half a manifest":
        (folder / "suite.json").write_text("{}")
        (folder / ".manifest.json.1.tmp").write_text('{"run_')
    elif left == "a torn manifest":
        (folder / "manifest.json").write_text('{"run_')
    elif left == "an empty journal":
        (folder / "journal").mkdir()
        (folder / "journal/host-1-1.jsonl").touch()
    ran = go(make_suite(case("a", shell="true")), run_id="r")
    assert [t.passed for t in ran.trials] == [True]
    assert (folder / "suite.json").read_bytes() == ran.plan.suite.raw
    assert not list(folder.glob(".*"))
    assert runner.resume_plan(data, "r").specs == ()


def test_trials_without_a_manifest_are_not_taken_over(make_suite, case, go, data):
    go(make_suite(case("a", shell="true")), run_id="r")
    (data / "runs/r/manifest.json").unlink()
    with pytest.raises(UsageError, match=r"holds trials, but no manifest .* use another --run-id"):
        go(make_suite(case("a", shell="true")), run_id="r")


def test_resume_where_one_arm_has_no_manifest_yet(make_suite, case, go, data):
    go(make_suite(case("a", shell="true")), run_id="r", mode="both")
    for path in (data / "runs/r-skill-off").rglob("*.json*"):
        path.unlink()
    plan, result = resume(data, "r")
    assert [spec.run_id for spec in plan.specs] == ["r-skill-off"]
    assert len(result.records) == 2


def test_resume_when_the_data_folder_is_a_link(make_suite, case, go, data, tmp_path):
    (tmp_path / "far/away/disk").mkdir(parents=True)
    data.symlink_to(tmp_path / "far/away/disk")
    suite = make_suite(case("a", shell="true"))
    go(suite, run_id="r")
    for place in (data, tmp_path / "far/away/disk"):
        assert runner.resume_plan(place, "r").suite.path.resolve() == suite.path


def test_resume_when_the_data_folder_alone_was_moved(make_suite, case, go, data, tmp_path):
    suite = make_suite(case("a", shell="true"))
    go(suite, run_id="r")
    (tmp_path / "far/away").mkdir(parents=True)
    data.rename(tmp_path / "far/away/data")
    assert runner.resume_plan(tmp_path / "far/away/data", "r").suite.path == suite.path


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda m: {"run_id": "x"}, (None, "is a required property")),
        (lambda m: {**m, "cases": "a"}, ("/cases", "is not of type")),
        (lambda m: {**m, "trials_per_case": 0}, ("/trials_per_case", "minimum")),
        (lambda m: {**m, "places": {"root": "."}}, ("/places", '"suite" is a required property')),
        (
            lambda m: {**m, "suite": {**m["suite"], "hashes": {}}},
            ("/suite/hashes", '"scoring" is a required'),
        ),
    ],
)
def test_resume_names_what_is_wrong_with_a_manifest(make_suite, case, go, data, change, said):
    field, words = said
    go(make_suite(case("a", shell="true")), run_id="r")
    path = data / "runs/r/manifest.json"
    path.write_text(json.dumps(change(manifest_of(data, "r"))))
    with pytest.raises(JournalError, match=words) as caught:
        runner.resume_plan(data, "r")
    assert (caught.value.path, caught.value.field) == (path, field)


def test_an_unwritable_place_is_said_in_one_line(make_suite, case, tmp_path):
    (tmp_path / "file").touch()
    plan = runner.plan(make_suite(case("a", shell="true")), Options(run_id="r"))
    with pytest.raises(JournalError, match="cannot be made"):
        runner.run(plan, data=tmp_path / "file")


def test_the_version_is_that_of_the_installed_distribution():
    assert manifests.version() is None or manifests.version()[0].isdigit()
    assert contract.digest(b"")[:4] == "e3b0"
