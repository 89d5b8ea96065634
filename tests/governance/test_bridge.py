"""The shift that is due to the suite, against arithmetic by hand and against the estimates of the house."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalstats import contract, estimates
from evalstats.errors import UsageError
from evalstats.governance import bridge
from evalstats.governance.locks import FrozenCase, FrozenSuite, Lock

T80_1DF, T80_4DF = 3.0776835, 1.5332063  # two-sided 80%, from printed tables of t
TRIALS = {  # case -> archetype, trials with the skill, trials without
    "c1": ("A", [1, 1], [1, 0]),
    "c2": ("B", [1, 0], [0, 0]),
    "r": ("B", [0, 0], [0, 0]),
    "a": ("A", [1, 1], [1, 0]),
}


def held(*case_ids: str, fields: dict[str, str] | None = None, **versions: str) -> FrozenSuite:
    cases = {}
    for case_id in case_ids:
        digest = versions.get(case_id, f"{case_id}-1")
        cases[case_id] = FrozenCase(
            id=case_id, pool="locked", case_hash=digest, any_pool=(digest,), fields={}, files={}
        )
    layers = dict.fromkeys(("raw", "canonical", "scoring", "policy", "metadata"), "0")
    return FrozenSuite(id="s", hashes=layers, fields=fields or {}, files={}, cases=cases)


OLD, NEW = held("c1", "c2", "r"), held("c1", "c2", "a")


def rows(run: str, arm: str, case: str, archetype: str | None, scores: list[float]) -> dict[str, Any]:
    return {
        "suite_id": "s", "case_id": case, "archetype": archetype, "arm": arm, "run_id": f"{run}-{arm}",
        "group_id": run, "created_at": pd.Timestamp("2026-12-01") + pd.Timedelta(days=int(run[1:])),
        "seed": int(run[1:]), "n_trials": len(scores), "n_usable": len(scores),
        "n_passed": sum(score == 1 for score in scores), "score_sum": math.fsum(scores),
        "score_sumsq": math.fsum(score**2 for score in scores), "n_infrastructure": 0, "n_unusable": 0,
        "is_mock": False, "case_hash": f"{case}-1", **dict.fromkeys(contract.IDENTITY, "same"),
    }  # fmt: skip


@pytest.fixture
def one_run() -> pd.DataFrame:
    return pd.DataFrame(
        rows("r1", arm, case, archetype, scores)
        for case, (archetype, *both) in TRIALS.items()
        for arm, scores in zip(("skill-on", "skill-off"), both, strict=True)
    )


def values(found: bridge.Bridge, quantity: str, average: str, arm: str | None = None) -> dict[str, float]:
    frame = found.estimates
    of_arm = frame["arm"].isna() if arm is None else frame["arm"] == arm
    chosen = frame[(frame["quantity"] == quantity) & (frame["average"] == average) & of_arm]
    return dict(zip(chosen["part"], chosen["estimate"], strict=True))


def row(found: bridge.Bridge, quantity: str, part: str, average: str = "cases") -> dict[str, Any]:
    frame = found.estimates
    chosen = frame[(frame["quantity"] == quantity) & (frame["average"] == average) & (frame["part"] == part)]
    return dict(chosen.iloc[-1])


def test_headlines_and_shifts_by_hand(one_run: pd.DataFrame) -> None:
    found = bridge.shift(one_run, OLD, NEW)
    assert (found.retired, found.common, found.admitted) == (("r",), ("c1", "c2"), ("a",))
    assert values(found, "score", "cases", "skill-on") == pytest.approx(
        {"old": 1 / 2, "common": 3 / 4, "new": 5 / 6, "retired": 1 / 4, "admitted": 1 / 12, "shift": 1 / 3}
    )
    assert values(found, "difference", "cases") == pytest.approx(
        {"old": 1 / 3, "common": 1 / 2, "new": 1 / 2, "retired": 1 / 6, "admitted": 0, "shift": 1 / 6}
    )
    assert values(
        found, "lift", "cases"
    ) == pytest.approx(  # 1 - (1/2)/(5/6), 1 - (1/4)/(3/4), 1 - (1/6)/(2/3)
        {"old": 0.4, "common": 2 / 3, "new": 0.75, "retired": 4 / 15, "admitted": 1 / 12, "shift": 0.35}
    )
    assert values(found, "difference", "archetypes") == pytest.approx(
        {"old": 0.375, "common": 0.5, "new": 0.5, "retired": 0.125, "admitted": 0, "shift": 0.125}
    )
    assert values(found, "lift", "archetypes") == pytest.approx(
        {"old": 0.625, "common": 0.75, "new": 0.75, "retired": 0.125, "admitted": 0, "shift": 0.125}
    )
    assert set(found.estimates["population"]) == {"FIXED"}


def test_the_interval_of_one_run_is_that_of_its_trials_by_hand(one_run: pd.DataFrame) -> None:
    found = bridge.shift(one_run, OLD, NEW, level=0.8)
    shift = row(found, "difference", "shift")
    # Only `a` without the skill varies among r and a: variance 1/2, two trials, weight 1/3, one degree of freedom.
    assert shift["std_error"] == pytest.approx(math.sqrt(0.5 / 2 / 9))
    assert shift["conf_high"] - shift["estimate"] == pytest.approx(T80_1DF / 6, rel=1e-6)
    assert shift["method"] == "trial noise inside cases"
    assert shift["caveats"][0].startswith("fewer than 5 whole runs")
    old = row(found, "difference", "old")
    assert old["std_error"] == pytest.approx(math.sqrt(1 / 18))  # c2 with and c1 without, one degree each
    # Dixon and Massey: (v + v)^2 / (2 v^2 / (1 + 2)) - 2 = 4 degrees for two equal variances of one degree each.
    assert old["estimate"] - old["conf_low"] == pytest.approx(T80_4DF * math.sqrt(1 / 18), rel=1e-6)
    assert (old["n_cases"], old["n_trials"], shift["n_cases"], shift["n_trials"]) == (3, 12, 4, 16)


def test_the_lift_error_is_that_of_its_tangent(one_run: pd.DataFrame) -> None:
    new = row(bridge.shift(one_run, OLD, NEW), "lift", "new")
    # 1 - F/B with F = 1/6, B = 2/3: dF moves it by 1/B, dB by F/B^2; each mean is of 3 cases, 2 trials, variance 1/2.
    on, off = (1 / 3 / (2 / 3)) ** 2 * 0.25, 2 * ((1 / 6) / (2 / 3) ** 2 / 3) ** 2 * 0.25
    assert new["std_error"] == pytest.approx(math.sqrt(on + off))
    assert any(caveat.startswith("greyed: 2 of 5 failing") for caveat in new["caveats"])


def test_trials_that_all_agree_leave_the_interval_unknown(one_run: pd.DataFrame) -> None:
    shift = row(bridge.shift(one_run, OLD, NEW), "score", "shift")  # skill-on: r never passes, a always
    assert shift["estimate"] == pytest.approx(1 / 3)
    assert math.isnan(shift["conf_low"])
    assert shift["caveats"] == ("all trials of each case agree: no trial noise to scale",)


def test_equal_lists_shift_by_nothing_and_say_so(one_run: pd.DataFrame) -> None:
    shift = row(bridge.shift(one_run, OLD, OLD), "difference", "shift")
    assert (shift["estimate"], shift["conf_low"], shift["conf_high"]) == (0, 0, 0)
    assert shift["caveats"] == ("the same cases on both sides: nothing can differ",)


def test_five_runs_are_paired_by_run_by_hand() -> None:
    table = pd.DataFrame(
        rows(f"r{i}", "skill-on", case, "A", [score])
        for i in range(1, 6)
        for case, score in {"c1": i % 2, "c2": 0.5, "r": 0, "a": 0.2 * i}.items()
    )
    found = bridge.shift(table, held("c1", "r"), held("c1", "a"))
    shift = row(found, "score", "shift")  # a/2 run by run: .1 .2 .3 .4 .5; what c1 does cancels
    assert shift["estimate"] == pytest.approx(0.3)
    assert shift["std_error"] == pytest.approx(math.sqrt(0.025 / 5))
    assert shift["conf_high"] - 0.3 == pytest.approx(T80_4DF * math.sqrt(0.025 / 5), rel=1e-6)
    assert shift["method"] == "paired by run over 5 runs" and shift["caveats"] == ()


def test_headlines_are_those_of_the_estimates() -> None:
    rng = np.random.default_rng(11)
    table = pd.DataFrame(
        rows(f"r{i}", arm, f"c{case}", "ABC"[case % 3], list(rng.integers(0, 2, 4).astype(float)))
        for i in range(1, 4)
        for arm in ("skill-on", "skill-off")
        for case in range(9)
    )
    old, new = [f"c{i}" for i in range(7)], [f"c{i}" for i in range(3, 9)]
    found = bridge.shift(table, held(*old), held(*new))
    for part, cases in (("old", old), ("new", new)):
        inside = table[table["case_id"].isin(cases)]
        lifts = estimates.lift(inside, rng=np.random.default_rng(1)).set_index("over")["estimate"]
        difference = estimates.difference(inside, rng=np.random.default_rng(1))["estimate"].iloc[0]
        assert values(found, "lift", "cases")[part] == pytest.approx(lifts["cases"])
        assert values(found, "lift", "archetypes")[part] == pytest.approx(lifts["archetype mean"])
        assert values(found, "difference", "cases")[part] == pytest.approx(difference)


def test_locks_without_a_common_case_have_no_common_headline(one_run: pd.DataFrame) -> None:
    found = bridge.shift(one_run, held("c1", "r"), held("c2", "a"))
    assert math.isnan(row(found, "difference", "common")["estimate"])
    assert row(found, "difference", "retired")["caveats"] == ("no case is in both locks",)
    assert row(found, "difference", "shift")["estimate"] == pytest.approx(0.5 - 0.25)


def test_a_baseline_that_never_fails_has_no_lift(one_run: pd.DataFrame) -> None:
    perfect = one_run.assign(n_passed=2, score_sum=2.0, score_sumsq=2.0)
    shift = row(bridge.shift(perfect, OLD, NEW), "lift", "shift")
    assert math.isnan(shift["estimate"]) and shift["caveats"][0].startswith("no headroom")


# --- refusals ------------------------------------------------------------------------------------


def test_runs_that_do_not_cover_both_locks_are_refused(one_run: pd.DataFrame) -> None:
    with pytest.raises(UsageError, match=r"no run tried all 4 cases .* the nearest, r1-skill-on, lacks a;"):
        bridge.shift(one_run[one_run["case_id"] != "a"], OLD, NEW)
    with pytest.raises(UsageError, match="run the suite with all of them"):
        bridge.shift(one_run.assign(case_hash=None), OLD, NEW)
    with pytest.raises(UsageError, match="lacks c2"):
        other = one_run["case_id"] == "c2"
        bridge.shift(one_run.assign(case_hash=one_run["case_hash"].where(~other, "c2-2")), OLD, NEW)


def test_a_case_that_changed_between_the_locks_needs_an_id_of_its_own(one_run: pd.DataFrame) -> None:
    with pytest.raises(UsageError, match=r"c2 changed between the locks.*an id of its own"):
        bridge.shift(one_run, OLD, held("c1", "c2", "a", c2="c2-2"))


def test_a_case_lost_in_an_arm_is_refused(one_run: pd.DataFrame) -> None:
    lost = (one_run["case_id"] == "a") & (one_run["arm"] == "skill-off")
    columns = ["n_usable", "n_passed", "score_sum", "score_sumsq"]
    one_run.loc[lost, columns] = 0
    with pytest.raises(UsageError, match="no usable trial of a in skill-off"):
        bridge.shift(one_run, OLD, NEW)


def test_an_empty_lock_has_no_headline(one_run: pd.DataFrame) -> None:
    with pytest.raises(UsageError, match="holds no case"):
        bridge.shift(one_run, held(), NEW)


def test_runs_of_another_identity_or_seed_are_left_out_and_named(one_run: pd.DataFrame) -> None:
    replica = one_run.assign(run_id="copy-" + one_run["run_id"], group_id="copy")
    found = bridge.shift(pd.concat([one_run, replica], ignore_index=True), OLD, NEW)
    assert len(found.runs) == 2
    assert sum("replica" in caveat for caveat in found.caveats) == 2


def test_a_change_around_the_cases_is_said_not_to_be_in_the_shift(one_run: pd.DataFrame) -> None:
    found = bridge.shift(
        one_run, held("c1", "r", fields={"judge": "1"}), held("c1", "a", fields={"judge": "2"})
    )
    assert found.caveats == ("scoring changed between the locks (judge): its part is not in the shift",)


# --- the document --------------------------------------------------------------------------------


def lock(name: str, *held_suites: FrozenSuite) -> Lock:
    return Lock(name=name, sha256="a" * 64, suites={s.id: s for s in held_suites}, private=())


def test_the_document_keeps_its_schema_and_is_the_same_twice(one_run: pd.DataFrame) -> None:
    old, new = lock("2026Q4", OLD), lock("2027Q1", NEW)
    shuffled = one_run.sample(frac=1, random_state=3)
    first, second = (
        bridge.document(old, new, [bridge.shift(table, OLD, NEW)], {}) for table in (one_run, shuffled)
    )
    assert contract.canonical(first) == contract.canonical(second)
    assert first["suites"][0]["estimates"][0]["arm"] == "skill-off"
    assert bridge.document(old, new, [], {"s": "no run"})["refused"] == [
        {"suite_id": "s", "reason": "no run"}
    ]


def test_suites_held_alike_need_no_bridge() -> None:
    assert bridge.moved(lock("a", OLD), lock("b", NEW)) == ["s"]
    assert bridge.moved(lock("a", OLD), lock("b", OLD)) == []
    assert bridge.document(lock("a", OLD), lock("b", OLD), [], {})["unchanged"] == ["s"]
    with pytest.raises(UsageError, match="no suite in common"):
        bridge.moved(lock("a", OLD), lock("b"))
