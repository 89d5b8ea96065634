"""Running suites here: what will run, one process per trial, what came of it.

Upwards, each file uses only those above it::

    limits, folders       what this machine lets the runner have; the private folders of trials
    checkouts             a git ref as a folder of files
    terraform, evidence   what an answer says; what a trial left behind
    expectations          expectation x evidence -> met, not met, undecided
    commands, contexts    the command line of a case; the context root of an arm
    checks                what is wrong with a plan before it runs
    planning              Options -> Plan: axis, runs, trials, seeds, order
    grounds               where the trials of each arm stand: working tree or checkout, context or none
    environment           what a trial sees of the world
    sweeping, process     nothing outlives its trial; one command run to its end
    attempt               one trial, from its plan to its record
    events                what a run tells its caller
    records, manifests    the run record; the run folder, and how to come back to it
    execute               all trials of a plan, signals, the journal

``check`` says what would keep a suite from running, ``plan`` what a run of it will do, ``run`` does it,
``resume_plan`` comes back to one that was stopped. The room yields journals and records; it knows neither the
store nor statistics.
"""

from evalstats.runner import events
from evalstats.runner.checks import check
from evalstats.runner.execute import Result, run
from evalstats.runner.manifests import resume_plan
from evalstats.runner.planning import Options, Plan, PlannedRun, TrialSpec, plan

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
