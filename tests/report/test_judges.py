"""What the judge notebook measures and says, held by hand on judges that were made up."""

from dataclasses import replace
from statistics import NormalDist

import pandas as pd
import pytest

from evalstats import estimates, stats
from evalstats.report import judge_tables, judge_wording, judges, theme
from evalstats.report.material import Material

KEYS = ["run_id", "case_id", "arm", "trial_index", "expectation"]
CASES = 12


def judgements(says, repeats=2):
    rows = [
        ("r", f"c{case}", arm, 1, 0, "j@00000000", repeat, float(says(case, arm, repeat)))
        for case in range(CASES)
        for arm in ("skill-on", "skill-off")
        for repeat in range(1, repeats + 1)
    ]
    return pd.DataFrame(rows, columns=[*KEYS, "judge", "repeat", "score"]).assign(
        judge_model="j", family=None, of_headline=0.0
    )


def labels_of(people):
    rows = [
        ("r", f"c{case}", arm, 1, 0, float(people(case, arm)))
        for case in range(CASES)
        for arm in ("skill-on", "skill-off")
    ]
    return pd.DataFrame(rows, columns=[*KEYS, "label"])


def measured(says, people=None, repeats=2, checks=()):
    """Measure one made-up judge, without a store."""
    said = judgements(says, repeats)
    runs = pd.DataFrame({"run_id": ["r"], "model": ["m"], "suite_scoring": ["s"]})
    empty = pd.DataFrame(columns=[*KEYS, "label"])
    labels = empty if people is None else labels_of(people)
    found = Material(
        suite="demo", runs=runs, every_run=runs, arms=("skill-on", "skill-off"), expectations=empty, trials=empty,
        judgements=said,
    )  # fmt: skip
    read = judges.Judged(
        found=found, judgements=said, labels=labels, wordings=said.assign(wording="original"), every=(said, labels),
        checks=list(checks),
    )  # fmt: skip
    return read, judges.measure(read)


def flips_in_a_third(case, arm, repeat):
    return repeat == 1 if case % 3 == 0 else case % 3 == 1 or arm == "skill-on"


def test_red_is_the_tail_of_a_difference_of_two_runs_and_its_ends_are_those_of_the_floor():
    (one,) = measured(flips_in_a_third)[1]
    sd = one.known("noise") * (2 / CASES) ** 0.5
    assert judges.goes_red(one, 0.1) == pytest.approx(1 - NormalDist(0, sd).cdf(0.1), rel=1e-9)
    floor = one.floor("difference floor")
    ends = judges.red_between(one, 0.1)
    for end, name in zip(ends, ("conf_low", "conf_high"), strict=True):
        assert end == pytest.approx(
            1 - NormalDist(0, floor[name] / NormalDist().inv_cdf(0.975)).cdf(0.1), rel=1e-6
        )
    assert (
        judge_tables.red_text(one, 0.1)
        == f"{100 * judges.goes_red(one, 0.1):.0f}% [{100 * ends[0]:.0f}%, {100 * ends[1]:.0f}%]"
    )


def test_a_lift_without_flips_is_undone_by_flipping_it_again():
    def flips_in_a_sixth(case, arm, repeat):
        return repeat == 1 if case % 6 == 0 else case % 3 == 1 or (arm == "skill-on" and case % 3 == 0)

    (one,) = measured(flips_in_a_sixth)[1]
    seen, true = judges.lift_without_flips(one)
    flips = one.known("flips")
    error = (1 - (1 - 2 * flips) ** 0.5) / 2
    assert 2 * error * (1 - error) == pytest.approx(flips)
    fails = [(fail - error) / (1 - 2 * error) for fail in one.fails]
    assert stats.flipped_lift(*fails, flips=error) == pytest.approx(seen) and abs(true) > abs(seen)
    assert any("Flips pull a lift towards zero" in text for text in judge_wording.resolves_text([one], 0.05))


def test_without_flips_or_another_arm_nothing_is_undone():
    (steady,) = measured(lambda case, arm, repeat: case % 2)[1]
    assert judges.lift_without_flips(steady) is None and judges.red_between(steady, 0.1) is None
    assert judge_tables.red_text(steady, 0.1) == "n/a"
    (often,) = measured(flips_in_a_third)[1]  # more flips than failures
    assert judges.lift_without_flips(often) is None
    assert judges.lift_without_flips(replace(often, fails=None)) is None


def test_the_paradox_is_said_where_verdicts_are_one_sided_and_only_there():
    (rare,) = measured(lambda case, arm, repeat: case != 0, people=lambda case, arm: case != 1)[1]
    (text,) = judge_wording.people_text([rare])
    assert "The verdicts are one-sided (prevalence index +0.83, bias index 0.00)" in text
    assert "kappa is −0.09, PABAK 0.67" in text
    (even,) = measured(lambda case, arm, repeat: case % 2, people=lambda case, arm: case % 2 or case == 0)[1]
    assert "one-sided" not in judge_wording.people_text([even])[0]
    (all_yes,) = measured(lambda case, arm, repeat: True, people=lambda case, arm: True)[1]
    assert "kappa cannot be worked out, PABAK 1.00" in judge_wording.people_text([all_yes])[0]


def test_who_said_yes_is_counted_for_all_and_by_arm():
    (one,) = measured(lambda case, arm, repeat: case < 6, people=lambda case, arm: case < 4)[1]
    cells = judge_tables.confusion_table([one]).cells()
    assert cells[0][:6] == ["j", "all", "8", "0", "4", "12"]
    assert [row[1] for row in cells] == ["all", "skill-off", "skill-on"]
    assert judge_tables.confusion_table(measured(flips_in_a_third)[1]).cells() == []


def test_figures_draw_a_row_a_measure_and_say_what_they_mean():
    (one,) = measured(flips_in_a_third, people=lambda case, arm: case % 3 != 0)[1]
    for figure, first in (
        (judge_tables.agreement_forest([one]), "Two judgements of one text differ 33% ["),
        (judge_tables.accuracy_forest([one]), "Where people say yes it does so "),
    ):
        rows = [
            row
            for row in (*one.floors.to_dict("records"), *one.accuracy.to_dict("records"))
            if pd.notna(row["estimate"])
        ]
        assert figure.reading.startswith(first) and figure.reading.endswith("Intervals hold 80% of the time.")
        drawn = theme.count_marks(figure.wide.svg)
        assert 0 < drawn["m_row_points"] <= len(rows) and drawn["m_row_points"] == drawn["m_row_labels"]
    assert judge_tables.accuracy_forest(measured(flips_in_a_third)[1]) is None


def test_two_judges_of_one_model_are_told_apart():
    (one,) = measured(flips_in_a_third)[1]
    other = replace(one, judge="j@11111111")
    assert judge_tables.named([one, other]) == {"j@00000000": "j@00000000", "j@11111111": "j@11111111"}
    assert judge_tables.named([one]) == {"j@00000000": "j"}
    assert judge_tables.agreement_forest([one, other]).reading.count("j@") == 2


CHECK = {
    "checked_at": "2026-11-01T00:00:00.000Z", "n_anchors": 12, "repeats": 3, "level": 0.01, "to_yes": 1, "to_no": 0,
    "p_value": 0.4, "changed": False, "unchanged_at": None, "changed_by": None,
}  # fmt: skip


def test_a_check_that_found_nothing_says_what_it_would_have_found():
    read, _ = measured(flips_in_a_third, checks=[CHECK])
    assert judge_wording.sentinel_text(read) == (
        "Of 1 check the last, on 2026-11-01, found no change: p is 0.400 at level 0.01, and 3 of its 12 texts turned"
        " round for good would have shown."
    )
    blind, _ = measured(flips_in_a_third, checks=[{**CHECK, "n_anchors": 4, "repeats": 1}])
    assert judge_wording.sentinel_text(blind).endswith("but with 4 texts it could have found none.")


def test_a_judge_that_changed_is_part_of_the_finding():
    found = {
        **CHECK,
        "changed": True,
        "p_value": 0.001,
        "unchanged_at": "2026-10-01T00",
        "changed_by": "2026-11-01T00",
    }
    read, every = measured(flips_in_a_third, checks=[found])
    assert "The judge has changed: between 2026-10-01 and 2026-11-01." in judge_wording.finding(
        read, every, 0.05
    )


def test_a_family_that_is_not_known_is_a_caveat():
    (one,) = measured(flips_in_a_third)[1]
    assert not one.family_known
    assert "The family of j is not known" in next(iter(judge_wording._warnings([one])))
    assert not list(judge_wording._warnings([replace(one, family_known=True)]))


def test_the_numbers_are_those_of_the_estimates():
    said = judgements(flips_in_a_third)
    (one,) = measured(flips_in_a_third)[1]
    expected = estimates.noise_floor(said, level=0.8).set_index("measure")["estimate"]
    assert {m: one.known(m) for m in ("noise", "flips", "alpha")} == pytest.approx(
        {m: expected[m] for m in ("noise", "flips", "alpha")}
    )
