"""What gates decided, and how often such a decision is wrong: the ledgers, newest first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import DocumentError

SHOWN = 30  # decisions on a page


def read(gates: Path) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return suite -> its decisions, newest first, and what is wrong with the ledgers, line by line."""
    decisions: dict[str, list[dict[str, Any]]] = {}
    problems: list[str] = []
    for path in sorted(gates.glob("*.jsonl")) if gates.is_dir() else ():
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            record = _decision(line)
            if record is None:
                problems.append(f"gates/{path.name}:{number}: is no decision of a gate; it is not shown")
            else:
                decisions.setdefault(str(record["suite"]), []).insert(0, record)
    return decisions, problems


def _decision(line: bytes) -> dict[str, Any] | None:
    try:
        record = dict(json.loads(line))
        decided = {name: value for name, value in record.items() if name != "decided_at"}
        contract.validate(decided, "gate-result.v1", path="ledger")
        return record if isinstance(record.get("decided_at"), str) else None
    except (ValueError, TypeError, DocumentError):
        return None


def reference(decision: Mapping[str, Any]) -> str | None:
    """Return the report that a decision judged, as ``NOTEBOOK/SUBJECT/VERSION``."""
    named = decision.get("report")
    return named if isinstance(named, str) and named.count("/") == 2 else None
