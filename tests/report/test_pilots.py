import numpy as np
import pytest

from evalstats.errors import UsageError
from evalstats.report import pilot_tables, pilot_wording, pilots, theme
from evalstats.stats.allocation import Costs
from evalstats.stats.planning import Spread, Study


def varied(arm, night, case, index):
    passes = (case * 5 + night * 3 + index * 7) % 11 < (3 if case < 4 else 8) + (arm == "skill-on")
    return "ok", float(passes)


def ceiling(arm, night, case, index):
    return "ok", 1.0


def single(arm, night, case, index):
    return "ok", float(case % 2)


def read(place, effect=0.1, prices=(5.0, 1.0), promise=(0.05, 0.8)):
    return pilots.read(str(place), "demo", effect=effect, prices=prices, promise=promise, level=0.8)


def known(effect, spread, **study):
    return pilots.Pilot(
        found=None, study=Study(**study), costs=Costs(case=9.0, trial=1.0), effect=effect, level=0.8, spread=spread,
        refusal="", ends=(None, None),
    )  # fmt: skip


def test_power_reaches_the_promise_where_the_literature_says():
    # Miller: a difference of .03 with variance 1/9 takes 969 cases for 80% power at a two-sided 5%.
    pilot = known(0.03, Spread(case=1 / 9, trial=0.0), paired=True)
    assert pilots.power(pilot, pilot.spread, 969, 1) >= 0.8 > pilots.power(pilot, pilot.spread, 968, 1)


def test_power_without_an_effect_is_alpha():
    pilot = known(1e-12, Spread(case=0.1, trial=0.2), paired=True)
    assert pilots.power(pilot, pilot.spread, 50, 3) == pytest.approx(0.05, abs=1e-9)


def test_power_by_hand():
    # (.04 + 2 * .16 / 4) / 30 = .004: the error is .0632, the effect 1.581 of it; Phi(1.581 - 1.960) + Phi(-3.541).
    pilot = known(0.1, Spread(case=0.04, trial=0.16), paired=True)
    assert pilots.power(pilot, pilot.spread, 30, 4) == pytest.approx(0.3526, abs=5e-4)


def test_a_pilot_makes_plans_curves_and_costs(fill_store):
    pilot = read(fill_store(varied, nights=3))
    assert pilot.spread is not None and pilot.arms == ("skill-on", "skill-off")
    designs = {row["design"]: row for row in pilot.plans.to_dict("records")}
    curves = pilots.curves(pilot)
    for trials in (1, 3, 5, 10):
        cases = designs["1 trial" if trials == 1 else f"{trials} trials"]["cases"]
        some = curves[(curves["trials"] == trials) & (curves["power"] >= 0.8)]
        assert some["cases"].min() == cases  # the curve crosses where the plan says
    ordered = curves.dropna()
    assert (ordered["low"] <= ordered["power"]).all() and (ordered["power"] <= ordered["high"]).all()
    best = pilot.cheapest
    assert (
        f"{best['cases']:,.0f} cases of {best['trials']:.0f} trial" in pilot_tables.cost_figure(pilot).reading
    )
    assert pilot_wording.finding(pilot).startswith(
        "To see a difference of 0.10 with 80% power, the cheapest design is"
    )


def test_small_studies_are_tried_out_in_a_world_like_the_pilot(fill_store):
    pilot = read(fill_store(varied, nights=3), effect=0.2)
    world = pilots.world_of(pilot, 4_000, 200)
    from evalstats.stats.worlds import draw

    sample = draw(world, np.random.default_rng(1))
    assert sample.baseline.mean() == pytest.approx(world.mean, abs=0.02)
    assert (sample.candidate - sample.baseline).mean() == pytest.approx(0.2, abs=0.02)
    first, second = (pilots.simulate(pilot, np.random.default_rng(7)) for _ in range(2))
    assert first.equals(second) and list(first["cases"]) == [10, 15, 20, 25]
    figure = pilot_tables.power_figure(pilot, pilots.curves(pilot), first)
    assert theme.count_marks(figure.narrow.svg)["m_simulated_intervals"] == 4


def test_a_saturated_pilot_is_refused(fill_store):
    pilot = read(fill_store(ceiling))
    assert pilot.spread is None and pilot.cheapest is None
    assert pilot_wording.finding(pilot) == (
        "Nothing can be planned from this pilot: all scores agree: no variance to divide."
    )
    assert pilots.curves(pilot).empty and pilots.simulate(pilot, np.random.default_rng(1)).empty
    assert pilot_tables.cost_figure(pilot).reading == "There is nothing to draw."
    assert pilot_tables.variances_table(pilot).cells() == []


def test_one_arm_alone_plans_a_mean(fill_store):
    pilot = read(fill_store(varied, arms=("skill-on",), nights=2))
    assert not pilot.study.paired and "To see a change of 0.10" in pilot_wording.finding(pilot)
    assert pilots.simulate(pilot, np.random.default_rng(1)).empty


@pytest.mark.parametrize(
    "wrong",
    [
        {"effect": 0.0},
        {"effect": 1.0},
        {"prices": (-1.0, 1.0)},
        {"promise": (0.0, 0.8)},
        {"promise": (0.5, 0.2)},
    ],
)
def test_nonsense_is_refused(fill_store, wrong):
    with pytest.raises(UsageError):
        read(fill_store(varied), **wrong)


@pytest.mark.parametrize(
    ("value", "text"), [(30.0, "30"), (29.999999999999996, "30"), (4.0846, "4.08"), (float("nan"), "n/a")]
)
def test_numbers_without_idle_digits(value, text):
    assert pilot_tables.whole(value) == text
