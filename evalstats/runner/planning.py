"""What will be run: the trials of a suite in one or two arms, their seeds and their order.

Everything random about a plan comes from its seed, by hashing: the same seed gives the same plan, and
leaving out a case changes neither the seeds nor the order of the others.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from evalstats import suite as suites
from evalstats import trials
from evalstats.contract import MAX_INTEGER, Arm, Axis, Visibility
from evalstats.errors import UsageError
from evalstats.runner import checkouts, checks
from evalstats.runner.checkouts import Candidate
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
MAX_TRIALS = 100_000
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,187}")  # 200, less the suffix of an arm


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a caller may say about a run; None means the default of the suite or of the run id.

    ``mode`` (default: skill-on), ``context_mode`` and ``candidate``, a git ref, are three axes: at most one.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """One trial to be run: pure data, the same on every machine. ``key`` is its stable identity."""

    run_id: str
    arm: Arm
    case: Case
    trial_index: int
    seed: int
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One arm of a plan."""

    run_id: str
    arm: Arm


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
    candidate: Candidate | None = None
    recorded: tuple[Trial, ...] = ()
    resumed: bool = False

    @property
    def is_private(self) -> bool:
        """Return whether the content of the suite, and so of its runs, is for evaluators alone."""
        return self.suite.visibility is Visibility.PRIVATE_HOLDOUT

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
        An unknown mode, case, archetype or git ref, two axes at once, a number or run id out of bounds, a
        context under a suite that disables hooks, or a private holdout without the role that may read it.
    SuiteError
        A fixture is missing, or a case cannot be run or checked as it is written (all problems at once).
    """
    check_role(suite, options.role)
    mode = _mode(options)
    _check_hooks(suite, mode)
    cases = suites.select(suite, archetype=options.archetype, case_ids=options.case_ids)
    if not cases:
        raise UsageError("no case is of that archetype and that id", path=suite.path, field="--case")
    checks.check(suite, cases, ARMS[mode])
    group_id = _group_id(suite, options.run_id)
    planned = assemble(
        suite,
        mode=mode,
        group_id=group_id,
        cases=cases,
        trials_per_case=_trials_per_case(suite, options.trials),
        seed=_seed(options.seed, group_id),
    )
    if options.candidate is None:
        return planned
    return replace(planned, candidate=checkouts.resolve(suite.root, options.candidate))


def assemble(
    suite: Suite, *, mode: str, group_id: str, cases: tuple[Case, ...], trials_per_case: int, seed: int
) -> Plan:
    """Return the plan that these decisions make; a resumed run comes back through the same door."""
    runs = tuple(PlannedRun(run_id=_leg_id(group_id, arm, mode), arm=arm) for arm in ARMS[mode])
    order = str(suite.document.get("trials", {}).get("order", "interleaved"))
    specs = list(_specs(runs, cases, trials_per_case, seed))
    if order == "interleaved":
        specs = _interleaved(specs, seed)
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
        specs=tuple(specs),
    )


def check_role(suite: Suite, role: str | None) -> None:
    """Raise UsageError where a private holdout would be read without the role for it."""
    if suite.visibility is Visibility.PRIVATE_HOLDOUT and role != EVALUATOR:
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


def _specs(
    runs: Iterable[PlannedRun], cases: Iterable[Case], trials_per_case: int, seed: int
) -> Iterator[TrialSpec]:
    for run in runs:
        for case in cases:
            for index in range(1, trials_per_case + 1):
                yield TrialSpec(
                    run_id=run.run_id,
                    arm=run.arm,
                    case=case,
                    trial_index=index,
                    seed=trials.trial_seed(seed, case.id, run.arm, index),
                    key=trials.trial_key(run.run_id, case.id, run.arm, index),
                )


def _interleaved(specs: list[TrialSpec], seed: int) -> list[TrialSpec]:
    """Return the trials in random blocks of (case, trial), the arms adjacent and in random order inside."""

    def place(spec: TrialSpec) -> tuple[int, str, int, int]:
        block = trials.trial_seed(seed, spec.case.id, "block", spec.trial_index)
        return block, spec.case.id, spec.trial_index, spec.seed

    return sorted(specs, key=place)


def _leg_id(group_id: str, arm: Arm, mode: str) -> str:
    return f"{group_id}-{arm}" if len(ARMS[mode]) > 1 else group_id


def _group_id(suite: Suite, given: str | None) -> str:
    if given is None:
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        return f"eval-{moment}-{suite.id}-{secrets.token_hex(3)}"
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
