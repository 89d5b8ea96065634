"""A candidate is admitted on enough trials of this very version of it, and waits with a reason otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalstats import suite as suites
from evalstats.governance import locks
from evalstats.governance.candidates import ADMIT, WAIT, Bar, Candidate, as_record, proposals

ON, OFF = "skill-on", "skill-off"
GOOD = {ON: [3, 2, 3], OFF: [1, 2, 1]}  # passes of three trials, run by run


@pytest.fixture
def propose(
    tmp_path: Path, write_suite: Callable[..., Path], suite_document: Callable[[], dict[str, Any]]
) -> Callable[..., Candidate]:
    document = suite_document()
    lock = locks.create("q", [suites.load(write_suite(tmp_path / "before", document))])
    path = locks.write(lock, tmp_path / "locks")
    document["cases"].append({**document["cases"][0], "id": "later", "pool": "candidate"})

    def run(passes: dict[str, list[int]], tier: str = "headless", lost: int = 0, **changes: Any) -> Candidate:
        suite = suites.load(write_suite(tmp_path / "after", {**document, "tier": tier}))
        digest = locks.frozen(suite).cases["later"].case_hash
        rows = [
            {
                "suite_id": "door", "case_id": "later", "archetype": "A1", "arm": arm, "run_id": f"r{i}-{arm}",
                "created_at": i, "n_trials": 3 + lost, "n_usable": 3, "n_passed": n, "score_sum": float(n),
                "score_sumsq": float(n), "n_infrastructure": lost, "case_hash": digest, **changes,
            }
            for arm, counts in passes.items()
            for i, n in enumerate(counts)
        ]  # fmt: skip
        known = {"door": pd.DataFrame(rows)} if rows else {}
        (found,) = proposals(locks.read(path), [suite], known, level=0.8)
        return found

    return run


def test_enough_evidence_admits(propose: Callable[..., Candidate]) -> None:
    found = propose(GOOD)
    assert (found.suite_id, found.case_id, found.proposal) == ("door", "later", ADMIT)
    off, on = found.evidence
    assert (on.arm, on.n_runs, on.n_trials, on.lost) == (ON, 3, 9, 0)
    # Wilson at 80%, 8 of 9, z = 1.2816: centre (8 + z^2/2) / (9 + z^2), half width as printed in [N98a].
    assert on.pass_rate.estimate == pytest.approx(8 / 9)
    z2 = 1.2815516**2
    centre, half = (8 + z2 / 2) / (9 + z2), (z2 * (8 / 9 + z2 / 4)) ** 0.5 / (9 + z2)
    assert (on.pass_rate.conf_low, on.pass_rate.conf_high) == pytest.approx((centre - half, centre + half))
    assert on.pass_rate.population == "FIXED"
    assert (on.flips.estimate, on.flips.n_trials) == (0, 2)
    assert off.flips.estimate == 1  # fail, pass, fail


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"passes": {}}, "no usable trial of this version of it yet"),
        ({"passes": GOOD, "case_hash": "0" * 64}, "no usable trial of this version of it yet"),
        ({"passes": {ON: [3, 2], OFF: [1, 2]}}, "6 of 9 usable trials in skill-off"),
        ({"passes": {ON: [3, 2], OFF: [1, 2]}}, "2 of 3 runs in skill-on"),
        ({"passes": GOOD, "lost": 1}, "3 of 12 trials lost in skill-on"),
        (
            {"passes": {ON: [3] * 3, OFF: [3] * 3}},
            "passes every trial in every arm: it cannot show a difference",
        ),
        (
            {"passes": {ON: [0] * 3, OFF: [0] * 3}},
            "fails every trial in every arm: it cannot show a difference",
        ),
        ({"passes": GOOD, "tier": "deterministic"}, "its trials disagree, in a deterministic suite"),
    ],
)
def test_each_lack_is_a_reason_to_wait(
    given: dict[str, Any], reason: str, propose: Callable[..., Candidate]
) -> None:
    found = propose(**given)
    assert found.proposal == WAIT
    assert reason in found.reasons


def test_a_case_of_one_arm_that_always_passes_may_enter(propose: Callable[..., Candidate]) -> None:
    assert propose({ON: [3, 3, 3]}, tier="deterministic").proposal == ADMIT


def test_a_record_has_null_with_a_caveat_for_what_is_unknown(propose: Callable[..., Candidate]) -> None:
    record = as_record(propose({ON: [3], OFF: [1]}))
    flips = record["evidence"][0]["flips"]
    assert flips["estimate"] is None
    assert flips["caveats"] == ["fewer than two runs: none that could differ from its neighbour"]
    assert Bar() == Bar(runs=3, trials=9, lost_share=0.1)
