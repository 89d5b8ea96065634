"""Where the trials of each arm stand: the working tree or a checkout of it, and a context root or none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from evalstats.contract import Arm, Axis
from evalstats.errors import SuiteError, UsageError
from evalstats.runner import checkouts, checks, commands, contexts
from evalstats.runner.checkouts import Candidate
from evalstats.runner.contexts import ContextRoot
from evalstats.runner.folders import remove_tree
from evalstats.runner.planning import Plan
from evalstats.suite import Suite

CHECKOUT = "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What is particular to an arm: the suite with its files as they lie for it, its folder, its context."""

    suite: Suite
    folder: str
    context: ContextRoot | None = None


@contextlib.contextmanager
def prepared(plan: Plan, runs: Path) -> Iterator[dict[Arm, Ground]]:
    """Yield arm -> ground of a plan whose run folders lie below ``runs``; take away afterwards what was made.

    Raises UsageError or SuiteError when the candidate cannot be checked out, or lacks what its cases need.
    """
    made = [runs / run.run_id / name for run in plan.runs for name in (CHECKOUT, contexts.FOLDER)]
    try:
        for left in made:  # by a runner that was killed
            remove_tree(str(left))
        yield {run.arm: _ground(plan, run.arm, runs / run.run_id) for run in plan.runs}
    finally:
        for folder in made:
            remove_tree(str(folder))


def _ground(plan: Plan, arm: Arm, run: Path) -> Ground:
    suite, context = plan.suite, None
    if arm is Arm.CANDIDATE and plan.candidate is not None:
        suite = _candidate(plan, plan.candidate, run / CHECKOUT)
    if plan.axis is Axis.CONTEXT:
        names = commands.arm_section(suite, arm).get("files", [])
        context = ContextRoot(run / contexts.FOLDER, dict(contexts.sources(suite, names)))
    return Ground(suite=suite, folder=str(suite.folder.resolve()), context=context)


def _candidate(plan: Plan, candidate: Candidate, folder: Path) -> Suite:
    """Return the suite, its questions as they are here, its files as the commit has them."""
    suite = plan.suite
    with checkouts.discreet(suite.is_private):
        root = checkouts.check_out(suite.root, candidate, folder).resolve()
    path = root / suite.path.resolve().relative_to(suite.root)
    if not path.parent.is_dir():
        missing = f"{candidate.ref} ({candidate.sha[:12]}) has no folder of this suite"
        raise UsageError(missing, path=suite.path, field=checkouts.OPTION)
    there = replace(suite, path=path, root=root)
    try:
        checks.check(there, plan.cases, (Arm.CANDIDATE,))
    except SuiteError as error:
        problems = [replace(p, message=f"in {candidate.ref}: {p.message}") for p in error.problems]
        raise SuiteError(suite.path, problems) from None
    return there
