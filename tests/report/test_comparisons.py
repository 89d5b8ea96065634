"""Two arms whose case means differ by 1/3 on six of eight cases: difference .25, two cases gained, none lost."""

import numpy as np
import pytest

from evalstats.errors import UsageError
from evalstats.report import comparison_tables, comparison_wording, comparisons, theme


def climbing(arm, night, case, index):
    return "ok", float(index <= case % 4 + (arm == "skill-on"))


def lossy(arm, night, case, index):
    return ("infrastructure", None) if arm == "skill-on" and case == 0 else climbing(arm, night, case, index)


def compared(place, a="", b="", *, clusters="", margin=0.05):
    sides = comparisons.read(str(place), "demo", a, b)
    rng = np.random.default_rng(1)
    return comparisons.compare(sides, rng=rng, margin=margin, clusters=clusters, level=0.8)


def test_both_empty_means_the_two_arms(fill_store):
    found = compared(fill_store(climbing, nights=2))
    assert found.sides.names == ("skill-off", "skill-on")
    assert found.last.found.estimates["difference"].estimate == pytest.approx(0.25, abs=1e-12)
    assert found.means["estimate"].tolist() == pytest.approx([0.5, 0.75], abs=1e-12)
    assert comparison_wording.subject(found.sides) == "demo"
    assert set(found.tests["test"]) == {"difference", "equivalence", "non-inferiority"}


def test_clusters_widen_and_stand_beside_the_independent_cases(fill_store):
    found = compared(fill_store(climbing, nights=2), clusters="archetype")
    difference = found.last.found.estimates["difference"]
    assert difference.n_clusters == 2 and found.independent.n_clusters is None
    width, narrow = (e.conf_high - e.conf_low for e in (difference, found.independent))
    assert width > narrow
    labels = [row[0] for row in _words(comparison_tables.difference_figures(found)[0])]
    assert labels == ["all, clusters of archetype", "all, as if independent"]


def _words(figure):
    spec = figure.wide.spec()
    named = next(layer["data"]["name"] for layer in spec["layer"] if layer["name"] == "m_row_labels")
    return [(row["text"],) for row in spec["datasets"][named]]


def test_unusable_clusters_are_not_used_and_that_is_said(fill_store):
    place = fill_store(climbing)
    found = compared(place, clusters="suite_id")
    assert found.clusters == ""
    assert found.notes == ("Cases are taken as independent: of suite_id there is only one.",)
    with pytest.raises(UsageError, match="no such column"):
        compared(place, clusters="nope")


def test_two_runs(fill_store):
    place = fill_store(climbing, nights=2)
    found = compared(place, "eval-01-skill-on", "eval-02-skill-on")
    assert found.last.found.estimates["difference"].estimate == 0
    assert comparison_wording.subject(found.sides) == "demo.eval-02-skill-on.eval-01-skill-on"


def test_several_sides_are_compared_in_pairs_and_grouped(fill_store):
    found = compared(fill_store(climbing, nights=2), "skill-off", "eval-01-skill-on, eval-02-skill-on")
    assert [(p.old.name, p.new.name) for p in found.pairs] == [
        ("skill-off", "eval-01-skill-on"),
        ("skill-off", "eval-02-skill-on"),
        ("eval-01-skill-on", "eval-02-skill-on"),
    ]
    assert ["eval-01-skill-on", "eval-02-skill-on"] in found.groups
    assert len(comparison_tables.difference_figures(found)) == 2
    assert "Not told apart: eval-01-skill-on and eval-02-skill-on." in comparison_wording.finding(found)


def test_a_run_that_is_a_side_is_not_also_in_its_arm(fill_store):
    found = compared(fill_store(climbing, nights=3), "skill-on", "eval-03-skill-on")
    assert set(found.sides.of("skill-on")["run_id"]) == {"eval-01-skill-on", "eval-02-skill-on"}
    assert found.sides.notes == ("eval-03-skill-on is a side of its own, and left out of skill-on.",)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("skill-on", "nobody", "no arm or run 'nobody'"),
        ("skill-on", "skill-on", "stands twice"),
        ("skill-on", "", "2 to 8 sides can be compared, got 1"),
        ("skill-on", ",".join(f"x{i}" for i in range(9)), "got 10"),
        ("skill-on", "eval-01-skill-on", "nothing is left of skill-on"),
    ],
)
def test_sides_that_are_none(fill_store, a, b, message):
    with pytest.raises(UsageError, match=message):
        compared(fill_store(climbing), a, b)


def test_cases_and_flips(fill_store):
    found = compared(fill_store(climbing, nights=2))
    cases = comparison_tables.cases(found)
    assert len(cases) == 8 and cases["change"].iloc[0] == pytest.approx(1 / 3)
    gained = cases[cases["new_passes"] & ~cases["old_passes"]]
    assert (
        sorted(gained["case_id"]) == ["c1", "c5"] and not (cases["old_passes"] & ~cases["new_passes"]).any()
    )
    row = cases.set_index("case_id").loc["c0"]
    assert (row["old_passed"], row["new_passed"]) == ("0 / 6", "2 / 6")
    figure = comparison_tables.flips(found, cases)
    assert "skill-on gained 2 of 8: 0.25" in figure.reading and "lost 0 of 8" in figure.reading
    assert theme.count_marks(comparison_tables.slopes(found, cases).wide.svg)["m_cases"] == 8
    assert theme.count_marks(comparison_tables.most_moved(found, cases).narrow.svg)["m_row_intervals"] == 8


def test_a_case_that_one_side_lost_is_listed(fill_store):
    found = compared(fill_store(lossy))
    assert found.attrition.to_dict("records") == [
        {"case_id": "c0", "archetype": "A1", "arm": "skill-off", "reason": "no usable trial in skill-on"}
    ]
    assert found.sides.table.set_index("side").loc["skill-on", "lost"] == 3
    around = comparison_tables.circumstances(found)
    assert around.lost == (("skill-off", 0.0), ("skill-on", 3 / 24))


def test_what_a_policy_reads_is_recorded(fill_store):
    table = comparison_tables.verdict_table(compared(fill_store(climbing, nights=2), margin=0.3))
    (cells,) = table.cells()
    assert cells[0] == "skill-on − skill-off" and cells[1].startswith("+0.25 [")
    assert len(cells) == 6 and "n/a" not in cells


def test_two_copies_speak_against_any_conclusion(fill_store):
    found = compared(fill_store(climbing, nights=2), "eval-01-skill-on", "eval-02-skill-on")
    assert comparison_tables.circumstances(found).identical
