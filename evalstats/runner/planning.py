"""What will be run: the trials of a suite in one or two arms, their seeds and their order.

Everything random about a plan comes from its seed, by hashing: the same seed gives the same plan, and
leaving out a case changes neither the seeds nor the order of the others.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from evalstats import suite as suites
from evalstats import trials
from evalstats.contract import MAX_INTEGER, Arm, Axis
from evalstats.errors import UsageError
from evalstats.runner import checkouts, checks, clock
from evalstats.runner.checkouts import Candidate
from evalstats.runner.specs import INTERLEAVED, PlannedRun, TrialSpec, ordered
from evalstats.runner.terms import NO_TERMS, Terms, agree, level
from evalstats.suite import Case, Suite
from evalstats.trials import Trial

# mode -> its arms; of two, the first is the one that is put to the test
ARMS = {
    "skill-on": (Arm.SKILL_ON,),
    "skill-off": (Arm.SKILL_OFF,),
    "both": (Arm.SKILL_ON, Arm.SKILL_OFF),
    "context-on": (Arm.CONTEXT_ON,),
    "context-off": (Arm.CONTEXT_OFF,),
    "ab": (Arm.CONTEXT_ON, Arm.CONTEXT_OFF),
    "candidate": (Arm.CANDIDATE, Arm.BASELINE),
}
# option -> the modes it may name
SKILL_MODES = ("--mode", ("skill-on", "skill-off", "both"))
CONTEXT_MODES = ("--context-mode", ("context-on", "context-off", "ab"))
ALIASES = {"with-skill": "skill-on", "baseline": "skill-off"}
NO_ALIASES: Mapping[str, str] = {}
EVALUATOR = "evaluator"  # the role that may read private holdouts
UNNAMED = "holdout"  # in a run id, which everybody may see, for the name of a private suite
MAX_TRIALS = 100_000
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,187}")  # 200, less the suffix of an arm


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a caller may say about a run; None means the default of the suite or of the run id.

    ``mode`` (default: skill-on), ``context_mode`` and ``candidate``, a git ref, are three axes: at most one.
    ``runtime`` carries out what has a prompt. ``budget`` is in US dollars, ``max_rpm`` in requests (or trials, of a
    runtime that makes its own) a minute, ``prices`` a file. ``as_of`` sets the date of the run by hand.
    ``require_isolation`` is the weakest rung of the ladder to run on; the limits are bytes and processes a trial.
    """

    mode: str | None = None
    context_mode: str | None = None
    candidate: str | None = None
    trials: int | None = None
    seed: int | None = None
    run_id: str | None = None
    archetype: str | None = None
    case_ids: tuple[str, ...] = ()
    role: str | None = None
    runtime: str | None = None
    model: str | None = None
    budget: float | None = None
    max_rpm: float | None = None
    prices: Path | None = None
    as_of: str | None = None
    require_isolation: str | None = None
    memory_limit: int | None = None
    process_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The runs of one group and the trials still to be run, in order. ``recorded`` are those already done."""

    suite: Suite
    axis: Axis
    mode: str
    group_id: str
    runs: tuple[PlannedRun, ...]
    cases: tuple[Case, ...]
    trials_per_case: int
    seed: int
    order: str
    specs: tuple[TrialSpec, ...]
    terms: Terms = NO_TERMS
    candidate: Candidate | None = None
    as_of: str | None = None
    recorded: tuple[Trial, ...] = ()
    resumed: bool = False

    @property
    def is_private(self) -> bool:
        """Return whether the content of the suite, and so of its runs, is for evaluators alone."""
        return self.suite.is_private

    @property
    def planned_per_run(self) -> int:
        """Return how many trials each run has when it is complete."""
        return len(self.cases) * self.trials_per_case


DEFAULTS = Options()


def plan(suite: Suite, options: Options = DEFAULTS) -> Plan:
    """Return what a run of ``suite`` will do.

    Raises
    ------
    UsageError
        An unknown mode, case, archetype, runtime, git ref or rung, two axes at once, a number or run id out of
        bounds, a context under a suite that disables hooks, or a private holdout without the role that may read it.
    SuiteError
        A fixture is missing, or a case cannot be run or checked as it is written (all problems at once).
    """
    check_role(suite, options.role)
    mode = _mode(options)
    _check_hooks(suite, mode)
    cases = suites.select(suite, archetype=options.archetype, case_ids=options.case_ids)
    if not cases:
        raise UsageError("no case is of that archetype and that id", path=suite.path, field="--case")
    terms = agree(suite, _asked(options), options.prices)
    checks.check(suite, cases, ARMS[mode], terms.runtime)
    group_id = _group_id(suite, options.run_id)
    planned = assemble(
        suite,
        mode=mode,
        group_id=group_id,
        cases=cases,
        trials_per_case=_trials_per_case(suite, options.trials),
        seed=_seed(options.seed, group_id),
    )
    _check_budget(planned, terms)
    ref = options.candidate
    with checkouts.discreet(suite.is_private):
        candidate = None if ref is None else checkouts.resolve(suite.root, ref)
    return replace(planned, terms=terms, candidate=candidate, as_of=clock.checked(options.as_of))


def _asked(options: Options) -> Terms:
    rung = options.require_isolation
    return Terms(
        runtime=options.runtime,
        model=options.model,
        budget=options.budget,
        max_rpm=options.max_rpm,
        require_isolation=None if rung is None else level(rung),
        memory_limit=options.memory_limit,
        process_limit=options.process_limit,
    )


def _check_budget(planned: Plan, terms: Terms) -> None:
    """Refuse a budget that may end after one arm: what is left would compare nothing."""
    if terms.budget is not None and planned.order != INTERLEAVED and len(planned.runs) > 1:
        blocked = "two arms of a suite with order 'blocked' may end unbalanced; interleave them"
        raise UsageError(blocked, path=planned.suite.path, field="--budget")


def assemble(
    suite: Suite, *, mode: str, group_id: str, cases: tuple[Case, ...], trials_per_case: int, seed: int
) -> Plan:
    """Return the plan that these decisions make; a resumed run comes back through the same door."""
    runs = tuple(PlannedRun(run_id=_leg_id(group_id, arm, mode), arm=arm) for arm in ARMS[mode])
    order = str(suite.document.get("trials", {}).get("order", INTERLEAVED))
    return Plan(
        suite=suite,
        axis=_axis(mode),
        mode=mode,
        group_id=group_id,
        runs=runs,
        cases=cases,
        trials_per_case=trials_per_case,
        seed=seed,
        order=order,
        specs=ordered(runs, cases, trials_per_case, seed, order),
    )


def check_role(suite: Suite, role: str | None) -> None:
    """Raise UsageError where a private holdout would be read without the role for it."""
    if suite.is_private and role != EVALUATOR:
        message = f"a private holdout is read only with --role {EVALUATOR}"
        raise UsageError(message, path=suite.path, field="--role")


def _mode(options: Options) -> str:
    """Return the mode that is asked for, on one axis. Raises UsageError."""
    axes = {
        "--mode": options.mode,
        "--context-mode": options.context_mode,
        "--candidate": options.candidate,
    }
    asked = [name for name, value in axes.items() if value is not None]
    if len(asked) > 1:
        apart = f"{asked[0]} and {asked[1]} compare on different axes and are never combined; leave one out"
        raise UsageError(apart, field=asked[1])
    if options.candidate is not None:
        return "candidate"
    if options.context_mode is not None:
        return _known(options.context_mode, *CONTEXT_MODES)
    return _known(options.mode or "skill-on", *SKILL_MODES, ALIASES)


def _known(word: str, option: str, modes: tuple[str, ...], aliases: Mapping[str, str] = NO_ALIASES) -> str:
    mode = aliases.get(word, word)
    if mode not in modes:
        known = ", ".join((*modes, *aliases))
        raise UsageError(f"unknown mode {word!r}; known: {known}", field=option)
    return mode


def _axis(mode: str) -> Axis:
    if mode == "candidate":
        return Axis.CANDIDATE
    return Axis.CONTEXT if mode in CONTEXT_MODES[1] else Axis.SKILL


def _check_hooks(suite: Suite, mode: str) -> None:
    """Refuse a context without hooks: what hooks do with a context is what the axis is about."""
    if _axis(mode) is Axis.CONTEXT and suite.environment.get("disable_hooks", False):
        off = "the suite sets /environment/disable_hooks, and a context is compared with hooks on"
        raise UsageError(off, path=suite.path, field="--context-mode")


def _leg_id(group_id: str, arm: Arm, mode: str) -> str:
    return f"{group_id}-{arm}" if len(ARMS[mode]) > 1 else group_id


def _group_id(suite: Suite, given: str | None) -> str:
    if given is None:
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        name = UNNAMED if suite.is_private else suite.id
        return f"eval-{moment}-{name}-{secrets.token_hex(3)}"
    if not _RUN_ID.fullmatch(given):
        raise UsageError(
            "a run id starts with a letter or digit and holds only letters, digits, '.', '_', ':' and '-' "
            "(at most 188)",
            field="--run-id",
        )
    return given


def _trials_per_case(suite: Suite, given: int | None) -> int:
    count = suite.trials_per_case if given is None else given
    if not 1 <= count <= MAX_TRIALS:
        raise UsageError(f"{count} trials per case; give 1 to {MAX_TRIALS}", field="--trials")
    return count


def _seed(given: int | None, group_id: str) -> int:
    seed = trials.run_seed(group_id) if given is None else given
    if not 0 <= seed <= MAX_INTEGER:
        raise UsageError("a seed lies between 0 and 2^53 - 1", field="--seed")
    return seed
