"""Rewordings, migration and escalation, on tables counted by hand."""

import importlib.util
import json
from math import log2
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalstats import stats
from evalstats import suite as suites
from evalstats.errors import DocumentError, UsageError
from evalstats.judging import rewordings
from evalstats.judging.escalation import escalation
from evalstats.judging.migration import migrate
from evalstats.judging.questions import Question, questions
from evalstats.judging.verdicts import known_judge

spec = importlib.util.spec_from_file_location("conftest_tables", Path(__file__).with_name("conftest.py"))
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)
COLUMNS = ["run_id", "case_id", "arm", "trial_index", "expectation", "judge", "wording", "repeat", "score"]
LABELS = pd.DataFrame(columns=["run_id", "case_id", "arm", "trial_index", "expectation", "label"])


def table(rows):
    """(case, trial, judge, wording, verdicts) -> judgements, one a verdict."""
    found = [
        ("r1", case, "skill-on", trial, 0, judge, wording, repeat, score)
        for case, trial, judge, wording, verdicts in rows
        for repeat, score in enumerate(verdicts, 1)
    ]
    return pd.DataFrame(found, columns=COLUMNS).astype({"score": "float64"})


# --- rewordings ----------------------------------------------------------------------------------


def suite_with(tmp_path, entries):
    judge = {"model": "m", "rubric": "evals/manners/rubric.md", "rewordings": entries}
    return suites.load(conftest.write_suite(tmp_path, conftest.CASES, judge=judge))


def test_wordings_of_a_question(tmp_path):
    entries = [{"question": conftest.QUESTION, "same": ["Is please in it?", "Is please in it?", "And now?"],
                "inverted": "Is please missing?"}]  # fmt: skip
    suite = suite_with(tmp_path, entries)
    asked = questions(suite)
    put = rewordings.read(suite, asked, None)(asked[0])
    assert [(q.text, q.wording.partition(":")[0], q.inverted) for q in put] == [
        (conftest.QUESTION, "original", False),
        ("Is please in it?", "reworded", False),
        ("And now?", "reworded", False),
        ("Is please missing?", "inverted", True),
    ]
    assert len({q.wording for q in put}) == 4


def test_without_other_words_the_question_is_turned_round_itself():
    asked = Question(case_id="a", expectation=0, text="Polite?", task="")
    put = rewordings.Rewordings({})(asked)
    assert [(q.text, q.inverted) for q in put[1:]] == [
        ('Is this question to be answered with no? "Polite?"', True)
    ]
    scored = Question(case_id="a", expectation=0, text="Polite?", task="", threshold=0.5)
    assert rewordings.Rewordings({})(scored) == [scored]


def test_a_file_of_rewordings_goes_before_the_suite(tmp_path):
    suite = suite_with(tmp_path, [])
    path = tmp_path / "words.json"
    path.write_text(
        json.dumps({"schema_version": 1, "rewordings": [{"question": conftest.QUESTION, "same": ["x?"]}]})
    )
    assert len(rewordings.read(suite, questions(suite), path)(questions(suite)[0])) == 3
    path.write_text(json.dumps({"schema_version": 1, "rewordings": [{"question": "Another?"}]}))
    with pytest.raises(UsageError, match="is no question of the suite"):
        rewordings.read(suite, questions(suite), path)
    path.write_text(json.dumps({"schema_version": 1, "rewordings": [{"same": []}], "x": 1}))
    with pytest.raises(DocumentError) as caught:
        rewordings.read(suite, questions(suite), path)
    assert len(caught.value.problems) == 2


def test_steadiness_by_hand():
    # four cases; verdicts are about the original question, so "yes to its opposite" is 0
    rows = [
        ("a", 1, "j", "original", [1, 1, 0]), ("a", 1, "j", "reworded:x", [1]), ("a", 1, "j", "inverted:y", [1]),
        ("b", 1, "j", "original", [1]), ("b", 1, "j", "reworded:x", [0]), ("b", 1, "j", "inverted:y", [0]),
        ("c", 1, "j", "original", [0]), ("c", 1, "j", "reworded:x", [0]), ("c", 1, "j", "inverted:y", [1]),
        ("d", 1, "j", "original", [0]), ("d", 1, "j", "reworded:x", [None]), ("d", 1, "j", "inverted:y", [0]),
    ]  # fmt: skip
    found = rewordings.steadiness(table(rows)).set_index("measure")
    expected = {
        "same, reworded": (2, 3),
        "same, inverted": (2, 4),
        "yes to both": (1, 4),
        "no to both": (1, 4),
    }
    for name, (holds, n) in expected.items():
        alone = stats.wilson(holds, n, level=0.95)  # one pair a case
        row = found.loc[name]
        assert (row["estimate"], row["conf_low"], row["conf_high"]) == pytest.approx(
            (alone.estimate, alone.conf_low, alone.conf_high)
        )
    assert rewordings.by_wording(table(rows), {"reworded:x": "Eh?"}) == [
        {"wording": "reworded:x", "words": "Eh?", "pairs": 3, "same": 2},
        {"wording": "inverted:y", "words": None, "pairs": 4, "same": 2},
    ]


def test_no_pair_no_measure():
    assert rewordings.steadiness(table([("a", 1, "j", "original", [1])])).empty
    assert rewordings.steadiness(table([("a", 1, "j", "reworded:x", [1])])).empty


# --- migration -----------------------------------------------------------------------------------


def two_judges():
    """Ten cases: both yes 4, only old 2, only new 1, both no 3; the old one judged thrice."""
    said = [(1, 1)] * 4 + [(1, 0)] * 2 + [(0, 1)] + [(0, 0)] * 3
    rows = [(f"c{i}", 1, "old@1", "original", [a, a, 1 - a]) for i, (a, _) in enumerate(said)]
    rows += [(f"c{i}", 1, "new@1", "original", [b]) for i, (_, b) in enumerate(said)]
    return table([*rows, ("c11", 1, "old@1", "original", [1]), ("c12", 1, "new@1", "original", [None])])


def moved(judgements, old="old", new="new", pass_mark=0.8):
    return migrate(judgements, old, new, pass_mark=pass_mark, rng=np.random.default_rng(1))


def test_what_moves_by_hand():
    done = moved(two_judges())
    assert (done.old, done.new) == ("old@1", "new@1")
    assert tuple(done.table) == (4, 1, 2, 3)  # both, only new, only old, neither
    assert done.test.p_value == pytest.approx(1.0)  # 1 of 3 discordant: 2 * (1 + 3) / 8
    assert done.moved["case_id"].tolist() == ["c4", "c5", "c6"]
    assert done.left_out == 2
    found = done.estimates.set_index("measure")["estimate"]
    assert found["difference"] == pytest.approx(-0.1) and found["agreement"] == pytest.approx(0.7)
    assert found["new yes, old yes"] == pytest.approx(4 / 6)
    assert found["new yes, old no"] == pytest.approx(1 / 4)
    assert found["worth"] == pytest.approx(0.8 * 4 / 6 + 0.2 * 1 / 4)


def test_the_worth_has_an_interval_that_holds_it_or_says_why_not():
    rng = np.random.default_rng(7)
    old = rng.random(300) < 0.6
    new = np.where(old, rng.random(300) < 0.9, rng.random(300) < 0.2)
    rows = [(f"c{i}", 1, "old@1", "original", [int(a)]) for i, a in enumerate(old)]
    rows += [(f"c{i}", 1, "new@1", "original", [int(b)]) for i, b in enumerate(new)]
    worth = moved(table(rows), pass_mark=0.8).estimates.set_index("measure").loc["worth"]
    assert worth["conf_low"] < 0.8 * 0.9 + 0.2 * 0.2 < worth["conf_high"]
    assert worth["conf_high"] - worth["conf_low"] < 0.15
    always = table([(f"c{i}", 1, j, "original", [1]) for i in range(9) for j in ("old@1", "new@1")])
    worth = moved(always).estimates.set_index("measure").loc["worth"]
    assert np.isnan(worth["estimate"]) and worth["caveats"]  # nothing the old one failed: unknown, not 0
    full = moved(always, pass_mark=1.0).estimates.set_index("measure").loc["worth"]
    assert full["estimate"] == 1.0


def test_the_same_seed_gives_the_same_interval_and_another_another():
    one, same = (moved(two_judges()).estimates for _ in range(2))
    pd.testing.assert_frame_equal(one, same)


def test_migrations_that_make_no_sense():
    with pytest.raises(UsageError, match="'nope' has judged nothing here; known: new@1, old@1"):
        moved(two_judges(), old="nope")
    with pytest.raises(UsageError, match="compared with itself"):
        moved(two_judges(), new="old@1")
    apart = table([("a", 1, "old@1", "original", [1]), ("b", 1, "new@1", "original", [1])])
    with pytest.raises(UsageError, match="no transcript has a verdict of both"):
        moved(apart)
    twice = table([("a", 1, "old@1", "original", [1]), ("a", 1, "old@2", "original", [1])])
    with pytest.raises(UsageError, match="several judges are called 'old'; known: old@1, old@2"):
        known_judge(twice, "old")


# --- escalation ----------------------------------------------------------------------------------


def test_what_tells_most_comes_first():
    rows = [
        ("sure", 1, "j@1", "original", [1, 1, 1]),
        ("torn", 1, "j@1", "original", [1, 0]),
        ("torn", 1, "k@1", "original", [1, 0]),
        ("once", 1, "j@1", "original", [1]),
        ("silent", 1, "j@1", "original", [None]),
        ("minor", 1, "j@1", "original", [1, 0]),
        ("free", 1, "j@1", "original", [1, 0]),
    ]
    judgements = table(rows)
    weights = {"minor": 0.05, "free": 0.0}
    judgements["of_headline"] = judgements["case_id"].map(lambda name: weights.get(name, 0.2))
    found = escalation(judgements, LABELS)
    assert found["case_id"].tolist() == ["silent", "torn", "once", "sure", "minor", "free"]
    assert found[["yes", "votes"]].to_numpy().tolist() == [[0, 0], [2, 4], [1, 1], [3, 3], [1, 2], [1, 2]]
    once = -(0.75 * log2(0.75) + 0.25 * log2(0.25))
    assert found.set_index("case_id").loc["once", ["unsure", "gain"]].tolist() == pytest.approx(
        [once, 0.2 * once]
    )
    assert found.set_index("case_id")["gain"]["free"] == 0
    pd.testing.assert_frame_equal(found, escalation(judgements.sample(frac=1, random_state=3), LABELS))


def test_what_is_labelled_is_not_asked_again_and_a_tie_is():
    judgements = table([(name, 1, "j@1", "original", [1]) for name in "abc"]).assign(of_headline=0.1)
    unit = {"run_id": "r1", "arm": "skill-on", "trial_index": 1, "expectation": 0}
    labels = pd.DataFrame([{**unit, "case_id": "a", "label": 1.0}, {**unit, "case_id": "b", "label": np.nan}])
    assert escalation(judgements, labels)["case_id"].tolist() == ["b", "c"]
    done = pd.DataFrame([{**unit, "case_id": name, "label": 0.0} for name in "abc"])
    assert escalation(judgements, done).empty
