"""What gates decided, and how often such a decision is wrong: the ledgers, newest first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import DocumentError
from evalstats.site.problems import Problem

SHOWN = 30  # decisions on a page
Decision = dict[str, Any]


def read(
    gates: Path, private: frozenset[str] = frozenset()
) -> tuple[dict[str, list[Decision]], list[Problem]]:
    """Return suite -> its decisions, newest first, and what is wrong with the ledgers, line by line.

    Decisions on ``private`` suites are counted, and neither shown nor named.
    """
    decisions: dict[str, list[Decision]] = {}
    problems: list[Problem] = []
    for path in sorted(gates.glob("*.jsonl")) if gates.is_dir() else ():
        if path.stem in private:
            problems.append(Problem("a ledger is of a private suite; it is neither read nor named"))
            continue
        found, wrong = _ledger(path)
        problems += wrong
        if found:
            decisions[path.stem] = found[::-1]
    return decisions, problems


def _ledger(path: Path) -> tuple[list[Decision], list[Problem]]:
    """Return the decisions of a ledger, oldest first. A line that is none on the suite of the file is a problem."""
    found, problems, suite = [], [], path.stem
    if not is_name(suite):
        return [], [Problem("a file among the ledgers is named after no suite; it is not read")]
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        return [], [Problem(f"gates/{path.name}: cannot be read: {error.strerror}", suite)]
    for number, line in enumerate(lines, 1):
        decision = _decision(line, path)
        if decision is None or decision["suite"] != suite:
            problem = f"gates/{path.name}:{number}: is no decision of a gate on {suite}; it is not shown"
            problems.append(Problem(problem, suite))
        else:
            found.append(decision)
    return found, problems


def _decision(line: bytes, path: Path) -> Decision | None:
    try:
        record, _ = contract.parse_bytes(line, path)
        decided = {name: value for name, value in dict(record).items() if name != "decided_at"}
        contract.validate(decided, "gate-result.v1", path=path)
        return dict(record) if re.fullmatch(_word("timestamp"), str(record["decided_at"])) else None
    except (DocumentError, ValueError, TypeError, KeyError):
        return None


def is_name(text: str) -> bool:
    """Return whether ``text`` may name a suite, and so a page."""
    return re.fullmatch(_word("name"), text) is not None


def _word(name: str) -> str:
    pattern: str = contract.schema("words.v1")["$defs"][name]["pattern"]
    return pattern


def reference(decision: Mapping[str, Any]) -> str | None:
    """Return the report that a decision judged, as ``NOTEBOOK/SUBJECT/VERSION``."""
    named = decision["report"]
    return named if isinstance(named, str) and named.count("/") == 2 else None
