"""What a worker is told of a run, and what it makes of that: plain data on the way, a plan where it arrives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import suite as suites
from evalstats.contract import Visibility
from evalstats.errors import AdapterError, EvalstatsError
from evalstats.runner import manifests, resuming
from evalstats.runner.planning import Plan
from evalstats.suite import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a worker must know of a run; plain data.

    ``launch`` names the process that coordinates it, ``mark`` a file that this process put into the run folders.
    """

    launch: str
    version: str | None
    data: str
    mark: str
    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One trial to be carried out: which, as which task, and at how many requests a minute."""

    key: str
    task: str
    max_rpm: float | None


def plan_of(brief: Brief) -> Plan:
    """Return the plan of a run, with the suite as it lies on this machine. Raises AdapterError."""
    suite = _suite(brief)
    if suites.hashes(suite)["scoring"] != brief.manifest["suite"]["hashes"]["scoring"]:
        raise AdapterError("has another version of the suite: its cases, scoring or fixtures differ")
    return resuming.plan_of(brief.manifest, suite)


def _suite(brief: Brief) -> Suite:
    places = brief.manifest["places"]["absolute"]
    try:
        return suites.load(Path(places["suite"]), root=Path(places["root"]))
    except EvalstatsError:
        if brief.manifest["suite"]["visibility"] == Visibility.PRIVATE_HOLDOUT:
            raise AdapterError("has not the suite where the coordinator has it, or not all of it") from None
        missing = f"has no valid suite at {places['suite']}, where the coordinator has it"
        raise AdapterError(missing) from None


def check_version(brief: Brief) -> None:
    """Raise AdapterError where this machine has another evalstats than the coordinator."""
    here = manifests.version()
    if brief.version != here:
        raise AdapterError(f"has evalstats {here}, and the coordinator {brief.version}")
