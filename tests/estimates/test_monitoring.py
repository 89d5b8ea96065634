"""Charts on a series of runs: who alarms, when, on how much history; changes dated afterwards."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evalstats import estimates
from evalstats.errors import UsageError

START = pd.Timestamp("2026-10-01", tz="UTC")
SERIES = [1.02, 0.95, 0.99, 1.0, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55]  # changes at index 6, published


def series_of(**arms: list[float]) -> pd.DataFrame:
    """Return a series of runs a day apart; the name of an arm is written with an underscore."""
    rows = [
        {
            "run_id": f"r{night}-{arm}",
            "group_id": f"r{night}",
            "arm": arm.replace("_", "-"),
            "started_at": START + pd.Timedelta(days=night),
            "score": score,
        }
        for arm, scores in arms.items()
        for night, score in enumerate(scores)
    ]
    return pd.DataFrame(rows)


def noisy(rng: np.random.Generator, n: int, centre: float = 0.5) -> list[float]:
    return (centre + rng.normal(0, 0.02, n)).tolist()


def test_history_is_what_numpy_says_of_the_oldest_runs(rng) -> None:
    scores = noisy(rng, 30)
    found = estimates.monitor(series_of(skill_on=scores), rng=rng).set_index("chart")
    assert found[["n_history", "n_new"]].drop_duplicates().to_numpy().tolist() == [[15, 15]]
    assert found.loc["cusum", "centre"] == pytest.approx(np.mean(scores[:15]), abs=1e-12)
    assert found.loc["cusum", "sigma"] == pytest.approx(np.std(scores[:15], ddof=1), abs=1e-12)
    assert list(found.index) == ["shewhart", "ewma", "cusum"]


def test_a_lasting_drop_alarms_is_confirmed_and_dated(rng) -> None:
    scores = [*noisy(rng, 20), *noisy(rng, 10, centre=0.35)]
    found = estimates.monitor(series_of(skill_on=scores), rng=rng, history=20).set_index("chart")
    drop = START + pd.Timedelta(days=20)
    assert (found["first_alarm"] >= drop).all()
    assert found.loc["shewhart", "first_alarm"] == drop
    assert (found["confirmed_alarm"] < drop + pd.Timedelta(days=6)).all()
    assert (found["changed_at"] == drop).all()
    assert not found[["provisional", "degenerate"]].any(axis=None)


def test_an_unchanged_series_is_silent(rng) -> None:
    found = estimates.monitor(series_of(skill_on=noisy(rng, 40)), rng=rng, history=28)
    assert found[["first_alarm", "confirmed_alarm", "changed_at"]].isna().all(axis=None)


def test_limits_are_wider_the_shorter_the_history(rng) -> None:
    found = {
        history: estimates.monitor(series_of(skill_on=noisy(rng, 40)), rng=rng, history=history)
        .set_index("chart")
        .loc["cusum", "limit"]
        for history in (8, 28)
    }
    assert found[8] > found[28] > 5


def test_the_difference_is_watched_where_both_arms_move_together(rng) -> None:
    night = rng.normal(0, 0.1, 30)  # moves both arms alike
    on = (0.7 + night + rng.normal(0, 0.01, 30) - np.r_[np.zeros(20), np.full(10, 0.1)]).tolist()
    off = (0.5 + night + rng.normal(0, 0.01, 30)).tolist()
    found = estimates.monitor(series_of(skill_on=on, skill_off=off), rng=rng, history=20)
    first = found.set_index(["watched", "chart"])["first_alarm"]
    assert first["difference", "shewhart"] == START + pd.Timedelta(days=20)
    assert pd.isna(first["skill-on", "shewhart"])
    assert found["watched"].unique().tolist() == ["skill-off", "skill-on", "difference"]


def test_a_run_of_one_arm_is_in_no_difference(rng) -> None:
    series = series_of(skill_on=noisy(rng, 12), skill_off=noisy(rng, 10))
    found = estimates.monitor(series, rng=rng).drop_duplicates("watched").set_index("watched")
    assert (found["n_history"] + found["n_new"]).to_dict() == {
        "skill-off": 10,
        "skill-on": 12,
        "difference": 10,
    }


def test_a_short_history_is_provisional_and_charts_nothing(rng) -> None:
    row = estimates.monitor(series_of(skill_on=[0.5, 0.52, 0.49, 0.51, 0.48]), rng=rng).iloc[0]
    assert (row["n_history"], row["n_new"], row["provisional"]) == (5, 0, True)
    assert row["caveats"] == (
        "provisional: 5 of the 8 runs needed",
        "no run after the history: nothing is charted",
    )


def test_a_history_without_spread_supports_no_claim(rng) -> None:
    found = estimates.monitor(series_of(skill_on=[0.5] * 10 + [0.1] * 5), rng=rng, history=10)
    assert found["degenerate"].all()
    assert found[["sigma", "limit"]].isna().all(axis=None)
    assert found["first_alarm"].isna().all()
    assert found["caveats"].iloc[0][0].startswith("degenerate")


def test_published_change_point() -> None:
    found = estimates.change_points(series_of(skill_on=SERIES))
    assert found["changed_at"].tolist() == [START + pd.Timedelta(days=6)]
    assert found["before"].iloc[0] == pytest.approx(np.mean(SERIES[:6]))
    assert found["after"].iloc[0] == pytest.approx(np.mean(SERIES[6:]))


def test_runs_without_a_score_are_no_points(graded, rng) -> None:
    series = estimates.series(graded)
    series.loc[series["run_id"] == "r2-skill-on", "score"] = np.nan
    found = estimates.monitor(series, rng=rng).drop_duplicates("watched").set_index("watched")
    assert found["n_history"].to_dict() == {"skill-off": 6, "skill-on": 5, "difference": 5}


def test_same_rng_same_limits() -> None:
    def limit(seed: int) -> float:
        rng = np.random.default_rng(seed)
        series = series_of(skill_on=noisy(np.random.default_rng(1), 20))
        return float(estimates.monitor(series, rng=rng)["limit"].iloc[2])

    assert limit(1) == limit(1)
    assert limit(1) != limit(2)


def test_a_foreign_frame_is_named() -> None:
    with pytest.raises(UsageError, match="series lack group_id, started_at"):
        estimates.change_points(pd.DataFrame({"arm": [], "score": []}))


def test_the_side_of_an_alarm(rng) -> None:
    for centre, side in ((0.35, "below"), (0.65, "above")):
        scores = [*noisy(rng, 20), *noisy(rng, 10, centre=centre)]
        found = estimates.monitor(series_of(skill_on=scores), rng=rng, history=20)
        assert set(found["direction"]) == {side}
    quiet = estimates.monitor(series_of(skill_on=noisy(rng, 40)), rng=rng, history=28)
    assert quiet["direction"].isna().all()


def test_a_trend_by_counting_orders() -> None:
    """Of the 5! orders of five values two are monotone, and eight have a tau of at least 0.8 either way."""
    rising = estimates.trend(series_of(skill_on=[0.1, 0.2, 0.3, 0.4, 0.5])).iloc[0]
    assert (rising["statistic"], rising["p_value"]) == (pytest.approx(1), pytest.approx(2 / 120))
    falling = estimates.trend(series_of(skill_on=[0.5, 0.4, 0.3, 0.1, 0.2])).iloc[0]
    assert (falling["statistic"], falling["p_value"]) == (pytest.approx(-0.8), pytest.approx(10 / 120))


@pytest.mark.parametrize("scores", [[0.5], [0.5, 0.6], [0.5] * 6])
def test_no_trend_can_be_told(scores) -> None:
    row = estimates.trend(series_of(skill_on=scores)).iloc[0]
    assert np.isnan(row["p_value"]) and row["caveats"]


def test_what_is_charted_is_in_the_unit_of_the_scores(rng) -> None:
    scores = noisy(rng, 20)
    series = series_of(skill_on=scores)
    charts = estimates.monitor(series, rng=rng, history=10)
    shown = estimates.charted(series, charts).set_index(["chart", "group_id"])
    one = charts.set_index("chart").loc["shewhart"]
    assert shown.loc["shewhart", "value"].tolist() == pytest.approx(scores[10:], abs=1e-12)
    assert shown.loc[("shewhart", "r10"), "high"] == pytest.approx(
        one["centre"] + one["limit"] * one["sigma"]
    )
    average, expected = one["centre"], []
    for score in scores[10:]:
        average = 0.8 * average + 0.2 * score
        expected.append(average)
    assert shown.loc["ewma", "value"].tolist() == pytest.approx(expected, abs=1e-12)
    wide = charts.set_index("chart").loc["ewma", "limit"] * one["sigma"] / 3  # sqrt(0.2 / 1.8)
    assert shown.loc[("ewma", "r19"), "low"] == pytest.approx(one["centre"] - wide)
    assert "cusum" not in shown.index


def test_a_history_without_spread_charts_nothing(rng) -> None:
    series = series_of(skill_on=[0.5] * 12)
    assert estimates.charted(series, estimates.monitor(series, rng=rng)).empty


def test_the_newest_run_against_its_history_is_students_prediction(rng) -> None:
    from scipy.stats import t

    scores = [0.70, 0.74, 0.72, 0.73, 0.71, 0.69, 0.75, 0.72, 0.60]
    found = estimates.against_history(series_of(skill_on=scores)).iloc[0]
    mean, spread = np.mean(scores[:8]), np.std(scores[:8], ddof=1)
    half = t.ppf(0.9, 7) * spread * np.sqrt(1 + 1 / 8)
    assert found["estimate"] == pytest.approx(0.60 - mean) and found["centre"] == pytest.approx(mean)
    assert found["conf_low"] == pytest.approx(0.60 - mean - half, abs=1e-12)
    assert found["conf_high"] == pytest.approx(0.60 - mean + half, abs=1e-12)
    assert (found["group_id"], found["n_cases"], found["value"]) == ("r8", 8, 0.60)


def test_alike_neighbours_widen_the_interval_as_they_widen_the_limits() -> None:
    from scipy.stats import t

    scores = [0.5, 0.52, 0.54, 0.56, 0.58, 0.60, 0.62, 0.64, 0.64]
    found = estimates.against_history(series_of(skill_on=scores)).iloc[0]
    past = np.array(scores[:8])
    deviations = past - past.mean()
    r = deviations[:-1] @ deviations[1:] / (deviations @ deviations)
    half = t.ppf(0.9, 7) * past.std(ddof=1) * np.sqrt(1 + 1 / 8) * np.sqrt((1 + r) / (1 - r))
    assert r > 0.3 and found["conf_high"] - found["estimate"] == pytest.approx(half, abs=1e-12)
    assert any("spread widened" in caveat for caveat in found["caveats"])


def test_a_first_run_has_no_history() -> None:
    found = estimates.against_history(series_of(skill_on=[0.5])).iloc[0]
    assert np.isnan(found["estimate"]) and found["caveats"][0].startswith("0 runs")
