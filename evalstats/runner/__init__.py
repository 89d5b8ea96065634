"""Running suites here: what will run, one process per trial, what came of it.

Upwards, each file uses only those above it::

    limits, folders       what this machine lets the runner have; the private folders of trials
    checkouts             a git ref as a folder of files
    terraform, evidence   what an answer says; what a trial left behind
    expectations          expectation x evidence -> met, not met, undecided
    commands, contexts    the command line of a case; the context root of an arm
    prices, completions   what tokens cost; what is asked of an endpoint and what its failures mean
    endpoint              asking an OpenAI-compatible endpoint, also for judges
    runtimes/             what carries cases out: shell, mock, claude, codex, openai, inspect, those of others
    prompts, casting      the text that is asked; which runtime carries which case, and why none does
    checks                what is wrong with a plan before it runs
    clock                 the day of a run, if it is set by hand
    terms, specs          on what terms trials run; the trials of a plan and their order
    sweeping, isolation/  nothing outlives its trial; the ladder of what holds it
    process               one command run to its end
    planning              Options -> Plan: axis, runs, trials, seeds, order
    grounds               where the trials of each arm stand: working tree or checkout, context or none
    environment           what a trial sees of the world
    account, budget       what only a runtime can tell of a trial; reserve, then settle, in pairs
    workplace             what all trials of a plan share, and the room that each has to itself
    verdicts, attempt     from an answer to how the trial ended; one trial, from its plan to its record
    events                what a run tells its caller
    records, manifests    the run record; the run folder
    resuming, history     how to come back to a run; what earlier ones say of time and cost
    ledger                journals and notes of starts; which attempts were lost or doubled
    executors/            where trials run: in processes of this machine, or on the workers of a dask cluster
    crew, execute         all trials of a plan, budget and signals; a run from its claim to its records

``check`` says what would keep a suite from running, ``plan`` what a run of it will do, ``run`` does it,
``resume_plan`` comes back to one that was stopped. The room yields journals and records; it knows neither the
store nor statistics.
"""

from evalstats.runner import events
from evalstats.runner.checks import check
from evalstats.runner.execute import Result, run
from evalstats.runner.planning import Options, Plan, plan
from evalstats.runner.resuming import resume_plan
from evalstats.runner.specs import PlannedRun, TrialSpec

__all__ = [
    "Options",
    "Plan",
    "PlannedRun",
    "Result",
    "TrialSpec",
    "check",
    "events",
    "plan",
    "resume_plan",
    "run",
]
