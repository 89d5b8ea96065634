"""The context root of an arm, and trials that did not find it as it was laid."""

import os
from pathlib import Path

import pytest

from evalstats.contract import Arm, DegradedReason, Outcome, Status
from evalstats.errors import SuiteError, UsageError
from evalstats.runner import Options, contexts, plan
from evalstats.runner.contexts import ContextRoot

MUTATED = DegradedReason.CONTEXT_ROOT_MUTATED_LIVE_STATE
UNAVAILABLE = DegradedReason.CONTEXT_ROOT_UNAVAILABLE
ROOT = "$EVALSTATS_CONTEXT_ROOT"
WRITE = f"chmod -R u+w {ROOT}; echo more >> {ROOT}/facts.md"


@pytest.fixture
def notes(make_suite, case, tmp_path):
    """Return a function that makes a suite of these cases with one note, and one below, for context-on."""

    def make(*cases, arms=None, **sections):
        (tmp_path / "repo/notes/deep").mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo/notes/facts.md").write_text("the code is 4711\n")
        (tmp_path / "repo/notes/deep/more.md").write_text("more\n")
        chosen = {"context-on": {"files": ["notes"]}} if arms is None else arms
        return make_suite(*cases, folder="repo/evals/x", root=tmp_path / "repo", arms=chosen, **sections)

    return make


def reasons(ran, arm=None):
    return [
        (t.trial_index, t.outcome, t.reason)
        for t in sorted(ran.trials, key=lambda t: t.trial_index)
        if arm in (None, t.arm)
    ]


# --- what a trial is given -------------------------------------------------------------------------


def test_each_arm_has_a_root_of_its_own_and_hooks_stay_on(notes, case, go):
    shell = (
        f'echo "$AGENTOPS_HOOKS_DISABLED" {ROOT} $AO_AGENTS_DIR; '
        f"cd {ROOT} && find . -type f | sort; cat facts.md; ls -A $HOME"
    )
    ran = go(notes(case("a", shell=shell)), context_mode="ab", run_id="r")
    out = {t.arm.value: ran.blobs.get(t.artifacts["stdout"]).decode().splitlines() for t in ran.trials}
    roots = {arm: str(ran.data / f"runs/r-{arm}/context") for arm in ("context-on", "context-off")}
    found = ["./deep/more.md", "./facts.md", "the code is 4711"]
    assert out["context-on"] == [f" {roots['context-on']} {roots['context-on']}", *found]
    assert out["context-off"] == [f" {roots['context-off']} {roots['context-off']}"]
    assert not any(os.path.exists(root) for root in roots.values())  # gone when the run is over


def test_an_arm_gives_env_and_inputs_too(notes, case, go):
    arms = {"context-on": {"env": {"WHO": "on"}, "inputs": {"stdin": "read me"}}, "context-off": {}}
    ran = go(notes(case("a", shell="echo $WHO; cat; true"), arms=arms), context_mode="ab")
    out = {t.arm.value: ran.blobs.get(t.artifacts["stdout"]) for t in ran.trials}
    assert out == {"context-on": b"on\nread me", "context-off": b"\n"}


def test_the_arms_of_ab_are_interleaved(notes, case):
    planned = plan(
        notes(case("a", shell="true"), case("b", shell="true")), Options(context_mode="ab", trials=20)
    )
    pairs = list(zip(planned.specs[::2], planned.specs[1::2], strict=True))
    assert all((x.case.id, x.trial_index) == (y.case.id, y.trial_index) for x, y in pairs)
    assert {x.arm for x, _ in pairs} == {Arm.CONTEXT_ON, Arm.CONTEXT_OFF}  # either leads at times


@pytest.mark.parametrize("mode, arms", [("context-on", ["context-on"]), ("context-off", ["context-off"])])
def test_one_arm_alone(notes, case, go, mode, arms):
    ran = go(notes(case("a", shell="true")), context_mode=mode, run_id="r")
    assert [(r["run_id"], r["arm"], r["axis"]) for r in ran.result.records] == [("r", *arms, "context")]


def test_a_root_is_read_only(notes, case, go):
    listed = f"stat -c %a {ROOT} {ROOT}/facts.md {ROOT}/deep"
    ran = go(notes(case("a", shell=listed)), context_mode="context-on")
    assert ran.blobs.get(ran.trials[0].artifacts["stdout"]).split() == [b"555", b"444", b"555"]


# --- degraded ---------------------------------------------------------------------------------------


def test_a_trial_that_changes_its_context_is_degraded_and_the_next_finds_it_as_it_was(notes, case, go):
    shell = f"[ $EVALSTATS_TRIAL_INDEX = 2 ] && {{ {WRITE}; }}; cat {ROOT}/facts.md; true"
    wanted = {"type": "regex", "target": "stdout", "value": "^the code is 4711\n$"}
    ran = go(notes(case("a", wanted, shell=shell)), context_mode="context-on", trials=4, jobs=1)
    bad = (2, Outcome.DEGRADED, MUTATED)
    assert reasons(ran) == [(1, "ok", None), bad, (3, "ok", None), (4, "ok", None)]
    assert all(t.passed for t in ran.trials if t.outcome is Outcome.OK)
    (record,) = ran.result.records
    assert record["case_results"][0]["degraded"] == {"context_root_mutated_live_state": 1}
    assert (record["status"], record["trials"]["unusable"]) == ("pass", {"degraded": 1})


def test_a_trial_that_ran_while_another_changed_the_context_is_degraded_too(notes, case, go):
    slow = f"sleep 0.8; cat {ROOT}/facts.md"
    quick = f"sleep 0.2; {WRITE}"
    suite = notes(case("slow", shell=slow), case("quick", shell=quick))
    ran = go(suite, context_mode="context-on", jobs=2)
    assert {t.case_id: t.reason for t in ran.trials} == {"slow": MUTATED, "quick": MUTATED}


def test_the_other_arm_is_not_touched(notes, case, go):
    suite = notes(case("a", shell=f"{WRITE}; true"), arms={"context-on": {"files": ["notes"]}})
    suite.document["arms"]["context-off"] = {"inputs": {"shell": "true"}}
    ran = go(suite, context_mode="ab", trials=3)
    assert {t.outcome for t in ran.trials if t.arm is Arm.CONTEXT_OFF} == {Outcome.OK}
    assert {t.reason for t in ran.trials if t.arm is Arm.CONTEXT_ON} == {MUTATED}


def test_a_root_that_is_written_to_while_it_is_taken_away_is_laid_all_the_same(tmp_path, monkeypatch):
    source, times = tmp_path / "facts.md", []
    source.write_text("facts")
    root = contexts.ContextRoot(tmp_path / "root", {"facts.md": source})
    whole = contexts.remove_tree

    def disturbed(folder):
        times.append(folder)
        whole(folder)
        if len(times) == 1:  # a trial that was at work
            Path(folder).mkdir()
            (Path(folder) / "late").touch()

    monkeypatch.setattr(contexts, "remove_tree", disturbed)
    root.path.chmod(0o755)
    assert root.trouble() is MUTATED and len(times) == 2
    assert root.trouble() is None and [path.name for path in root.path.iterdir()] == ["facts.md"]


def test_a_root_that_is_taken_away(notes, case, go):
    shell = f"[ $EVALSTATS_TRIAL_INDEX = 1 ] && chmod -R u+w {ROOT} && rm -r {ROOT}; true"
    ran = go(notes(case("a", shell=shell)), context_mode="context-on", trials=2, jobs=1)
    assert [reason for _, _, reason in reasons(ran)] == [UNAVAILABLE, None]


def test_a_changed_original_degrades_all_that_come_after(notes, case, go):
    shell = "[ $EVALSTATS_TRIAL_INDEX = 2 ] && echo more >> ../../notes/facts.md; true"
    ran = go(notes(case("a", shell=shell)), context_mode="context-on", trials=4, jobs=1)
    order = [t.trial_index for t in sorted(ran.trials, key=lambda t: t.started_at)]
    after = order[order.index(2) :]
    assert {t.trial_index for t in ran.trials if t.reason == MUTATED} == set(after)


def test_a_case_that_disables_hooks_is_degraded_and_not_run(notes, case, go, tmp_path):
    env = {"AGENTOPS_HOOKS_DISABLED": "1"}
    suite = notes(
        case("a", shell=f"touch {tmp_path}/ran", env=env),
        case("b", shell="true", env={**env, "AGENTOPS_HOOKS_DISABLED": "0"}),
    )
    ran = go(suite, context_mode="context-on")
    assert {t.case_id: t.reason for t in ran.trials} == {"a": "hooks_disabled", "b": None}
    assert not (tmp_path / "ran").exists()
    assert [c["status"] for c in ran.result.records[0]["case_results"]] == ["inconclusive", "pass"]


@pytest.mark.parametrize(
    "made, reason",
    [
        (lambda case: case("a", {"type": "manual_review"}, shell="true"), "insufficient_decision_evidence"),
        (
            lambda case: case("a", {"type": "file_exists", "target": "suite.json"}, kind="artifact_check"),
            "context_variant_unsupported",
        ),
        (lambda case: case("a", kind="runtime_prompt", runtime="claude"), "runtime_unavailable"),
    ],
)
def test_what_says_nothing_of_its_context(notes, case, go, made, reason):
    ran = go(notes(made(case)), context_mode="context-on")
    (trial,) = ran.trials
    assert (trial.outcome, trial.status, trial.reason) == (Outcome.DEGRADED, Status.INCONCLUSIVE, reason)
    assert (trial.score, trial.passed, trial.dimension_scores) == (None, None, {})
    assert trial.reason in list(DegradedReason)


def test_a_trial_lost_to_infrastructure_is_still_that_and_tried_again(notes, case, go):
    suite = notes(case("a", argv=["no-such-program-here"]), environment={"max_attempts": 2})
    (trial,) = go(suite, context_mode="context-on").trials
    assert (trial.outcome, trial.attempt) == (Outcome.INFRASTRUCTURE, 2)


# --- the root itself --------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path):
    (tmp_path / "fact").write_text("one")
    return ContextRoot(tmp_path / "root", {"deep/fact": tmp_path / "fact"})


def test_a_root_that_nobody_touched_is_no_trouble(root):
    (root.path / "deep/fact").read_text()
    assert (root.trouble(), root.trouble(since=1), root.times_laid) == (None, None, 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("two"),
        lambda file: file.write_text("one"),  # written again, if to the same effect
        lambda file: file.with_name("new").touch(),
        lambda file: file.unlink(),
        lambda file: file.chmod(0o600),
        lambda file: file.rename(file.with_name("moved")),
        lambda file: (file.write_text("two"), os.utime(file, ns=(0, 0))),
        lambda file: (file.parent / "sub").mkdir(),
    ],
)
def test_every_change_is_seen(tmp_path, change):
    file = tmp_path / "root/deep/fact"
    file.parent.mkdir(parents=True)
    file.write_text("one")
    os.utime(file, ns=(0, 0))
    before = contexts._stamps(str(tmp_path / "root"))
    file.read_text()
    assert contexts._stamps(str(tmp_path / "root")) == before
    change(file)
    assert contexts._stamps(str(tmp_path / "root")) != before


def test_what_was_changed_is_mended_for_those_that_come_after(root):
    file = root.path / "deep/fact"
    file.chmod(0o644)
    file.write_text("two")
    assert root.trouble() is MUTATED
    assert (root.trouble(), file.read_text(), file.stat().st_mode & 0o777) == (None, "one", 0o444)
    assert root.trouble(since=1) is MUTATED  # for a trial that began before
    assert root.trouble(since=2) is None


def test_a_root_that_cannot_be_laid_is_unavailable_until_it_can(tmp_path):
    (tmp_path / "fact").write_text("one")
    (tmp_path / "file").write_text("in the way")
    root = ContextRoot(tmp_path / "file/root", {"fact": tmp_path / "fact"})
    assert (root.trouble(), root.trouble()) == (UNAVAILABLE, UNAVAILABLE)
    (tmp_path / "file").unlink()
    (tmp_path / "file").mkdir()
    assert (root.trouble(), root.trouble()) == (UNAVAILABLE, None)


# --- what is refused --------------------------------------------------------------------------------


def faults(suite, **options):
    with pytest.raises(SuiteError) as caught:
        plan(suite, Options(**options))
    return {problem.pointer: problem.message for problem in caught.value.problems}


def test_a_suite_without_hooks_has_no_context_axis(notes, case):
    suite = notes(case("a", shell="true"), environment={"disable_hooks": True})
    plan(suite, Options(mode="both"))
    for mode in ("ab", "context-on", "context-off"):
        with pytest.raises(UsageError, match="disable_hooks"):
            plan(suite, Options(context_mode=mode))


def test_two_files_of_one_name_cannot_share_a_root(notes, case, tmp_path):
    suite = notes(case("a", shell="true"), arms={"context-on": {"files": ["notes", "other/facts.md"]}})
    (tmp_path / "repo/other").mkdir()
    (tmp_path / "repo/other/facts.md").touch()
    assert faults(suite, context_mode="ab") == {"/arms/context-on/files": "brings facts.md 2 times; keep one"}
    plan(suite, Options(mode="both"))


@pytest.mark.parametrize("kind", ["outside", "dangling", "pipe", "loop", "folder"])
def test_what_is_no_plain_file_does_not_go_into_a_context(notes, case, tmp_path, kind):
    suite = notes(case("a", shell="true"))
    odd = tmp_path / "repo/notes/odd"
    if kind == "pipe":
        os.mkfifo(odd)
    else:
        target = {"outside": "/etc/passwd", "dangling": "nothing", "loop": "odd", "folder": "deep"}[kind]
        odd.symlink_to(target)
    assert faults(suite, context_mode="ab") == {
        "/arms/context-on/files": "brings odd, which is no plain file of this repository"
    }


# --- what is recorded -------------------------------------------------------------------------------


def test_what_is_recorded_of_a_context_names_no_place(notes, case, tmp_path):
    said = contexts.described(notes(case("a", shell="true")), Arm.CONTEXT_ON)
    assert (said["variant"], said["root_label"]) == ("context-on", "notes")
    assert list(said["files"]) == ["deep/more.md", "facts.md"]
    assert str(tmp_path) not in str(said)
    off = contexts.described(notes(case("a", shell="true")), Arm.CONTEXT_OFF)
    assert (off["root_label"], off["files"]) == ("empty", {})
    assert off["sha256"] != said["sha256"]
