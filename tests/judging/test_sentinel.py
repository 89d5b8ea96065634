"""A judge that changed is caught, in whichever direction, and dated; one that did not is left alone."""

import importlib.util
import json
import random
from pathlib import Path

import pytest

from evalstats import contract
from evalstats.errors import AdapterError, DocumentError, UsageError
from evalstats.judging import sentinel, transcripts
from evalstats.judging.judge import Judge
from evalstats.judging.passes import Access
from evalstats.runner.endpoint import Endpoint, Patience

spec = importlib.util.spec_from_file_location("conftest_sentinel", Path(__file__).with_name("conftest.py"))
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)
loopback, says, polite, graded = conftest.loopback, conftest.says, conftest.polite, conftest.graded
JUDGE = Judge(model="mistral-judge")
CASES = [conftest.case(f"c{i}", f"echo {'please' if i % 2 else 'now'} {i}") for i in range(8)]


def verdict(yes, **more):
    return says(json.dumps({"verdict": "yes" if yes else "no"}), **more)


def access(server):
    quick = Patience(attempts=1, first_wait_s=0.01, longest_wait_s=0.05)
    return Access(endpoint=Endpoint(url=server.url, model="mistral-judge"), patience=quick)


@pytest.fixture
def frozen(ran, judge_server):
    data = ran(CASES, trials=1)
    path = sentinel.place(data, "nightly")
    runs = transcripts.runs(data, "r1")
    sentinel.freeze(runs, JUDGE, access(judge_server()), path=path, most=6, repeats=3)
    return path


def check(path, server, **more):
    return sentinel.check(path, access(server), level=0.01, **more)


def test_what_is_frozen(frozen):
    judge, anchors, document = sentinel.read(frozen)
    assert judge.sha256 == JUDGE.sha256
    assert len(anchors) == 6 and len({a.question.case_id for a in anchors}) == 6  # spread over cases
    assert all((a.yes, a.votes) == ((3, 3) if "please" in a.text else (0, 3)) for a in anchors)
    assert all(contract.digest(a["text"].encode()) == a["text_sha256"] for a in document["anchors"])


def test_what_is_frozen_stays(frozen, ran, judge_server):
    runs = transcripts.runs(frozen.parent.parent, "r1")
    with pytest.raises(UsageError, match="what is frozen stays"):
        sentinel.freeze(runs, JUDGE, access(judge_server()), path=frozen, most=6, repeats=3)


def test_a_text_that_was_touched_is_refused(frozen, judge_server):
    document = json.loads(frozen.read_text())
    document["anchors"][2]["text"] += "!"
    frozen.write_text(json.dumps(document, indent=1))
    with pytest.raises(DocumentError) as caught:
        check(frozen, judge_server())
    assert caught.value.problems[0].pointer == "/anchors/2/text" and caught.value.problems[0].line > 10


def test_an_unchanged_judge_is_left_alone(frozen, judge_server):
    line = check(frozen, judge_server())
    assert (line["changed"], line["p_value"], line["to_yes"], line["to_no"]) == (False, 1.0, 0, 0)
    assert line["reported"] == ["served-model"] and line["unchanged_at"] is None


@pytest.mark.parametrize(
    ("changed", "moved"),
    [
        (lambda r: verdict(True), (3, 0)),  # says yes to all
        (lambda r: verdict(False), (0, 3)),
        (
            lambda r: verdict("please" not in graded(r)),
            (3, 3),
        ),  # both ways: a test of direction alone is blind
    ],
    ids=["lenient", "strict", "turned"],
)
def test_a_judge_that_changed_is_caught(changed, moved, frozen, judge_server):
    line = check(frozen, judge_server(changed))
    assert line["changed"] is True and (line["to_yes"], line["to_no"]) == moved
    # three texts of which all votes turned: each had 2 of 20 ways to be so far apart; twice over, six of them
    assert line["p_change"] == pytest.approx(0.1 ** sum(moved), rel=1e-9)


def test_a_change_is_dated_between_two_checks(frozen, judge_server):
    good, bad = judge_server(), judge_server(lambda r: verdict(True, model="served-model-2"))
    lines = [check(frozen, server) for server in (good, good, bad, bad)]
    assert [line["changed"] for line in lines] == [False, False, True, True]
    assert lines[2]["unchanged_at"] == lines[3]["unchanged_at"] == lines[1]["checked_at"]
    assert lines[3]["changed_by"] == lines[2]["checked_at"]
    assert [line["reported"] for line in sentinel.history(frozen)][1:3] == [
        ["served-model"],
        ["served-model-2"],
    ]
    assert sentinel.history(frozen) == lines
    back = check(frozen, good)
    assert back["changed"] is False and back["changed_by"] is None


def test_a_judge_changed_from_the_first_check_on(frozen, judge_server):
    line = check(frozen, judge_server(lambda r: verdict(True)))
    assert (line["unchanged_at"], line["changed_by"]) == (None, line["checked_at"])


def test_a_noisy_judge_is_rarely_accused():
    """Exact conditional tests keep their level: of 400 checks of one unchanged noisy judge, few accuse it."""
    rng = random.Random(3)
    rates = [rng.random() for _ in range(20)]

    def replies(n):
        from evalstats.judging.judge import Reply
        from evalstats.judging.questions import Verdict

        return [[Reply(verdict=Verdict(rng.random() < rate)) for _ in range(n)] for rate in rates]

    def anchors():
        from evalstats.judging.questions import Question

        question = Question(case_id="c", expectation=0, text="?", task="")
        votes = [sum(r.verdict.passed for r in found) for found in replies(3)]
        return [sentinel.Anchor(source="s", question=question, text="", yes=yes, votes=3) for yes in votes]

    accused = sum(sentinel.outcome(anchors(), replies(3), 0.05)["changed"] for _ in range(400))
    assert accused <= 31  # 5% of 400 are 20; 31 would come by chance in one series of a hundred


def test_too_few_verdicts_say_nothing(frozen, judge_server):
    line = check(frozen, judge_server(says("yes"), polite))  # one of 18 is not too many
    assert (line["changed"], line["without_verdict"], line["n_judgements"]) == (False, 1, 18)
    line = check(frozen, judge_server(says("never JSON")))
    assert (line["changed"], line["n_anchors"], line["without_verdict"]) == (None, 0, 18)


def test_an_endpoint_that_refuses(frozen, judge_server):
    with pytest.raises(AdapterError, match="cannot be asked"):
        check(frozen, judge_server(loopback.refusal(401)))
    assert sentinel.history(frozen) == []


def test_a_torn_history_loses_only_its_torn_line(frozen, judge_server):
    check(frozen, judge_server())
    file = sentinel.history_of(frozen)
    file.write_bytes(file.read_bytes() + b'{"schema_version": 1, "checked_at": "2026')
    check(frozen, judge_server())
    assert len(sentinel.history(frozen)) == 2


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".x", "x" * 200])
def test_names(name, tmp_path):
    with pytest.raises(UsageError):
        sentinel.place(tmp_path, name)


def test_nothing_to_freeze(ran, judge_server, tmp_path):
    runs = transcripts.runs(ran(CASES, trials=1), "r1")
    path = sentinel.place(tmp_path / "data", "none")
    with pytest.raises(AdapterError, match="nothing to freeze"):
        sentinel.freeze(runs, JUDGE, access(judge_server(says("?"))), path=path, most=3, repeats=1)
    assert not path.exists()
