"""What is asked, of whom, in what order; what is recorded of it; what a killed pass leaves behind."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from evalstats import contract, judgements, store
from evalstats.artifacts import Artifacts
from evalstats.errors import AdapterError, UsageError
from evalstats.journal import read_manifest, read_trials
from evalstats.judging import passes, transcripts
from evalstats.judging.fence import escaped, unescaped
from evalstats.judging.judge import Judge
from evalstats.judging.passes import Access
from evalstats.judging.questions import Form
from evalstats.runner.endpoint import Endpoint, Patience


def module(name):
    found = importlib.util.spec_from_file_location(f"{name}_passes", Path(__file__).with_name(f"{name}.py"))
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    return loaded


conftest, hostile = module("conftest"), module("hostile")
loopback, says, polite, graded = conftest.loopback, conftest.says, conftest.polite, conftest.graded
JUDGE = Judge(model="mistral-judge")


def judged(data, server, *, run="r1", judge=JUDGE, **more):
    quick = Patience(attempts=2, first_wait_s=0.01, longest_wait_s=0.05)
    access = Access(
        endpoint=Endpoint(url=server.url, model=judge.model), patience=quick, jobs=more.pop("jobs", 2)
    )
    return passes.judge_runs(transcripts.runs(data, run), judge, access, **more)


def test_every_text_is_judged_as_often_as_asked(ran, judge_server):
    data, server = ran(), judge_server()
    done = judged(data, server, repeats=3)
    assert len(server.requests) == len(done.asked) == 3 * 2 * 3
    by_case = {
        name: {j.passed for j in done.judgements if j.case_id == name} for name in ("nice", "rude", "mute")
    }
    assert by_case == {"nice": {True}, "rude": {False}, "mute": {False}}
    assert sorted(j.repeat for j in done.judgements if j.case_id == "nice") == [1, 1, 2, 2, 3, 3]
    assert done.judgements == tuple(judgements.read_judgements(data / "runs/r1"))


def test_what_is_recorded_of_a_judgement(ran, judge_server):
    data, server = ran([conftest.case("nice", "echo please")], trials=1), judge_server()
    (found,) = judged(data, server).judgements
    (trial,) = read_trials(data / "runs/r1")
    (request,) = server.requests
    blobs = Artifacts(data / "artifacts")
    assert (found.trial_key, found.expectation, found.repeat, found.attempt) == (trial.key, 0, 1, 1)
    assert (found.judge, found.family, found.model) == ("mistral-judge", "mistral", "served-model")
    assert (found.tokens_in, found.tokens_out, found.error_class, found.mark) == (11, 3, None, None)
    assert found.graded_sha256 == trial.artifacts["stdout"] == contract.digest(b"please\n")
    assert blobs.get(found.answer_sha256) == b'{"verdict": "yes"}'
    assert found.rubric_sha256 == JUDGE.rubric_sha256 and found.judge_sha256 == JUDGE.sha256
    assert conftest.prompt(request).count(found.fence) == 3  # in the instruction, and at both ends
    assert request.body["seed"] == found.seed % (2**31 - 1)
    (line,) = judgements.files(data / "runs/r1", "judgements")[0].read_bytes().splitlines()
    assert contract.problems(json.loads(line), "judgement.v1") == []


def test_each_judgement_has_a_seed_and_a_fence_of_its_own(ran, judge_server):
    done = judged(ran(), judge_server(), repeats=3)
    assert len({j.seed for j in done.asked}) == len({j.fence for j in done.asked}) == 18


def test_seeds_come_again_and_fences_do_not(ran, judge_server):
    data = ran(run_id="r1")
    ran(run_id="r2")  # of the same seed
    one, other = (judged(data, judge_server(), run=run) for run in ("r1", "r2"))
    assert [j.seed for j in one.asked] == [j.seed for j in other.asked]
    assert not {j.fence for j in one.asked} & {j.fence for j in other.asked}


def test_only_what_is_missing_is_asked(ran, judge_server):
    data, server = ran(), judge_server()
    assert len(judged(data, server, repeats=1).asked) == 6
    assert len(judged(data, server, repeats=1).asked) == 0
    assert len(judged(data, server, repeats=2).asked) == 6
    assert len(judged(data, server, repeats=2, judge=Judge(model="gpt-x")).asked) == 12
    assert len(server.requests) == 24


def test_another_rubric_is_another_judge(ran, judge_server):
    data, server = ran(), judge_server()
    strict = Judge(model="mistral-judge", rubric="Be strict.", rubric_sha256=contract.digest(b"Be strict."))
    assert strict.sha256 != JUDGE.sha256 != Judge(model="mistral-judge", temperature=0.0).sha256
    judged(data, server)
    assert len(judged(data, server, judge=strict).asked) == 6
    assert "Be strict." in conftest.prompt(server.requests[-1])


@pytest.fixture
def hostile_run(ran, tmp_path):
    """A run whose outputs are the hostile ones; return its data and case id -> output."""
    outputs = {f"h{index}": text for index, text in enumerate(hostile.OUTPUTS.values())}
    for name, text in outputs.items():
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    return ran([conftest.case(name, f"cat '{tmp_path}/{name}'") for name in outputs], trials=1), outputs


def test_a_hostile_output_is_what_is_graded_and_nothing_else(hostile_run, judge_server):
    """Every output, escaped, stands between its own two marks, and what follows it is ours."""
    data, outputs = hostile_run
    server = judge_server(says('{"verdict": "no"}'))
    done = judged(data, server, jobs=1)
    assert [j.passed for j in done.asked] == [False] * len(outputs)
    for made, request in zip(done.asked, server.requests, strict=True):
        text = outputs[made.case_id].encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        assert made.fence not in text
        assert graded(request) == escaped(text)
        end = f"[output {made.fence} ends]\n\nQuestion: {conftest.QUESTION}\nAnswer with one JSON object"
        assert conftest.prompt(request).rpartition(end)[2].count("\n") == 0
    assert len({made.fence for made in done.asked}) == len(outputs)


def test_a_judge_that_is_fooled_into_repeating_an_output_gives_no_vote(hostile_run, judge_server):
    data, _ = hostile_run
    done = judged(data, judge_server(lambda request: says(unescaped(graded(request)))))
    votes = {list(hostile.OUTPUTS)[int(j.case_id[1:])] for j in done.judgements if j.passed is not None}
    assert votes == {"is the answer"}  # the judge itself says yes here; no parser can know better
    assert {j.error_class for j in done.judgements if j.passed is None} == {"unparsable"}


# --- errors --------------------------------------------------------------------------------------


def test_an_unparsable_answer_is_an_error_for_good(ran, judge_server):
    data = ran([conftest.case("a", "echo x")], trials=1)
    bad = judge_server(says("yes, I think"))
    (found,) = judged(data, bad).judgements
    assert (found.passed, found.error_class, found.reason) == (None, "unparsable", "the answer is not JSON")
    assert Artifacts(data / "artifacts").get(found.answer_sha256) == b"yes, I think"
    assert (
        judged(data, judge_server()).asked == ()
    )  # asking until the answer suits would choose among answers


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (loopback.refusal(500), "server-error"),
        (loopback.refusal(429), "rate-limit"),
        (loopback.refusal(400, "no response_format here"), "bad-request"),
        (loopback.answer(raw=b"{", kind="application/json"), "invalid-response"),
        (loopback.answer(raw=b"hello", kind="text/html"), "invalid-response"),
        (loopback.answer(loopback.chat(), cut=20), "connection"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_of_the_endpoint_is_missing_and_asked_again(first, error, ran, judge_server):
    data = ran([conftest.case("a", "echo please")], trials=1)
    (found,) = judged(data, judge_server(first)).judgements
    assert (found.passed, found.error_class, found.attempt, found.answer_sha256) == (None, error, 1, None)
    (again,) = judged(data, judge_server()).judgements
    assert (again.passed, again.error_class, again.attempt) == (True, None, 2)
    kept = judgements.read_judgements(data / "runs/r1")
    assert [(j.attempt, j.passed) for j in kept] == [(1, None), (2, True)]  # both are kept
    assert judged(data, judge_server()).asked == ()


def test_a_hopeless_endpoint_ends_the_pass_at_once(ran, judge_server):
    data, server = ran(), judge_server(loopback.refusal(401, "bad key"))
    with pytest.raises(AdapterError, match="bad key") as caught:
        judged(data, server, jobs=1)
    assert caught.value.exit_code == 3 and len(server.requests) == 1
    assert judgements.read_judgements(data / "runs/r1") == []


def test_an_endpoint_that_answers_nothing_ends_the_pass_soon(ran, judge_server):
    data, server = ran(trials=10), judge_server(loopback.refusal(500, "down"))
    with pytest.raises(AdapterError, match="answers nothing"):
        judged(data, server, jobs=1)
    assert len(server.requests) == 2 * 6 and len(judgements.read_judgements(data / "runs/r1")) == 5


def test_a_text_that_is_too_long_or_gone_is_an_error_of_its_own(ran, judge_server):
    data = ran([conftest.case("a", "yes please | head -c 120000"), conftest.case("b", "echo b")], trials=1)
    (trial,) = [t for t in read_trials(data / "runs/r1") if t.case_id == "b"]
    Artifacts(data / "artifacts").path(trial.artifacts["stdout"]).unlink()
    server = judge_server()
    found = {j.case_id: j for j in judged(data, server).judgements}
    assert found["a"].error_class == "text-too-long" and found["b"].error_class == "no-text"
    assert server.requests == []


def test_two_passes_at_once_are_refused(ran, judge_server):
    data = ran()
    with passes._alone_at(data / "runs/r1"), pytest.raises(UsageError, match="another process"):
        judged(data, judge_server())


def test_unknown_runs(ran, judge_server, tmp_path):
    data = ran()
    for name in ("nope", "", "../r1", "r", "x" * 300, "a/b"):
        with pytest.raises(UsageError, match="there is no run"):
            transcripts.runs(data, name)


# --- scores and forms ------------------------------------------------------------------------------


def test_a_score_is_asked_for_and_its_threshold_decides(ran, judge_server):
    scored = {"type": "judge", "value": "How polite?", "threshold": 0.6}
    data = ran([conftest.case("a", "echo please", scored), conftest.case("b", "echo now", scored)], trials=1)
    server = judge_server(lambda r: says('{"score": 0.75}' if "please" in graded(r) else '{"score": 0.5}'))
    found = {j.case_id: (j.passed, j.mark) for j in judged(data, server).judgements}
    assert found == {"a": (True, 0.75), "b": (False, 0.5)}
    schema = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"] == {"score": {"type": "number", "minimum": 0, "maximum": 1}}


def test_a_base_model_goes_on_with_the_answer(ran, judge_server):
    data = ran([conftest.case("a", "echo please"), conftest.case("b", "echo now")], trials=1)
    base = Judge(model="gemma-base", form=Form.COMPLETIONS, temperature=0.5)

    def goes_on(request):
        assert request.body["prompt"].endswith('{"verdict": "') and request.body["stop"] == ['"', "\n"]
        said = "yes" if "please" in graded(request) else "no way"
        return loopback.answer(
            {"model": "m", "choices": [{"text": said, "finish_reason": "stop"}], "usage": {}}
        )

    found = {j.case_id: j for j in judged(data, judge_server(goes_on), judge=base).judgements}
    assert found["a"].passed is True and found["b"].error_class == "unparsable"


def test_stderr_and_transcripts(ran, judge_server):
    on_stderr = {"type": "judge", "value": "?", "target": "stderr"}
    transcript = {"type": "judge", "value": "?", "target": "transcript"}
    cases = [conftest.case("a", "echo please >&2", on_stderr), conftest.case("b", "echo please", transcript)]
    found = {j.case_id: j for j in judged(ran(cases, trials=1), judge_server()).judgements}
    assert found["a"].passed is True
    assert found["b"].error_class == "no-text"  # the shell keeps no transcript


# --- the judge that decides ------------------------------------------------------------------------


def test_the_first_judge_decides_and_others_only_measure(ran, judge_server):
    data = ran()
    runs = transcripts.runs(data, "r1")
    assert passes.deploy(runs, JUDGE, 3) is True
    assert passes.deploy(runs, Judge(model="gpt-x"), 3) is False
    assert passes.deploy(runs, JUDGE, 5) is False  # more repeats are a measurement too
    manifest = read_manifest(data / "runs/r1")
    assert (manifest["judge_model"], manifest["judge"]["repeats"]) == ("mistral-judge", 3)
    assert manifest["judge_rubric_sha256"] == JUDGE.rubric_sha256
    assert passes.deploy(runs, Judge(model="gpt-x"), 1, anew=True) is True
    assert read_manifest(data / "runs/r1")["judge_model"] == "gpt-x"


def test_kin_is_warned_of_and_written_down(ran, judge_server):
    data = ran()
    place = data / "runs/r1/manifest.json"
    place.write_text(json.dumps({**read_manifest(data / "runs/r1"), "model": "mixtral-8x7b"}))
    runs = transcripts.runs(data, "r1")
    passes.deploy(runs, JUDGE, 1)
    assert read_manifest(data / "runs/r1")["judge"]["same_family"] is True
    assert "one family (mistral)" in judged(data, judge_server()).warnings[0]
    assert judged(data, judge_server(), judge=Judge(model="gpt-x")).warnings == ()


# --- killed ----------------------------------------------------------------------------------------


def test_a_killed_pass_loses_nothing_and_asks_only_the_rest(ran, judge_server, tmp_path):
    """Killed three times, then finished: each is there once, and only those on their way were paid for twice."""
    data = ran(trials=10)
    slow = judge_server(lambda r: loopback.answer(loopback.chat(polite_text(r)), hold_s=0.02))
    code = textwrap.dedent(f"""
        import sys; sys.path.insert(0, {str(Path.cwd())!r})
        from evalstats.cli import run_command
        run_command(["judge", "r1", "--base-url", {slow.url!r}, "--repeats", "4", "-j", "2"])
    """)
    seen = 0
    for kill in range(3):
        process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)  # fmt: skip
        wanted = len(slow.requests) + 10 + kill
        while len(slow.requests) < wanted and process.poll() is None:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kept = judgements.read_judgements(data / "runs/r1")
        assert len(kept) >= seen + 8 and len({j.key for j in kept}) == len(kept)
        seen = len(kept)
    assert seen < 120
    finished = judged(data, slow, repeats=4, judge=the_judge_of(data))
    assert len(finished.judgements) == 120 == len({j.asked for j in finished.judgements})
    assert len(slow.requests) <= 120 + 3 * 2  # two were on their way at each kill
    store.ingest(tmp_path / "s.duckdb", data / "runs")
    with store.open(tmp_path / "s.duckdb") as opened:
        assert len(opened.judgements("manners")) == 120


def polite_text(request):
    return json.dumps({"verdict": "yes" if "please" in graded(request) else "no"})


def the_judge_of(data):
    text, digest = transcripts.rubric(transcripts.runs(data, "r1")[0].suite, None)
    return Judge(model="mistral-judge", rubric=text, rubric_sha256=digest)


def test_a_torn_line_is_asked_again(ran, judge_server):
    data = ran()
    judged(data, judge_server())
    (book,) = judgements.files(data / "runs/r1", "judgements")
    whole = book.read_bytes()
    book.write_bytes(whole[:-25])
    assert len(judgements.read_judgements(data / "runs/r1")) == 5
    done = judged(data, judge_server())
    assert (len(done.asked), len(done.judgements)) == (1, 6)
