"""Every check, tried: what was expected, what was found, and on which machine."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from evalstats import contract
from evalstats.selfcheck.numbers import CHECKS, Check
from evalstats.selfcheck.storage import trials_survive

SCHEMA = "selfcheck.v1"
PACKAGES = ("numpy", "scipy", "pandas", "statsmodels", "duckdb", "pyarrow", "altair", "papermill")
STORED = "torn journal, lost store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: the number as its source prints it, what came out here, and whether the two agree."""

    name: str
    source: str
    expected: str
    found: str
    passed: bool


def certify(checks: Sequence[Check] = CHECKS) -> dict[str, Any]:
    """Try every check and return the certificate, which holds its schema ``selfcheck.v1``."""
    findings = [_tried(check) for check in checks]
    findings.append(_stored())
    document = {
        "schema_version": 1,
        "evalstats": metadata.version("evalstats-notebooks"),
        "machine": {
            "python": platform.python_version(),
            "system": platform.system(),
            "architecture": platform.machine(),
        },
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "checks": [asdict(finding) for finding in findings],
        "n_checks": len(findings),
        "n_failed": sum(not finding.passed for finding in findings),
        "passed": all(finding.passed for finding in findings),
    }
    contract.validate(document, SCHEMA)
    return document


def _tried(check: Check) -> Finding:
    found, passed = _outcome(check.tried)
    return Finding(name=check.name, source=check.source, expected=check.expected, found=found, passed=passed)


def _stored() -> Finding:
    found, passed = _outcome(trials_survive)
    return Finding(name=STORED, source="by construction", expected="3 trials", found=found, passed=passed)


def _outcome(work: Callable[[], tuple[str, bool]]) -> tuple[str, bool]:
    """Return what a check found; one that breaks has failed, and the others go on."""
    try:
        return work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200], False
