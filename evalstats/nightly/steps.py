"""The steps of a night, one suite at a time: each does what is not done yet and returns what is then known."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from evalstats import gate, runner
from evalstats.contract import Arm, GateVerdict, Outcome
from evalstats.errors import EvalstatsError, UsageError
from evalstats.gate.series import followed_arms
from evalstats.gate.verdict import with_rule
from evalstats.nightly.looks import carried
from evalstats.nightly.record import NightError, Part, Places, Step
from evalstats.runner.events import Listener
from evalstats.suite import Suite

NOTEBOOK = "variance_bands"  # whose report the gate of a night judges
PAGE = "nightly"  # whose report is read in the morning
HOUR = 2  # at which a night with a date set by hand begins
PER_NIGHT, SKILL, CONTEXT = "night", {Arm.SKILL_ON, Arm.SKILL_OFF}, {Arm.CONTEXT_ON, Arm.CONTEXT_OFF}

Watch: TypeAlias = "Callable[[runner.Plan], AbstractContextManager[Listener]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One suite of tonight and the policy that judges it, if one does; ``blocks``: whether that counts."""

    suite: Suite
    policy: Path | None
    rules: gate.Policy | None
    blocks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tonight:
    """What all suites of a night share. ``before`` maps a suite to the verdict of the last night that had one."""

    date: str
    simulated: bool
    places: Places
    trials: int | None
    jobs: int
    watch: Watch
    before: Mapping[str, dict[str, Any]]


class Stopped(EvalstatsError):
    """A signal stopped the run of a suite. The same command goes on."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


def plan(job: Job, number: int, night: Tonight) -> runner.Plan:
    """Return the plan of a run of tonight: a new one, or what is left of one that was stopped."""
    kind = "simulated" if night.simulated else "night"
    again = f"R{number}-" if number > 1 else ""  # in capitals, which no suite id has
    group_id = f"{kind}-{night.date}-{again}{job.suite.id}"
    as_of = f"{night.date}T{HOUR:02}:{number - 1:02}:00Z" if night.simulated else None
    options = runner.Options(trials=night.trials, run_id=group_id, as_of=as_of, **_mode(job))
    new = runner.plan(job.suite, options)
    folders = [night.places.data / "runs" / run.run_id for run in new.runs]
    if any((folder / "manifest.json").exists() for folder in folders):
        return runner.resume_plan(night.places.data, group_id)
    return new


def _mode(job: Job) -> dict[str, Any]:
    """Return the option that runs the arms which the gate follows."""
    if job.rules is None:
        return {}
    arms = followed_arms(with_rule(job.rules, gate.Asked()))
    if arms <= SKILL:
        return {"mode": "both" if len(arms) > 1 else next(iter(arms))}
    if arms <= CONTEXT:
        return {"context_mode": next(iter(arms))}
    raise UsageError(
        "a night runs the working tree; let the policy follow another arm", path=job.policy, field="arm"
    )


def run(job: Job, part: Part, night: Tonight) -> Part:
    """Run the suite as often as the night wants it."""
    while len(part.runs) < part.looks:
        part = replace(part, runs=(*part.runs, _ran(job, len(part.runs) + 1, night)), ingested=False)
    return part


def _ran(job: Job, number: int, night: Tonight) -> dict[str, Any]:
    planned = plan(job, number, night)
    with night.watch(planned) as listener:
        done = runner.run(planned, data=night.places.data, jobs=night.jobs, on_event=listener)
    if done.stopped_by:
        raise Stopped("stopped; the same command goes on with this night", int(done.stopped_by))
    if len(done.records) < len(planned.runs):
        raise NightError(f"run {planned.group_id} is not complete; the same command goes on with it")
    told = ("run_id", "arm", "status", "aggregate_score")
    return {
        "group_id": planned.group_id,
        "runs": [{name: record[name] for name in told} for record in done.records],
        "n_trials": len(done.trials),
        "n_lost": sum(trial.outcome is Outcome.INFRASTRUCTURE for trial in done.trials),
    }


def ingest(job: Job, part: Part, night: Tonight) -> Part:
    """Load the journals into the store and, where a history is kept, add its runs to the Parquet of all nights."""
    from evalstats import store

    places = night.places
    if part.ingested or not part.runs:
        return part
    store.ingest(places.store, places.data / "runs")
    if places.lake is not None:
        with store.open(places.store, read_only=True) as opened:
            store.export_parquet(opened, places.lake)
    return replace(part, ingested=True)


def reports(job: Job, part: Part, night: Tonight) -> Part:
    """Publish the report that the gate will judge and the page of the morning; a suite without a policy needs none.

    A page that cannot be made costs no verdict: why is told.
    """
    from evalstats import report

    places = night.places
    if job.policy is None or part.report is not None:
        return part
    asked = [report.Request(notebook=name, parameters={"suite": job.suite.id}) for name in (NOTEBOOK, PAGE)]
    judged, page = report.build_all(asked, store=places.lake or places.store, reports=places.reports)
    if isinstance(judged, EvalstatsError):
        raise judged
    done = replace(part, report=f"{NOTEBOOK}/{job.suite.id}/{judged.version}", page=None, page_error=None)
    if isinstance(page, EvalstatsError):
        return replace(done, page_error="; ".join(page.lines()))
    return replace(done, page=f"{PAGE}/{job.suite.id}/{page.version}")


def judge(job: Job, part: Part, night: Tonight) -> Part:
    """Judge tonight's run, with those of the nights before that stayed open, and record the decision."""
    if job.policy is None or job.rules is None or part.judged is not None:
        return part
    reference = part.report or f"{NOTEBOOK}/{job.suite.id}"
    looks, candidate = _looks(job, part, night, reference)
    result = _judged(job, part, night, (reference, looks))
    if looks > 1 and result.candidate != candidate:  # something else ran in between
        result = _judged(job, part, night, (reference, 1))
    gate.append(result, night.places.gates)
    return replace(part, judged=result.as_record())


def _looks(job: Job, part: Part, night: Tonight, reference: str) -> tuple[int, list[str]]:
    groups = [told["group_id"] for told in part.runs]
    if job.rules is None or job.rules.history.unit != PER_NIGHT:
        return max(len(groups), 1), groups
    _, document, _ = gate.read(night.places.reports, reference)
    before, group = night.before.get(job.suite.id), groups[-1] if groups else None
    looks = carried(before, document, job.rules, group)
    return looks, [*before["candidate"], str(group)] if before and looks > 1 else groups


def _judged(job: Job, part: Part, night: Tonight, look: tuple[str, int]) -> gate.GateResult:
    reference, looks = look
    asked = gate.Asked(
        reruns=looks,
        candidate=part.runs[-1]["group_id"] if part.runs else None,
        as_of=f"{night.date}T23:59:59Z" if night.simulated else None,
    )
    policy = job.policy or Path()
    return gate.judge(night.places.reports, reference, policy, asked, ledger=night.places.gates)


def wants_another(job: Job, part: Part) -> bool:
    """Return whether the policy asks for another run this very night: it counts runs, and the answer is open."""
    if job.rules is None or part.judged is None or job.rules.history.unit == PER_NIGHT:
        return False
    return part.judged["verdict"] == GateVerdict.INCONCLUSIVE and len(part.runs) < job.rules.reruns


@contextlib.contextmanager
def silently(planned: runner.Plan) -> Iterator[Listener]:
    """Tell nobody how a run goes on."""
    yield lambda event: None


TAKEN: Mapping[Step, Callable[[Job, Part, Tonight], Part]] = {
    Step.RUN: run,
    Step.INGEST: ingest,
    Step.REPORTS: reports,
    Step.GATE: judge,
}
