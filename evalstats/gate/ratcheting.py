"""What a gate would stand on: the accepted runs of a suite, as it is asked whether it may block.

The readiness of a suite, and what a few of its cases can see, are judged on the very runs that its gate would take
as the yardstick, chosen by the same policy. The store is read, not a report, and the newest accepted run counts too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import suite as suites
from evalstats.contract import IDENTITY, Arm, GateRule, GateStatistic, Outcome, Tier
from evalstats.errors import UsageError
from evalstats.gate.ledger import blocked
from evalstats.gate.policies import Policy, policy_and_digest, policy_of
from evalstats.gate.series import Point, history, points, rows_of, unit_of, unit_values, up_to
from evalstats.suite import Suite

if TYPE_CHECKING:
    import pandas as pd

    from evalstats.governance.ratchet import Readiness
    from evalstats.governance.ratchet_evidence import Canaries, Past, Run
    from evalstats.governance.ratchet_records import Log
    from evalstats.governance.smoke import Subset, Values

LIMITS = ("cost", "median_duration_s", "timeout_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a store says of a suite: its case table, its runs as a gate reads them, and which were imported."""

    case_runs: pd.DataFrame | None = None
    rows: tuple[dict[str, Any], ...] = ()
    imported: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """A suite, its policy, and what is told of its runs. ``blocked`` are groups that the gate blocked."""

    suite: Suite
    policy: Policy
    policy_sha256: str
    told: Told
    blocked: frozenset[str] = frozenset()

    def accepted(self, policy: Policy, out: Collection[str] = ()) -> tuple[list[Point], list[str]]:
        """Return the runs that a gate would take as its yardstick, and what it left out; ``out`` were blocked."""
        series, notes = points(list(self.told.rows), policy)
        n_cases = len(self.suite.cases)
        for last in range(len(series), 0, -1):
            newest = [replace(series[last - 1], seed=None)]  # its own seed must not count against it
            if history(series[last - 1 : last], newest, policy, n_cases, out)[0]:
                kept, left_out = history(up_to(series, last, policy), newest, policy, n_cases, out)
                later = [f"{len(series) - last} newer run(s) are no yardstick"] * (last < len(series))
                return kept, notes + left_out + later
        if not series:
            return [], notes
        _, why = history(series, [replace(series[-1], seed=None)], policy, n_cases, out)
        return [], notes + why


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a notebook looks: a store, a folder of suites, a policy (empty: beside the suite), decisions of gates."""

    store: str
    suites: str
    policy: str = ""
    gates: str = ""


def told(suite: str, places: Places, *, reruns: int = 1, seed: int, frozen: str = "") -> dict[str, Any]:
    """Return the readiness of a suite as a record: what ``evalstats ratchet`` tells, for a notebook.

    Places are looked for in the working folder and the folders above it. ``frozen`` is a file that holds the
    record already: then nothing else is read. Raises UsageError when there is no such public suite.
    """
    from evalstats.report import inputs, ratchets, suite_files

    if frozen:
        return ratchets.read(frozen)
    found, store = suite_files.find(places.suites, suite), inputs.find_store(places.store)
    if found is None:
        raise UsageError(f"no public suite {suite} in {places.suites}, here or above", field="suite")
    policy, gates = (Path(place) if place else None for place in (places.policy, places.gates))
    stands_on = grounds(found, policy, store, gates or store.parent / "gates")
    return readiness(stands_on, None, seed=seed, reruns=reruns).as_record()


def grounds(suite: Suite, policy: Path | None, store: Path, ledger: Path) -> Grounds:
    """Return what there is to stand on. ``policy`` is ``policy.json`` beside the suite unless given.

    Raises UsageError when the policy is that of another suite.
    """
    path = policy or suite.folder / "policy.json"
    document, digest = policy_and_digest(path)
    if document["suite"] != suite.id:
        raise UsageError(f"is for suite {document['suite']}, not {suite.id}", path=path, field="suite")
    return Grounds(
        suite=suite,
        policy=policy_of(document),
        policy_sha256=digest,
        told=_told(store, suite.id),
        blocked=blocked(ledger, suite.id),
    )


def _told(store: Path, suite: str) -> Told:
    from evalstats import estimates
    from evalstats import store as warehouse
    from evalstats.report import evidence, tables
    from evalstats.report.draft import plain

    if not store.exists():
        return Told()
    with warehouse.open(store, read_only=True) as opened:
        if suite not in opened.suites() or (case_runs := opened.case_runs(suite)).empty:
            return Told()
        runs, beside = opened.runs(suite), evidence.gather(opened, suite)
    series = [plain(dict(row), "series") for row in tables.rows(estimates.series(case_runs))]
    rows = [{**run, "identity": {name: run[name] for name in IDENTITY}} for run in series]
    imported = frozenset(runs.loc[runs["mode"] == "import", "run_id"])
    full = evidence.add({"series": rows, "data": {}}, beside)["series"]
    return Told(case_runs=case_runs, rows=tuple(full), imported=imported)


# --- may it block? ---------------------------------------------------------------------------------


def readiness(found: Grounds, baselines: Path | None, *, seed: int, reruns: int = 1) -> Readiness:
    """May the gate of this policy block?

    ``baselines`` is a flat folder, if there is one; ``seed`` is that of the simulated limits; ``reruns`` says how
    many runs of a candidate, on nights of their own, the gate will look at. Raises UsageError when the policy
    allows fewer.
    """
    from evalstats.estimates import generator
    from evalstats.governance import ratchet, ratchet_records

    recorded, policy = ratchet_records.read(found.suite, baselines), found.policy
    if reruns > policy.reruns:
        raise UsageError(f"the policy allows {policy.reruns} run(s) of a candidate", field="--reruns")
    kept, left_out = found.accepted(policy, found.blocked)
    asked = ratchet.Asked(
        suite=found.suite.id,
        rule=policy.three_verdict(),
        statistic=policy.statistic,
        minimum=policy.history.minimum,
        unit=policy.history.unit,
        reruns=reruns,
        limits={name: getattr(policy.limits, name) for name in LIMITS},
        error_budget=policy.error_budget,
        by_canaries=policy.rule is GateRule.CRITICAL,
        objections=tuple(_objections(found, kept, recorded, baselines)),
        notes=tuple(_notes(found, kept)),
        standing=recorded.standing,
        was_revoked=recorded.was_revoked,
    )
    past = _past(found, kept, left_out)
    return ratchet.readiness(past, asked, _canaries(found), rng=generator(seed))


def _past(found: Grounds, kept: list[Point], left_out: list[str]) -> Past:
    from evalstats.governance.ratchet_evidence import Past

    policy = found.policy
    window = points(list(found.told.rows), policy)[0][-policy.history.window :]
    trials = sum(point.n_trials for point in window)
    return Past(
        runs=[_run(point, policy) for point in kept],
        watched=[_run(point, policy) for point in found.accepted(policy)[0]],
        left_out=left_out,
        identity=kept[-1].identity if kept else {},
        lost=sum(point.lost for point in window) / trials if trials else None,
    )


def _run(point: Point, policy: Policy) -> Run:
    from evalstats.governance.ratchet_evidence import Run

    return Run(
        group_id=point.group_id,
        started_at=point.started_at,
        unit=unit_of(point, policy),
        day=point.night[:10],
        value=float("nan") if point.value is None else point.value,  # an accepted run has one
        measured=_measured(point),
    )


def _measured(point: Point) -> dict[str, float | None]:
    rows = list(point.rows.values())
    costs, durations = ([row.get(name) for row in rows] for name in ("cost", "median_duration_s"))
    outcomes = [row.get("outcomes") for row in rows]
    told = None not in outcomes and point.n_trials
    timeouts = sum(counts.get(Outcome.TIMEOUT, 0) for counts in outcomes if counts)
    return {
        "cost": None if None in costs else sum(cost for cost in costs if cost is not None),
        "median_duration_s": None if None in durations else max(d for d in durations if d is not None),
        "timeout_rate": timeouts / point.n_trials if told else None,
    }


def _canaries(found: Grounds) -> Canaries | None:
    """Return what the critical cases have shown in every run of this identity, however long ago."""
    from evalstats.governance.ratchet_evidence import canary_runs

    policy, told = found.policy, found.told
    cases = policy.critical_cases or tuple(case.id for case in found.suite.cases if case.critical)
    if not cases or told.case_runs is None:
        return None
    endless = replace(policy, history=replace(policy.history, window=len(told.rows) + 1))
    arm = policy.arm if policy.statistic is GateStatistic.PASS_RATE else Arm.SKILL_ON
    days = {str(p.rows[arm]["run_id"]): p.night[:10] for p in found.accepted(endless)[0]}
    return canary_runs(told.case_runs, days, cases)


def _objections(found: Grounds, kept: list[Point], recorded: Log, baselines: Path | None) -> Iterator[str]:
    """Yield what stands against blocking, whatever the noise."""
    from evalstats.governance import baselines as promoted
    from evalstats.governance import quarantine

    suite, policy = found.suite, found.policy
    if policy.rule not in (GateRule.THREE_VERDICT, GateRule.CRITICAL):
        way_out = "let it be three-verdict, or critical for canaries"
        yield f"no readiness is known for the rule {policy.rule}; {way_out}"
    critical = {case.id for case in suite.cases if case.critical} | set(policy.critical_cases)
    if quarantined := sorted(critical & set(quarantine.inside(suite))):
        yield f"critical cases are in quarantine: {', '.join(quarantined)}"
    compared = suite.document["baseline_policy"]["mode"] == "compare"
    if compared and not promoted.locate(suite, baselines).is_file():
        yield "the suite wants a baseline and has none; see `evalstats baseline promote`"
    if _changed(found, kept):
        yield "the suite was changed since these runs; run it as it is now"
    for problem in recorded.problems:
        yield f"the ratchet record is not whole: {problem}"


def _notes(found: Grounds, kept: list[Point]) -> Iterator[str]:
    """Yield what is to be known, whatever the state."""
    suite, policy = found.suite, found.policy
    if kept and _changed(found, kept) is None:
        yield "the runs were imported: which version of the suite they ran is not known"
    unlimited = [name for name in ("cost", "timeout_rate") if getattr(policy.limits, name) is None]
    if unlimited:
        yield f"the policy sets no limit for {' and '.join(unlimited)}, so none is held"
    if suite.document["baseline_policy"].get("blocking_gate") in (None, "none"):
        yield "the suite names no gate that it blocks; see its baseline_policy"
    if suite.tier is Tier.DETERMINISTIC and policy.rule is not GateRule.CRITICAL:
        yield "a deterministic suite blocks by its canaries: let the rule be critical"


def _changed(found: Grounds, kept: list[Point]) -> bool | None:
    """Return whether the suite differs from what the newest run ran; None where that cannot be told."""
    rows = list(kept[-1].rows.values()) if kept else []
    if not rows or any(row["run_id"] in found.told.imported for row in rows):
        return None
    now = suites.hashes(found.suite)["scoring"]
    return any(row["identity"]["suite_scoring"] != now for row in rows)


# --- what do a few cases see? ----------------------------------------------------------------------


def smoke_subset(found: Grounds, *, seed: int, per_archetype: int) -> Subset:
    """Draw some cases of each archetype of the policy, and hold them against the same cases' own history."""
    from evalstats.governance import smoke

    policy = found.policy
    kept = found.accepted(policy, found.blocked)[0]
    nights = {point.group_id: point.night for point in kept}

    def same_cases(cases: Collection[str]) -> Values:
        told = points(rows_of(kept), policy, frozenset(cases))[0]
        same = [replace(point, night=nights[point.group_id]) for point in told]
        step = max((point.step for point in same), default=0.0)
        return smoke.Values(unit_values(same, policy), step, _trial_sd(found, same, cases))

    archetypes = smoke.by_archetype(found.suite, policy.smoke)
    rule = policy.three_verdict()
    return smoke.choose(found.suite.id, archetypes, same_cases, rule, seed=seed, per_archetype=per_archetype)


def _trial_sd(found: Grounds, same: list[Point], cases: Collection[str]) -> float:
    """Return how far one run of these cases scatters by the luck of its trials, in the unit of the statistic."""
    from evalstats.estimates.next_run import within_cases

    ids = [row["run_id"] for row in rows_of(same)]
    if found.told.case_runs is None or not ids:
        return 0.0
    rows = found.told.case_runs
    rows = rows[rows["run_id"].isin(ids) & rows["case_id"].isin(list(cases)) & (rows["n_usable"] > 0)]
    by_arm = [within_cases(group) for _, group in rows.groupby("arm")]
    if any(within.problem() for within in by_arm):
        return 0.0
    unit = same[-1].headroom if found.policy.statistic is GateStatistic.LIFT else 1.0
    return sqrt(sum(within.run_variance()[0] for within in by_arm)) / unit
