import importlib.util
import json
from pathlib import Path

import pytest

from evalstats import suite as suites
from evalstats.errors import SuiteError, UsageError
from evalstats.judging.questions import Question, Unparsable, Verdict, answer_schema, questions, verdict

spec = importlib.util.spec_from_file_location("hostile_questions", Path(__file__).with_name("hostile.py"))
hostile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hostile)
spec = importlib.util.spec_from_file_location("judging_conftest", Path(__file__).with_name("conftest.py"))
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)

YES_NO = Question(case_id="a", expectation=0, text="Polite?", task="Ask.")
SCORE = Question(case_id="a", expectation=0, text="How polite?", task="Ask.", threshold=0.7)


def test_yes_and_no():
    assert verdict(YES_NO, '{"verdict": "yes"}') == Verdict(True)
    assert verdict(YES_NO, ' \n{"verdict":"no"}\n') == Verdict(False)
    inverted = Question(case_id="a", expectation=0, text="Rude?", task="Ask.", inverted=True)
    assert verdict(inverted, '{"verdict": "yes"}') == Verdict(False)


@pytest.mark.parametrize(("said", "passed"), [(0.7, True), (1, True), (0.69, False), (0, False)])
def test_a_score_passes_from_its_threshold_on(said, passed):
    assert verdict(SCORE, json.dumps({"score": said})) == Verdict(passed, float(said))


BAD = [
    "", "yes", '"yes"', "[]", "null", '["yes"]', '{"verdict": true}', '{"verdict": "Yes"}', '{"verdict": "yes "}',
    '{"verdict": ["yes"]}', '{"verdict": null}', '{"verdict": "maybe"}', '{"Verdict": "yes"}', '{"score": 1}', "{}",
    '{"verdict": "yes", "why": "it is"}', '{"verdict": "no", "verdict": "yes"}', '{"verdict": "yes"} and more',
    '{"verdict": "no"}{"verdict": "yes"}', '```json\n{"verdict": "yes"}\n```', '{"verdict": "yes"', "{'verdict': 1}",
    '{"verdict": "ｙｅｓ"}', '\ufeff{"verdict": "yes"}', '{"verdict": {"verdict": "yes"}}', "[" * 100_000,
    '{"verdict": "yes"}' + " " * 20_000 + "x", '{"verdict": NaN}', '{"a": {"verdict": "yes"}}',
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_whatever_is_not_of_the_shape_is_no_vote(text):
    with pytest.raises(Unparsable):
        verdict(YES_NO, text)


@pytest.mark.parametrize("said", ["1.5", "-0.1", "true", '"1"', "null", "NaN", "1e999", "[1]"])
def test_a_score_is_a_number_from_0_to_1(said):
    with pytest.raises(Unparsable):
        verdict(SCORE, f'{{"score": {said}}}')


@pytest.mark.parametrize("name", [n for n in hostile.OUTPUTS if n != "is the answer"])
def test_a_judge_that_says_after_the_output_gives_no_vote(name):
    """A judge that is fooled into repeating an output, alone or around an answer, has not voted."""
    text = hostile.OUTPUTS[name]
    for said in (text, f'{text}\n{{"verdict": "yes"}}x', f"The output was: {text}"):
        with pytest.raises(Unparsable) as caught:
            verdict(YES_NO, said)
        assert text[:20] not in str(caught.value) or not text.strip()


def test_an_answer_that_was_cut_off_is_no_vote():
    with pytest.raises(Unparsable, match="cut off"):
        verdict(YES_NO, '{"verdict": "yes"}', finish_reason="length")


def test_the_schema_says_what_the_parser_takes():
    import jsonschema

    for question, texts in (
        (YES_NO, [*BAD, '{"verdict": "yes"}']),
        (SCORE, ['{"score": 0.5}', '{"score": 2}']),
    ):
        validator = jsonschema.Draft202012Validator(answer_schema(question))
        for text in texts:
            try:
                takes = bool(verdict(question, text)) or True
            except Unparsable:
                takes = False
            try:
                fits = len(text) < 10_000 and validator.is_valid(json.loads(text))
            except ValueError:
                fits = False
            assert takes <= fits  # stricter in one point: of a key that stands twice, json takes the last


def asked(tmp_path, *expectations, **more):
    cases = [conftest.case("a", "true", *expectations, **more)]
    return questions(suites.load(conftest.write_suite(tmp_path, cases)))


def test_questions_of_a_suite(tmp_path):
    found = asked(
        tmp_path,
        {"type": "exit_code", "value": 0},
        {"type": "judge", "value": "Polite?"},
        {"type": "judge", "value": "How polite?", "threshold": 0.5, "target": "transcript"},
    )
    assert [(q.expectation, q.text, q.target, q.threshold) for q in found] == [
        (1, "Polite?", "stdout", None),
        (2, "How polite?", "transcript", 0.5),
    ]
    assert found[0].task == "Ask for it nicely."


def test_all_that_cannot_be_asked_is_told_at_once(tmp_path):
    with pytest.raises(SuiteError) as caught:
        asked(
            tmp_path,
            {"type": "judge"},
            {"type": "judge", "value": " "},
            {"type": "judge", "value": "Polite?", "target": "out.txt"},
            {"type": "judge", "value": "Polite?", "threshold": 70},
        )
    pointers = [p.pointer.removeprefix("/cases/0/expectations/") for p in caught.value.problems]
    assert pointers == ["0/value", "1/value", "2/target", "3/threshold"]


def test_a_suite_without_questions(tmp_path):
    with pytest.raises(UsageError, match="no expectation of the suite asks a judge"):
        asked(tmp_path, {"type": "exit_code", "value": 0})
