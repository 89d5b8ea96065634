"""The design of forty nights, fixed before any of them: what is planted, what follows, and replays of it.

Everything is computed from a pilot: scores of each case, with the skill as it is and as it will be when it is broken.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from evalstats import gate, scoring, suite
from evalstats.nightly import carried
from evalstats.runner import expectations
from evalstats.runner.evidence import Evidence
from evalstats.stats import decisions
from evalstats.stats.change_points import e_divisive

SOLVER = Path(__file__).parents[1] / "evals" / "solver"
FIRST = date(2026, 1, 1)
NIGHTS, IDENTITY_NIGHT, BREAK_NIGHT = 40, 20, 30
TRIALS, NOISY_TRIALS = 5, 1
BROKEN = {"noise": 0.9, "restart_after": 20}  # nearly every step at random, and a fresh start too soon
DECLARED_DROP = 0.30
POLICY = {
    "schema_version": 1,
    "suite": "solver",
    "rule": "three-verdict",
    "statistic": "pass_rate",
    "margin": 0.15,
    "alpha": 0.05,
    "power": 0.8,
    "reruns": 3,
    "history": {"minimum": 8, "window": 28, "unit": "night", "refs": ["*", None]},
    "rationale": "A rehearsal: half of the planted drop is what must be seen, so that missing it would be a fault.",
}
PILOT, PILOT_SEED = (
    200,
    1_000_000,
)  # trials of each case that the design is computed from; seeds that no night has


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What is known before the first night: scores of each case, whole and broken, and what follows from them."""

    whole: Sequence[np.ndarray]
    broken: Sequence[np.ndarray]
    trials: int = TRIALS

    @property
    def centre(self) -> float:
        """Return the mean score of the whole skill."""
        return fmean(float(scores.mean()) for scores in self.whole)

    @property
    def drop(self) -> float:
        """Return the true drop of the break, as the pilot measured it."""
        return self.centre - fmean(float(scores.mean()) for scores in self.broken)

    @property
    def within(self) -> float:
        """Return the variance of a trial around the mean of its case, on average over the cases."""
        return fmean(float(scores.var(ddof=1)) for scores in self.whole)

    @property
    def run_sd(self) -> float:
        """Return the standard deviation of a night: trials alone, as the solver has no bad days."""
        return sqrt(self.within / (len(self.whole) * self.trials))

    def at(self, history: int) -> decisions.Decision:
        """Return the error rates of one look against so many nights of exactly this scatter."""
        rule = gate.policy_of(POLICY).three_verdict()
        noise = decisions.Noise(std_error=self.run_sd * sqrt(1 + 1 / history), df=history - 1, step=self.step)
        return decisions.decide(0.0, noise, rule)

    @property
    def step(self) -> float:
        """Return what one trial moves a night by."""
        return 1 / (len(self.whole) * self.trials)

    def promised(self) -> gate.Simulation:
        """Return how often the rule answers what, over all its looks, with ten nights of history."""
        noise = gate.Components(
            centre=self.centre, run_sd=self.run_sd, nights=BREAK_NIGHT - IDENTITY_NIGHT, step=self.step
        )
        return gate.simulate(noise, POLICY, seed=1, drops=[0.0, POLICY["margin"], DECLARED_DROP], reps=20_000)


# --- the suite, and what is true of it -------------------------------------------------------------


def lay_out(root: Path) -> Path:
    """Copy the solver to a place where it may change."""
    folder = root / "evals" / "solver"
    folder.mkdir(parents=True)
    (root / "evalstats.toml").touch()
    for name in ("solver.py", "skill.json"):
        shutil.copy(SOLVER / name, folder)
    document = json.loads((SOLVER / "suite.json").read_text("utf-8"))
    document["metadata"] = {"registry_version": "r1"}
    (folder / "suite.json").write_text(json.dumps(document), "utf-8")
    (folder / "policy.json").write_text(json.dumps(POLICY), "utf-8")
    return folder


def new_registry(folder: Path) -> None:
    """Say that cards and recipes come from a new registry: the documented field `metadata.registry_version`."""
    path = folder / "suite.json"
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, "metadata": {"registry_version": "r2"}}), "utf-8")


def pilot(folder: Path) -> Design:
    """Measure each case with the skill as it is, and as it will be when it is broken."""
    whole = _scores(folder)
    kept = (folder / "skill.json").read_text("utf-8")
    (folder / "skill.json").write_text(json.dumps(BROKEN), "utf-8")
    broken = _scores(folder)
    (folder / "skill.json").write_text(kept, "utf-8")
    return Design(whole=whole, broken=broken)


def _scores(folder: Path) -> list[np.ndarray]:
    spec = importlib.util.spec_from_file_location("solver", folder / "solver.py")
    assert spec is not None and spec.loader is not None
    solver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(solver)
    loaded = suite.load(folder)
    return [
        np.array([_score(solver, loaded, case, PILOT_SEED + n) for n in range(PILOT)])
        for case in loaded.cases
    ]


def _score(solver: Any, loaded: suite.Suite, case: suite.Case, seed: int) -> float:
    os.environ["EVALSTATS_SEED"] = str(seed)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = solver.main(case.inputs["args"][3:])
    evidence = Evidence(suite=loaded, folder=str(loaded.folder), exit_code=code, stdout=said.getvalue())
    score = scoring.case_score(expectations.check_case(case, evidence))
    assert score is not None
    return score


# --- the replays -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One replay: how many unchanged nights were judged and blocked, and when the break was seen and dated."""

    judged: int
    blocked: int
    said: float  # what the gate itself gave as its false-block probability, on average
    delay: int | None  # nights from the break to the first block; None if never
    dated: int | None  # nights between the break and the nearest change point; None if there is none


def replay(design: Design, seed: int) -> Replay:
    """Draw forty nights from the pilot's scores and let the gate judge each as `nightly` does."""
    rng = np.random.default_rng(seed)
    rows = [_row(design, number, rng) for number in range(1, NIGHTS + 1)]
    known, before, verdicts = gate.policy_of(POLICY), None, {}
    results = []
    for number in range(1, NIGHTS + 1):
        document = _report(rows[:number], len(design.whole))
        blocked = frozenset(group for group, said in verdicts.items() if said == "regression")
        looks = carried(before, document, known, rows[number - 1]["group_id"])
        asked = gate.Asked(reruns=looks, candidate=rows[number - 1]["group_id"], blocked=blocked)
        result = gate.decide(document, POLICY, asked)
        before = result.as_record()
        verdicts |= dict.fromkeys(result.candidate, str(result.verdict))
        results.append(result)
    calm = [r for r in results[: BREAK_NIGHT - 1] if r.verdict != "cannot_gate"]
    seen = [n for n, r in enumerate(results[BREAK_NIGHT - 1 :]) if r.verdict == "regression"]
    changes = [c.index - (BREAK_NIGHT - 1) for c in e_divisive([row["score"] for row in rows])]
    return Replay(
        judged=len(calm),
        blocked=sum(r.verdict == "regression" for r in calm),
        said=fmean([r.false_block for r in calm if r.false_block is not None] or [0.0]),
        delay=seen[0] if seen else None,
        dated=min(changes, key=abs) if changes else None,
    )


def _row(design: Design, number: int, rng: np.random.Generator) -> dict[str, Any]:
    bank = design.broken if number >= BREAK_NIGHT else design.whole
    score = fmean(float(scores[rng.integers(0, PILOT, design.trials)].mean()) for scores in bank)
    trials = design.trials * len(bank)
    registry = "r2" if number >= IDENTITY_NIGHT else "r1"
    return {
        "run_id": f"night-{number:02}", "group_id": f"night-{number:02}", "arm": "skill-on", "score": score,
        "started_at": f"{(FIRST + timedelta(days=number - 1)).isoformat()}T02:00:00Z", "seed": number,
        "n_cases": len(bank), "n_trials": trials, "usable": trials, "infrastructure": 0, "is_mock": False,
        "identity": {"suite_scoring": "a" * 64, "registry_version": registry},
    }  # fmt: skip


def _report(rows: list[dict[str, Any]], cases: int) -> dict[str, Any]:
    return {"series": rows, "data": {"suite_id": "solver", "case_ids": [str(n) for n in range(cases)]}}
