"""The folder of a run: claimed by one process at a time, its plan on disk before the first trial.

A manifest holds all that a resumed run needs to come to the same plan, and all that a record says about
circumstances. Places are kept relative to the data folder, so that a tree can be moved.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalstats import journal
from evalstats import suite as suites
from evalstats.contract import Visibility
from evalstats.errors import JournalError, UsageError
from evalstats.runner import commands, environment, records
from evalstats.runner.planning import Plan, PlannedRun, assemble
from evalstats.suite import Suite
from evalstats.trials import timestamp

DISTRIBUTION = "evalstats-notebooks"


def run_folder(data: Path, run_id: str) -> Path:
    """Return the folder of one run."""
    return data / "runs" / run_id


@contextlib.contextmanager
def claimed(plan: Plan, data: Path) -> Iterator[None]:
    """Make (or, resuming, reopen) the folders of a plan and keep other processes out of them meanwhile."""
    with contextlib.ExitStack() as locks:
        for run in plan.runs:
            folder = run_folder(data, run.run_id)
            _make(folder, plan)
            locks.callback(os.close, _locked(folder, plan))
        yield


def _make(folder: Path, plan: Plan) -> None:
    private = plan.suite.visibility is Visibility.PRIVATE_HOLDOUT
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700 if private else 0o755, exist_ok=plan.resumed)
    except FileExistsError:
        way_out = f"use --resume {plan.group_id} or another --run-id"
        raise UsageError(f"run {plan.group_id} exists; {way_out}", path=folder) from None
    except OSError as error:
        raise JournalError(f"cannot be made: {error.strerror}", path=folder) from None


def _locked(folder: Path, plan: Plan) -> int:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(f"run {plan.group_id} is being run by another process", path=folder) from None
    except OSError:
        pass  # a file system without locks; nothing else depends on them
    return descriptor


def write(plan: Plan, data: Path, facts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Write the manifests that are not there yet, on disk when this returns; return run id -> manifest."""
    kept = {}
    for run in plan.runs:
        folder = run_folder(data, run.run_id)
        if not (folder / "manifest.json").exists():
            journal.write_synced(folder / "suite.json", plan.suite.raw)
            journal.write_synced(
                folder / "manifest.json", journal.encode({**_manifest(plan, run, data), **facts})
            )
        kept[run.run_id] = journal.read_manifest(folder)
    return kept


def _manifest(plan: Plan, run: PlannedRun, data: Path) -> dict[str, Any]:
    suite = plan.suite
    case_hashes = suites.case_hashes(suite)
    return {
        "run_id": run.run_id,
        "group_id": plan.group_id,
        "runs": [{"run_id": r.run_id, "arm": r.arm} for r in plan.runs],
        "arm": run.arm,
        "axis": plan.axis,
        "mode": plan.mode,
        "suite": _suite_facts(suite),
        "places": {"suite": os.path.relpath(suite.path, data), "root": os.path.relpath(suite.root, data)},
        "cases": [case.id for case in plan.cases],
        "case_hashes": {case.id: case_hashes[case.id] for case in plan.cases},
        "trials_per_case": plan.trials_per_case,
        "order": plan.order,
        "seed": plan.seed,
        "runtime": records.runtime(plan),
        "environment": {
            "inherited": list(environment.INHERITED),
            "scrubbed_env_prefixes": list(environment.scrubbed_prefixes(suite)),
            "withheld": _withheld(plan, run),
        },
        "git": _git(suite.root),
        "versions": {
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
        },
        "cli_version": _version(),
        "registry_version": suite.document.get("metadata", {}).get("registry_version"),
        "model": None,
        "judge_model": None,
        "is_mock": False,
        "created_at": timestamp(),
    }


def _suite_facts(suite: Suite) -> dict[str, Any]:
    path, hashes = suite.path.resolve(), suites.hashes(suite)
    inside = path.is_relative_to(suite.root)
    return {
        "id": suite.id,
        "path": path.relative_to(suite.root).as_posix() if inside else str(path),
        "tier": suite.tier,
        "visibility": suite.visibility,
        "sha256": hashes["raw"],
        "hashes": hashes,
    }


def _withheld(plan: Plan, run: PlannedRun) -> list[str]:
    names: set[str] = set(commands.arm_section(plan.suite, run.arm).get("env", ()))
    for case in plan.cases:
        names.update(commands.inputs(plan.suite, case, run.arm).get("env", ()))
    return environment.withheld(plan.suite, names)


def _git(root: Path) -> dict[str, Any] | None:
    """Return branch, commit and whether files differ from it; None outside a repository."""
    command = ["git", "--no-optional-locks", "-C", str(root), "status", "--porcelain=v2", "--branch"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    heads = dict(line.split(" ", 2)[1:] for line in lines if line.startswith("# branch."))
    facts: dict[str, Any] = {"dirty": any(not line.startswith("#") for line in lines)}
    if heads.get("branch.oid", "(").isalnum():
        facts["candidate_sha"] = heads["branch.oid"]
    if "branch.head" in heads:
        facts["candidate_ref"] = heads["branch.head"]
    return facts


def _version() -> str | None:
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return None


# --- resuming ------------------------------------------------------------------------------------


def resume_plan(data: Path, run_id: str) -> Plan:
    """Return the plan of a run that was stopped: the same plan, less the trials that are in its journals.

    ``run_id`` is the id of the group or of one of its arms.

    Raises
    ------
    UsageError
        There is no such run, or the suite's cases or scoring have changed since.
    """
    manifest = _manifest_of(data, run_id)
    places = manifest["places"]
    suite = suites.load(data / places["suite"], root=data / places["root"])
    if suites.hashes(suite)["scoring"] != manifest["suite"]["hashes"]["scoring"]:
        changed = f"its cases, scoring or fixtures changed since run {run_id} began; start a new run"
        raise UsageError(changed, path=suite.path)
    plan = assemble(
        suite,
        mode=manifest["mode"],
        group_id=manifest["group_id"],
        cases=suites.select(suite, case_ids=manifest["cases"]),
        trials_per_case=manifest["trials_per_case"],
        seed=manifest["seed"],
    )
    return _less_recorded(plan, data)


def _manifest_of(data: Path, run_id: str) -> dict[str, Any]:
    folder = run_folder(data, run_id)
    if folder.is_dir():
        return journal.read_manifest(folder)
    for path in sorted((data / "runs").glob("*/manifest.json")):
        if path.parent.name.startswith(f"{run_id}-"):
            manifest = journal.read_manifest(path.parent)
            if manifest["group_id"] == run_id:
                return manifest
    raise UsageError(f"there is no run {run_id} to resume", path=data / "runs", field="--resume")


def _less_recorded(plan: Plan, data: Path) -> Plan:
    recorded = [t for run in plan.runs for t in journal.read_trials(run_folder(data, run.run_id))]
    done = {trial.key for trial in recorded}
    missing = tuple(spec for spec in plan.specs if spec.key not in done)
    return replace(plan, specs=missing, recorded=tuple(recorded), resumed=True)
