"""Each number in its sentence: what is known, what is not and why, and one of a thing is not several."""

import math

import pandas as pd
import pytest

from evalstats.report import wording

NOTHING = pd.DataFrame()


def table(days=1, arms=("skill-on",), **changes):
    """Return a case table of one run a day, of one case with three usable trials."""
    counts = {"n_trials": 3, "n_usable": 3, "n_infrastructure": 0, **changes}
    return pd.DataFrame(
        {"arm": arm, "group_id": f"r{day}", "created_at": pd.Timestamp(2026, 11, day), **counts}
        for day in range(1, days + 1)
        for arm in arms
    )


def band(arm="skill-on", low=0.4, high=0.6, **changes):
    row = {"arm": arm, "band": "model", "estimate": 0.5, "conf_low": low, "conf_high": high, "level": 0.8}
    return pd.DataFrame([{**row, "n_cases": 1, "n_trials": 3, "method": "m", "caveats": (), **changes}])


def excess(**p_values):
    return pd.DataFrame({"arm": f"skill-{arm}", "p_value": p} for arm, p in p_values.items())


def test_a_finding():
    assert wording.variance_finding(table(5), band(), excess(on=0.3)) == (
        "If nothing changes, the next skill-on run lands in [0.40, 0.60] with 80% probability. Trial noise alone"
        " would explain how far runs of skill-on spread; a day or infrastructure effect was not seen."
    )


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (1, " within this day; a day effect cannot be told from 1 day."),
        (4, " within these 4 days; a day effect cannot be told from 4 days."),
    ],
)
def test_few_days_say_nothing_of_days(days, said):
    finding = wording.variance_finding(table(days), band(), excess(on=0.3, off=0.05))
    assert finding.endswith(
        f"Trial noise alone would explain how far runs of skill-on and skill-off spread{said}"
    )
    assert "not seen" not in finding


def test_only_days_with_a_score_count():
    runs = pd.concat([table(4), table(9, n_usable=0, n_infrastructure=3)])
    assert "a day effect cannot be told from 4 days" in wording.variance_finding(runs, band(), excess(on=0.3))


def test_each_arm_is_told_apart():
    finding = wording.variance_finding(table(6), NOTHING, excess(on=0.01, off=0.3, other=math.nan))
    assert finding == (
        "Runs of skill-on spread more than their trials explain: look for day or infrastructure effects. Trial noise"
        " alone would explain how far runs of skill-off spread; a day or infrastructure effect was not seen."
    )


def test_an_arm_without_a_score_is_unknown_and_says_why():
    runs = pd.concat(
        [table(2, n_usable=0, n_infrastructure=2), table(1, ("skill-off",), n_trials=1, n_usable=0)]
    )
    unknown = band(low=math.nan, caveats=("no cases",))
    assert wording.variance_finding(runs, unknown, NOTHING) == (
        "Nothing is known of skill-off: of 1 trial none carries a score. Nothing is known of skill-on: of 6 trials"
        " none carries a score, 4 failed for infrastructure. Whether runs vary more than their trials explain cannot"
        " be told yet."
    )
    assert wording.variance_finding(table(), unknown, NOTHING).startswith(
        "Where the next skill-on run should land is not known (no cases)."
    )


def test_the_headline():
    rate = band(n_cases=8)
    cards = wording.variance_cards(rate, rate.assign(estimate=-0.1, conf_low=-0.2, conf_high=0.0), band())
    assert cards == [
        {"label": "What the skill adds", "value": "−0.10", "detail": "80% interval [−0.20, 0.00] (m)"},
        {"label": "Mean score, skill-on", "value": "0.50", "detail": "80% interval [0.40, 0.60], 8 cases"},
        {
            "label": "How far one skill-on run strays",
            "value": "±10.0pp",
            "detail": "80% band, from trial noise alone",
        },
    ]


def test_an_unknown_headline_says_why():
    alone = band(low=math.nan, caveats=("1 of the 3 cases needed",))
    lost = alone.assign(estimate=math.nan)
    cards = wording.variance_cards(pd.concat([alone, lost.assign(n_trials=0)]), lost, alone)
    assert [(card["value"], card["detail"]) for card in cards] == [
        ("n/a", "1 of the 3 cases needed"),
        ("0.50", "no interval: 1 of the 3 cases needed, 1 case"),
        ("n/a", "no trial carries a score"),
        ("n/a", "no band: 1 of the 3 cases needed"),
    ]


def test_empty_frames_have_no_numbers():
    assert wording.variance_cards(NOTHING, NOTHING, NOTHING) == []
    assert wording.case_text(NOTHING) == ["No case has a trial with a score."]
    assert wording.difference_text(NOTHING) == [
        "The arms to compare did not both run; nothing can be compared."
    ]
    assert wording.band_text(table(n_usable=0), 0.8) == [
        "No run has a trial with a score, so there is no band."
    ]


def test_an_unknown_difference_says_why():
    unknown = band(caveats=("no pairs",)).assign(estimate=math.nan)
    assert wording.difference_text(unknown) == ["What the skill adds is not known (no pairs)."]


def test_one_of_a_thing_is_not_several():
    assert wording.band_text(table(), 0.8)[1:2] == ["It rests on 1 run from 1 day."]
    case = pd.DataFrame({"case_id": ["a"], "pass_rate": [1.0], "verdict_flips": [math.nan]})
    assert wording.case_text(case) == [
        "Of 1 case, 1 always passed and 0 never passed in any arm: such cases cannot move, and carry no information"
        " about a change. Whether a case changes from run to run cannot be told from one run."
    ]
    (text,) = wording.case_text(case.assign(verdict_flips=0.5))
    assert text.endswith(
        " 1 case changed the majority verdict in at least half of the steps from one run to the next."
    )
