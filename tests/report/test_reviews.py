import numpy as np
import pytest

from evalstats.errors import UsageError
from evalstats.governance import locks
from evalstats.report import review_tables, review_wording, reviews, theme
from evalstats.suite import load_all


def climbing(arm, night, case, index):
    return "ok", float(index <= case % 4 + (arm == "skill-on"))


def dead(arm, night, case, index):
    return ("ok", 1.0) if case == 7 else climbing(arm, night, case, index)


def review(place, **given):
    return reviews.read(str(place), "demo", **{"suites": "", "lock": "", "level": 0.8, **given})


def test_difficulty_and_discrimination_by_hand(fill_store):
    found = review(fill_store(climbing, nights=2))
    rows = reviews.cases(found).set_index("case_id")
    assert rows.loc["c0", "difficulty"] == 1 and rows.loc["c0", "discrimination"] == pytest.approx(1 / 3)
    assert rows.loc["c3", "difficulty"] == 0 and rows.loc["c3", "discrimination"] == 0
    assert (rows["difficulty_low"] <= rows["difficulty"]).all() and (rows["flips"] == 0).all()
    assert rows["disagreement"].isna().all()


def test_leverage_is_how_far_the_lift_moves(fill_store):
    found = review(fill_store(climbing, nights=2))
    rows = reviews.cases(found).set_index("case_id")
    # Failures sum to 4 without and 2 with the skill: lift 1/2. Without c0, which fails 1 and 2/3: 1 - (4/3) / 3.
    assert found.headline == "lift"
    assert rows.loc["c0", "leverage"] == pytest.approx(1 - (4 / 3) / 3 - 1 / 2, abs=1e-12)
    assert "c0 weighs most: without it the lift moves by +5.6pp." in review_wording.finding(
        found, rows.reset_index()
    )


def test_only_what_is_sure_retires_a_case(fill_store):
    few = reviews.cases(review(fill_store(dead, nights=2))).set_index("case_id")
    assert (
        few.loc["c7", "proposal"] == "keep" and "looks saturated; 53 more trials" in few.loc["c7", "reasons"]
    )


def test_a_case_that_surely_shows_nothing_is_to_be_retired(fill_store):
    found = review(fill_store(dead, nights=20))  # 60 clean trials an arm: 59 are enough for 95% within .05
    rows = reviews.cases(found)
    assert list(rows.loc[rows["proposal"] == "retire", "case_id"]) == ["c3", "c7"]
    assert review_tables.proposals_table(rows).cells()[0][3] == "retire"
    assert "To retire: c3 and c7." in review_wording.finding(found, rows)
    assert review_tables.proposal_bars(found, rows).reading == "Of 8 cases: keep 6, retire 2."


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_the_map_has_every_case(fill_store, width):
    found = review(fill_store(climbing))
    drawn = theme.count_marks(review_tables.map_figure(found, reviews.cases(found)).draw(width).svg)
    assert drawn["m_cases"] == drawn["m_across"] == drawn["m_upwards"] == 8


def test_one_arm_alone_cannot_be_placed(fill_store):
    found = review(fill_store(climbing, arms=("skill-on",)))
    rows = reviews.cases(found)
    assert rows["discrimination"].isna().all() and found.headline == "mean score"
    assert review_tables.map_figure(found, rows).reading.startswith("There is nothing to draw.")
    assert "there is one arm only" in review_wording.finding(found, rows)


def test_without_a_file_lint_is_unknown_not_zero(fill_store):
    found = review(fill_store(climbing))
    rows = reviews.cases(found)
    assert found.lint is None and "No file of demo was found" in found.notes[0]
    assert [card for card in review_wording._cards(found, rows)][-1] == (
        "Lint findings", "n/a", "no file of the suite was found",
    )  # fmt: skip


def test_judgements_that_split_are_counted(fill_store):
    from dataclasses import replace

    import pandas as pd

    found = review(fill_store(climbing))
    keys = {"run_id": "r", "case_id": "c1", "arm": "skill-on", "judge": "j", "expectation": 0}
    split = [
        {**keys, "trial_index": i, "repeat": k, "score": s}
        for i, k, s in [(1, 1, 1), (1, 2, 0), (2, 1, 1), (2, 2, 1), (3, 1, 1)]
    ]
    judged = replace(found, found=replace(found.found, judgements=pd.DataFrame(split)))
    rows = reviews.cases(judged).set_index("case_id")
    assert rows.loc["c1", "disagreement"] == 0.5  # of two things judged twice; the third was judged once
    assert np.isnan(rows.loc["c2", "disagreement"])


SUITE = {
    "schema_version": 1,
    "id": "demo",
    "name": "Eight cases",
    "domain": "demonstration",
    "visibility": "public_canary",
    "tier": "headless",
    "scoring": {
        "aggregate_threshold": 0.5,
        "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0.5}],
    },
    "baseline_policy": {"mode": "none"},
}


def make_case(name, **more):
    said = {
        "title": name,
        "kind": "command",
        "objective": name,
        "archetype": "A1",
        "dimensions": ["correctness"],
    }
    return {
        "id": name,
        **said,
        "inputs": {"shell": f"echo {name}"},
        "expectations": [{"type": "stdout_contains", "value": name}],
        **more,
    }


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a repository whose suite has one case outside the lock, and one that stands twice."""
    import json

    cases = [make_case("c0", pool="candidate"), *(make_case(f"c{i}") for i in range(1, 8))]
    twin = {**cases[6], "id": "c7"}
    (tmp_path / "evals/demo").mkdir(parents=True)
    (tmp_path / "evalstats.toml").touch()
    (tmp_path / "evals/demo/suite.json").write_text(json.dumps({**SUITE, "cases": [*cases[:7], twin]}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_is_linted_and_twins_are_to_be_retired(repository, fill_store):
    found = review(fill_store(climbing), suites="evals")
    rows = reviews.cases(found).set_index("case_id")
    assert "duplicate-case" in rows.loc["c7", "lint"] or "duplicate-case" in rows.loc["c6", "lint"]
    assert (rows["proposal"] == "retire").sum() >= 1
    assert review_tables.lint_table(found).cells()


def test_runs_of_another_version_cannot_be_held_against_a_lock(repository, fill_store):
    present, _ = load_all(repository / "evals")
    locks.write(locks.create("2026Q4", present), repository / "evals/locks")
    with pytest.raises(
        UsageError, match="case content or fixture changed"
    ):  # these runs tried other versions of the cases
        review(fill_store(climbing, nights=3), suites="evals", lock="2026Q4")
