"""Means .5 without and .75 with the skill: difference .25, lift .5, by hand."""

import numpy as np
import pandas as pd
import pytest

from evalstats.errors import UsageError
from evalstats.report import lift_wording, lifts, theme


def climbing(arm, night, case, index):
    return "ok", float(index <= case % 4 + (arm == "skill-on"))


def perfect(arm, night, case, index):
    return "ok", 1.0 if arm == "skill-on" else float(index <= case % 4)


def ceiling(arm, night, case, index):
    return "ok", 1.0


def measured(place, level=0.8):
    found = lifts.read(str(place), "demo")
    return found, lifts.measure(found, rng=np.random.default_rng(1), level=level)


def by_unit(found):
    return dict(zip(found.averages["over"], found.averages["estimate"], strict=True))


def test_the_averages_side_by_side(fill_store):
    _, found = measured(fill_store(climbing, nights=2))
    units = by_unit(found)
    assert units["cases"] == pytest.approx(0.5, abs=1e-12)
    # Archetype A1 has the even cases: off 0, 2 of 3, on 1, 3 of 3; A2 the odd ones: 1, 3 and 2, 3. Both lifts are .5.
    assert units["archetype mean"] == units["archetype median"] == pytest.approx(0.5, abs=1e-12)
    assert units["medians of 3"] == pytest.approx(0.5, abs=1e-12)  # medians 0, 0, 1, 1 and 0, 1, 1, 1
    assert np.isnan(units["expectations"])  # these trials tell none
    assert found.total["estimate"] == pytest.approx(0.25, abs=1e-12)


def test_differences_lead_and_the_lift_of_an_archetype_is_refused(fill_store):
    _, found = measured(fill_store(climbing, nights=2))
    rows = found.archetypes.set_index(["archetype", "quantity"])["estimate"]
    assert rows["A1", "difference"] == pytest.approx(1 / 3, abs=1e-12)
    assert rows["A2", "difference"] == pytest.approx(1 / 6, abs=1e-12)
    assert np.isnan(rows["A1", "lift"]) and np.isnan(rows["A2", "lift"])
    assert [row[4] for row in lifts.archetypes_table(found).cells()] == ["refused", "refused"]
    assert any("is refused for 2 of 2 archetypes" in text for text in lift_wording.archetype_text(found))


@pytest.mark.parametrize("width", [theme.WIDE, theme.NARROW])
def test_the_bars_have_every_archetype_and_the_total(fill_store, width):
    _, found = measured(fill_store(climbing))
    drawn = theme.count_marks(lifts.archetype_bars(found).draw(width).svg)
    assert drawn["m_row_intervals"] == 2 and drawn["m_total_intervals"] == 1
    drawn = theme.count_marks(lifts.averages_forest(found).draw(width).svg)
    assert drawn["m_row_points"] == 4 and drawn["m_row_intervals"] == 2  # archetype averages have no interval


def test_a_lift_of_one_is_called_degenerate(fill_store):
    _, found = measured(fill_store(perfect, nights=2))
    assert by_unit(found)["cases"] == 1
    assert (
        found.degeneracy[0]
        == "nothing fails with the skill, so the lift is 1 however much it adds (degenerate)"
    )
    assert "As a lift this means little: nothing fails" in lift_wording.finding(
        found, ("skill-on", "skill-off")
    )


def test_without_headroom_there_is_no_lift(fill_store):
    _, found = measured(fill_store(ceiling))
    assert np.isnan(by_unit(found)["cases"])
    assert found.degeneracy == [
        "no headroom: the baseline never fails, so lift is undefined; see the difference"
    ]
    assert set(found.headroom["word"]) == {"saturated"}
    assert lift_wording.headroom_text(found).startswith("8 cases passed always, or never")
    assert lifts.headroom_bars(found).reading == "Of 8 cases: 8 saturated."


def test_citations_are_unknown_where_none_was_asked_for(fill_store):
    found, numbers = measured(fill_store(climbing))
    assert numbers.citations["estimate"].isna().all() and set(numbers.citations["n_trials"]) == {0}
    assert "not a rate of 0" in lift_wording.citation_text(numbers)
    assert [row[2] for row in lifts.citations_table(numbers).cells()] == ["n/a"] * 4
    assert found.pair == ("skill-on", "skill-off")


def test_citations_are_counted_over_the_cases_that_ask(fill_store):
    from dataclasses import replace

    found, _ = measured(fill_store(climbing))
    asked = [("c0", "skill-on", 3, 4, 1), ("c1", "skill-on", 1, 3, 0), ("c0", "skill-off", 0, 3, 0)]
    columns = ["case_id", "arm", "passed", "n", "undecided"]
    rates = pd.DataFrame(asked, columns=columns).assign(
        type="cites_card", idx=0, required=True, archetype="A1"
    )
    rows = lifts.citations(replace(found, expectations=rates), 0.8).set_index(["what", "arm"])
    card = rows.loc["expected card cited"]
    assert card.loc["skill-on", "estimate"] == pytest.approx((3 / 3 + 1 / 3) / 2)  # a mean over cases
    assert card.loc["skill-on", "n_trials"] == 6 and card.loc["skill-off", "estimate"] == 0
    assert rows.loc["expected recipe cited", "estimate"].isna().all()


def test_a_lift_needs_both_arms(fill_store):
    with pytest.raises(UsageError, match="skill-on alone; a lift needs both"):
        lifts.read(str(fill_store(arms=("skill-on",))), "demo")


def test_the_same_seed_gives_the_same_numbers(fill_store):
    place = fill_store(climbing)
    first, second = (measured(place)[1].averages for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
