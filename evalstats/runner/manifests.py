"""The folder of a run: claimed by one process at a time, its plan on disk before the first trial.

A manifest holds all that a resumed run needs to come to the same plan, and all that a record says about
circumstances. Places are kept relative to the data folder, so that a tree can be moved, and absolutely, in case
only the data folder is.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats import suite as suites
from evalstats.contract import Arm, Axis
from evalstats.errors import JournalError, UsageError
from evalstats.runner import casting, clock, commands, contexts, environment, records
from evalstats.runner.planning import Plan
from evalstats.runner.specs import PlannedRun
from evalstats.suite import Suite

MANIFEST = "manifest.json"
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
            _make(folder)
            locks.callback(os.close, _locked(folder, plan))
            if not plan.resumed:
                _reclaim(folder, plan)
        yield


def _make(folder: Path) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o755, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot be made: {error.strerror}", path=folder) from None


def _reclaim(folder: Path, plan: Plan) -> None:
    """Refuse a folder that holds a run; take over one whose process ended before its manifest was there."""
    if _holds_manifest(folder):
        way_out = f"use --resume {plan.group_id} or another --run-id"
        raise UsageError(f"run {plan.group_id} exists; {way_out}", path=folder)
    if any(path.stat().st_size for path in journal.journals(folder)):
        lost = "holds trials, but no manifest that can be read; use another --run-id"
        raise UsageError(lost, path=folder)
    for path in (folder / MANIFEST, folder / "suite.json", *folder.glob(".*.tmp")):
        path.unlink(missing_ok=True)


def _holds_manifest(folder: Path) -> bool:
    try:
        return bool(journal.read_manifest(folder))
    except JournalError:
        return False


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
        if not (folder / MANIFEST).exists():
            journal.write_synced(folder / "suite.json", plan.suite.raw)
            journal.write_synced(folder / MANIFEST, journal.encode({**compose(plan, run, data), **facts}))
        kept[run.run_id] = read(folder)
    return kept


def compose(plan: Plan, run: PlannedRun, data: Path) -> dict[str, Any]:
    """Return the manifest of a run of a plan, as it would be written now."""
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
        "places": _places(suite, data),
        "cases": [case.id for case in plan.cases],
        "case_hashes": {case.id: case_hashes[case.id] for case in plan.cases},
        "trials_per_case": plan.trials_per_case,
        "order": plan.order,
        "seed": plan.seed,
        "arm_settings": _arm_settings(plan, run),
        "context": contexts.described(suite, run.arm) if plan.axis is Axis.CONTEXT else None,
        "candidate": None if plan.candidate is None else asdict(plan.candidate),
        "runtime": records.runtime(plan, run.arm),
        "environment": {
            "inherited": list(environment.INHERITED),
            "scrubbed_env_prefixes": list(environment.scrubbed_prefixes(suite)),
            "withheld": _withheld(plan, run),
        },
        "git": _git_of(plan, run),
        "versions": {
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
        },
        "cli_version": version(),
        "registry_version": suite.document.get("metadata", {}).get("registry_version"),
        "terms": asdict(plan.terms),
        "model": casting.model(plan, run.arm),
        "judge_model": None,
        "is_mock": casting.is_mock(plan),
        **clock.stamps(plan.as_of),
    }


def _places(suite: Suite, data: Path) -> dict[str, Any]:
    """Return where the suite lies: seen from the data folder, and absolutely, if that folder is moved alone."""
    absolute = {"suite": str(suite.path.resolve()), "root": str(suite.root.resolve())}
    start = data.resolve()
    return {**{name: os.path.relpath(place, start) for name, place in absolute.items()}, "absolute": absolute}


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


def _arm_settings(plan: Plan, run: PlannedRun) -> dict[str, Any]:
    """Return what the suite sets for the arm: files by digest, variables and inputs by name."""
    section, root = commands.arm_section(plan.suite, run.arm), plan.suite.root
    return {
        "env": sorted(section.get("env", ())),
        "inputs": sorted(section.get("inputs", ())),
        "files": {name: suites.tree_digest(root / name) for name in section.get("files", ())},
        "prompt_suffix": section.get("prompt_suffix"),
        "model": section.get("model"),
    }


def _git_of(plan: Plan, run: PlannedRun) -> dict[str, Any] | None:
    if plan.candidate is not None and run.arm is Arm.CANDIDATE:
        return {"dirty": False, "candidate_sha": plan.candidate.sha, "candidate_ref": plan.candidate.ref}
    return _git(plan.suite.root)


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


def version() -> str | None:
    """Return the version of evalstats that is installed; None where it only lies there."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return None


def read(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run. Raises JournalError naming file and field of what is not as it should be."""
    manifest, path = journal.read_manifest(folder), folder / MANIFEST
    for problem in contract.problems(manifest, "manifest.v1"):
        raise JournalError(problem.message, path=path, field=problem.pointer or None)
    return manifest
