"""Where is the baseline of a suite, and what does it say?

A baseline is a promoted run: a run record (``eval-run.v1``) in a file of its own. Promoted ones are committed,
as ``<suite id>.baseline.json`` in the folder ``baselines`` beside the suite file, or where the suite's
``baseline_policy.baseline_path`` says, or all in one flat folder. Captures (:mod:`evalstats.governance.captures`)
lie in the data folder until one of them is promoted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats.contract import Visibility
from evalstats.errors import JournalError, Problem
from evalstats.suite import Suite, faulty, is_inside_path

SUFFIX = ".baseline.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A run record that others are held against.

    ``raw`` is the digest of the suite file as it was, the one digest that old records carry; ``hashes`` holds
    all layers, or None where the record has only that one. ``diagnostics`` are the recorded sentences of each
    case, ``sha256`` is the digest of the file.
    """

    suite_id: str
    path: Path
    sha256: str
    record: dict[str, Any]
    raw: str
    hashes: dict[str, str] | None
    case_ids: tuple[str, ...]
    diagnostics: dict[str, tuple[str, ...]]

    @property
    def case_hashes(self) -> dict[str, str] | None:
        """Return the digest of each case as it was, or None where the record does not hold them."""
        found = {case["id"]: case.get("case_hash") for case in self.record["case_results"]}
        return None if None in found.values() else {name: str(value) for name, value in found.items()}

    @property
    def is_private(self) -> bool:
        """Return whether the run is of a private holdout."""
        return bool(self.record["suite"]["visibility"] == Visibility.PRIVATE_HOLDOUT)

    def home(self, data: Path) -> Path:
        """Return the tree of a data folder that the run belongs in."""
        return journal.private_tree(data) if self.is_private else data

    @property
    def run_id(self) -> str:
        """Return the id of the run behind the baseline."""
        return str(self.record["run_id"])


def locate(suite: Suite, baselines_dir: Path | None = None) -> Path:
    """Return where the promoted baseline of ``suite`` lies, or would lie.

    ``baselines_dir`` is a flat folder; without it the suite's policy decides, else the folder ``baselines``
    beside the suite file. Raises SuiteError when the policy names a path outside the repository.
    """
    if baselines_dir is not None:
        return baselines_dir / file_name(suite.id)
    named = suite.document["baseline_policy"].get("baseline_path")
    if named is None:
        return suite.folder / "baselines" / file_name(suite.id)
    if not is_inside_path(named):
        rule = "is relative to the repository and stays inside it"
        problem = Problem("/baseline_policy/baseline_path", rule, rule=rule)
        error = faulty(suite, [problem])
        error.path = None if suite.is_private else suite.path  # whoever named a run did not name this place
        raise error
    return suite.root / str(named)


def file_name(suite_id: str) -> str:
    """Return the file name of a promoted baseline."""
    return f"{suite_id}{SUFFIX}"


def read(path: Path) -> Baseline:
    """Return the baseline in ``path``. Raises DocumentError with every problem of the file.

    Old records, which carry no digest but the raw one and no counts of trials, are read too.
    """
    data = contract.read_bytes(path)
    document, text = contract.parse_bytes(data, path)
    contract.validate(document, "eval-run.v1", path=path, text=text)
    return _baseline(document, path, contract.digest(data))


def _baseline(document: dict[str, Any], path: Path, sha256: str) -> Baseline:
    suite, cases = document["suite"], document["case_results"]
    return Baseline(
        suite_id=suite["id"],
        path=path,
        sha256=sha256,
        record=document,
        raw=suite["sha256"],
        hashes=suite.get("hashes") or None,
        case_ids=tuple(case["id"] for case in cases),
        diagnostics={case["id"]: tuple(case.get("diagnostics", ())) for case in cases},
    )


def write(path: Path, document: dict[str, Any], *, private: bool = False) -> None:
    """Write a document whole or not at all; a private one for nobody but its owner."""
    with journal.owners_only(private):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if private:
                path.parent.chmod(0o700)
        except OSError as error:
            raise JournalError(f"cannot be made: {error.strerror}", path=path.parent) from None
        journal.write_synced(path, contract.readable(document).encode())
