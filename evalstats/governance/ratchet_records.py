"""Who made this suite block, on what evidence, and who took that back? An append-only record with a hash chain.

``ratchets.jsonl`` lies where the baselines of the suite do, and is committed with them. A line names the digest of
the readiness report that it stands on; the report itself lies beside, in the folder ``ratchets``. So a line that
was changed, taken out or cut off is found: its report is then named by no line, or the chain does not follow.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats import suite as suites
from evalstats.errors import EvalstatsError, JournalError
from evalstats.governance import baselines, chain
from evalstats.governance.ratchet import ADVISORY, BLOCKING, READY
from evalstats.suite import Suite
from evalstats.trials import timestamp

SCHEMA, REPORT_SCHEMA = "ratchet-record.v1", "ratchet-readiness.v1"
PROMOTE, REVOKE = "promote", "revoke"
LOG, REPORTS = "ratchets.jsonl", "ratchets"
DISTRIBUTION = "evalstats-notebooks"


class RatchetRefused(EvalstatsError):
    """The suite may not change its standing. Whoever asks acts. Holds every reason at once."""

    exit_code = 1

    def __init__(self, suite_id: str, action: str, reasons: list[str]) -> None:
        super().__init__(f"{suite_id}: no {action}, for {len(reasons)} reason(s)")
        self.reasons = tuple(reasons)

    def lines(self) -> list[str]:
        """Return one line, and one for each reason."""
        return [str(self), *(f"  {reason}" for reason in self.reasons)]

    def as_record(self) -> dict[str, Any]:
        """Return the reasons as plain data."""
        return {"done": False, "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Who asks, and why, in their own words."""

    by: str
    rationale: str

    def missing(self) -> list[str]:
        """Return what was left empty."""
        named = {"say who signs, with --by": self.by, "say why, with --rationale": self.rationale}
        return [reason for reason, text in named.items() if not text.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The ratchet records of one suite, oldest first, and what is wrong with them."""

    path: Path
    entries: tuple[dict[str, Any], ...]
    problems: tuple[str, ...]

    @property
    def standing(self) -> str:
        """Return ``blocking`` when the last record made the suite block, else ``advisory``."""
        return BLOCKING if self.entries and self.entries[-1]["action"] == PROMOTE else ADVISORY

    @property
    def was_revoked(self) -> bool:
        """Return whether the suite blocked once and was taken back."""
        return bool(self.entries) and self.standing == ADVISORY


def log_path(suite: Suite, baselines_dir: Path | None = None) -> Path:
    """Return where the ratchet records of a suite lie, or would lie; suites of a flat folder share the file."""
    return baselines.locate(suite, baselines_dir).parent / LOG


def read(suite: Suite, baselines_dir: Path | None = None) -> Log:
    """Return what is on record for a suite. Problems are told, not raised."""
    found = chain.read(log_path(suite, baselines_dir), SCHEMA)
    mine = tuple(entry for entry in found.entries if entry["suite_id"] == suite.id)
    return Log(
        path=found.path, entries=mine, problems=(*found.problems, *_misfits(found.path, suite.id, mine))
    )


def promote(
    suite: Suite, report: Mapping[str, Any], policy_sha256: str, signed: Signature, folder: Path | None = None
) -> dict[str, Any]:
    """Make the suite block, and return the record. ``folder`` is a flat folder of baselines, if there is one.

    Raises RatchetRefused with every reason at once, JournalError when the records so far are not whole.
    """
    with chain.alone(log_path(suite, folder)):
        log = _whole(suite, folder)
        reasons = signed.missing()
        if report["state"] != READY:
            reasons += [f"it is {report['state']}", *report["reasons"]]
        if log.standing == BLOCKING:
            reasons.append(f"it blocks already, since {log.entries[-1]['at'][:10]}")
        return _added(suite, log, PROMOTE, report, (policy_sha256, signed, reasons))


def revoke(
    suite: Suite, report: Mapping[str, Any], policy_sha256: str, signed: Signature, folder: Path | None = None
) -> dict[str, Any]:
    """Let the suite advise again, whatever the report says, and return the record.

    Raises RatchetRefused when it does not block, or nobody signs; JournalError when the records are not whole.
    """
    with chain.alone(log_path(suite, folder)):
        log = _whole(suite, folder)
        reasons = signed.missing()
        if log.standing != BLOCKING:
            reasons.append("it does not block")
        return _added(suite, log, REVOKE, report, (policy_sha256, signed, reasons))


def _whole(suite: Suite, folder: Path | None) -> Log:
    log = read(suite, folder)
    if log.problems:
        raise JournalError(f"the ratchet records are not whole: {log.problems[0]}", path=log.path)
    return log


def _added(
    suite: Suite, log: Log, action: str, report: Mapping[str, Any], signed: tuple[str, Signature, list[str]]
) -> dict[str, Any]:
    """Write the report, then the line that names it: a line never names what is not there."""
    policy_sha256, signature, reasons = signed
    if reasons:
        raise RatchetRefused(suite.id, action, reasons)
    contract.validate(report, REPORT_SCHEMA, path=REPORTS)
    digest = contract.canonical_digest(report)
    place = _report_path(log.path, suite.id, digest)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot be made: {error.strerror}", path=place.parent) from None
    journal.write_synced(place, contract.readable(dict(report)).encode())
    entry = {
        "schema_version": 1,
        "action": action,
        "suite_id": suite.id,
        "at": timestamp(),
        "by": signature.by.strip(),
        "rationale": signature.rationale.strip(),
        "state": report["state"],
        "report_sha256": digest,
        "policy_sha256": policy_sha256,
        "suite_hashes": suites.hashes(suite),
        "tier": suite.tier,
        "blocking_gate": suite.document["baseline_policy"].get("blocking_gate"),
        "cli_version": importlib.metadata.version(DISTRIBUTION),
    }
    return chain.append(log.path, entry, SCHEMA)


def _report_path(log: Path, suite_id: str, digest: str) -> Path:
    return log.parent / REPORTS / f"{suite_id}-{digest[:12]}.json"


def _misfits(log: Path, suite_id: str, entries: tuple[dict[str, Any], ...]) -> list[str]:
    """Return where lines and reports do not agree: a report is gone or changed, or no line names it."""
    found = []
    named = {_report_path(log, suite_id, entry["report_sha256"]): entry["report_sha256"] for entry in entries}
    for path, digest in named.items():
        if not path.is_file():
            found.append(f"the report {path.name} is gone")
            continue
        try:
            document, _ = contract.read_json(path)
        except EvalstatsError as error:
            found.append(f"the report {path.name} cannot be read: {error.message}")
        else:
            if contract.canonical_digest(document) != digest:
                found.append(f"the report {path.name} is not the one that was signed")
    for path in sorted((log.parent / REPORTS).glob(f"{suite_id}-{'[0-9a-f]' * 12}.json")):
        if path not in named:
            found.append(f"no line names the report {path.name}; was a line cut off?")
    return found
