"""How to come back to a run that was stopped: its plan, less what its journals hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalstats import journal
from evalstats import suite as suites
from evalstats.contract import Visibility
from evalstats.errors import EvalstatsError, JournalError, UsageError
from evalstats.runner import clock
from evalstats.runner.checkouts import Candidate
from evalstats.runner.manifests import MANIFEST, read, run_folder
from evalstats.runner.planning import EVALUATOR, Plan, assemble, check_role
from evalstats.runner.terms import Terms
from evalstats.suite import Suite


def resume_plan(data: Path, run_id: str, *, role: str | None = None) -> Plan:
    """Return the plan of a run that was stopped: the same plan, less the trials that are in its journals.

    ``run_id`` is the id of the group or of one of its arms; one of a private suite is found by an evaluator alone.

    Raises
    ------
    UsageError
        There is no such run, the suite's cases or scoring have changed since, or the role is missing.
    JournalError
        The manifest of the run cannot be read, or lacks what a resumed run needs.
    """
    if role == EVALUATOR and _has_run(journal.private_tree(data), run_id):
        data = journal.private_tree(data)
    manifest = _manifest_of(data, run_id)
    suite = _suite_of(manifest, data)
    check_role(suite, role)
    if suites.hashes(suite)["scoring"] != manifest["suite"]["hashes"]["scoring"]:
        changed = f"its cases, scoring or fixtures changed since run {run_id} began; start a new run"
        raise UsageError(changed, path=None if suite.is_private else suite.path)
    return _less_recorded(plan_of(manifest, suite), data)


def plan_of(manifest: Mapping[str, Any], suite: Suite) -> Plan:
    """Return the whole plan that a manifest tells of, as if nothing of it had run."""
    plan = assemble(
        suite,
        mode=manifest["mode"],
        group_id=manifest["group_id"],
        cases=suites.select(suite, case_ids=manifest["cases"]),
        trials_per_case=manifest["trials_per_case"],
        seed=manifest["seed"],
    )
    candidate = manifest.get("candidate")
    if candidate is not None:
        plan = replace(plan, candidate=Candidate(**candidate))
    plan = replace(plan, as_of=clock.set_by_hand(manifest))
    return replace(plan, terms=Terms.of(manifest.get("terms", {})))


def _has_run(data: Path, run_id: str) -> bool:
    names = [path.name for path in (data / "runs").glob("*")]
    return any(name == run_id or name.startswith(f"{run_id}-") for name in names)


def _suite_of(manifest: dict[str, Any], data: Path) -> Suite:
    """Load the suite from where it lies, seen from the data folder; failing that, from where it lay."""
    places, start = manifest["places"], data.resolve()
    moved_with = {name: start / places[name] for name in ("suite", "root")}
    stayed = {name: Path(place) for name, place in places.get("absolute", moved_with).items()}
    found = stayed if stayed["suite"].is_file() and not moved_with["suite"].is_file() else moved_with
    try:
        return suites.load(found["suite"], root=found["root"])
    except EvalstatsError:
        if manifest["suite"]["visibility"] == Visibility.PRIVATE_HOLDOUT:  # whose place is told to nobody
            raise UsageError("the private suite of this run is gone, or no longer valid") from None
        raise


def _manifest_of(data: Path, run_id: str) -> dict[str, Any]:
    folder = run_folder(data, run_id)
    if (folder / MANIFEST).exists():
        return read(folder)
    for path in sorted((data / "runs").glob(f"*/{MANIFEST}")):
        if path.parent.name.startswith(f"{run_id}-"):
            manifest = read(path.parent)
            if manifest["group_id"] == run_id:
                return manifest
    if folder.is_dir():
        way_out = "it ended before its first trial; start it again under the same --run-id"
        raise JournalError(f"run {run_id} has no manifest: {way_out}", path=folder)
    missing = f"there is no run {run_id} to resume; one of a private suite needs --role {EVALUATOR}"
    raise UsageError(missing, path=data / "runs", field="--resume")


def _less_recorded(plan: Plan, data: Path) -> Plan:
    recorded = [t for run in plan.runs for t in journal.read_trials(run_folder(data, run.run_id))]
    done = {trial.key for trial in recorded}
    missing = tuple(spec for spec in plan.specs if spec.key not in done)
    return replace(plan, specs=missing, recorded=tuple(recorded), resumed=True)
