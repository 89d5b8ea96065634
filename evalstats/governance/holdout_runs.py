"""Did private holdouts that ran on the same candidate regress? Counted, never named.

A promotion must not pass over them; what they hold is nobody's business here, so nothing but times leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalstats import contract, journal
from evalstats.contract import Status, Verdict, Visibility
from evalstats.errors import EvalstatsError
from evalstats.governance import baselines
from evalstats.governance.baselines import Baseline
from evalstats.governance.captures import of_run, suite_that_ran
from evalstats.governance.comparing import compare
from evalstats.governance.quantities import Rules
from evalstats.trials import run_seed

NEVER = "9999-12-31T23:59:59Z"  # an unknown end lies after every review


def regressed_holdouts(data: Path, run: Baseline) -> list[str]:
    """Return when each private holdout run on the candidate of ``run`` ended, of those that regressed.

    Same commit, same candidate; where either commit is unknown, it is taken to be the same. A holdout without a
    baseline has regressed when it failed; one whose files cannot be read cannot be ruled out.
    """
    found = []
    for path in sorted((journal.private_tree(data) / "runs").glob("*/record.json")):
        record = _record(path)
        if _is_private(record) and _same_candidate(record, run.record) and _has_regressed(path.parent):
            found.append(str(record.get("completed_at", NEVER)))
    return found


def _record(path: Path) -> Mapping[str, Any]:
    try:
        document, _ = contract.read_json(path)
    except EvalstatsError:
        return {}
    return document if isinstance(document, dict) else {}


def _is_private(record: Mapping[str, Any]) -> bool:
    suite = record.get("suite")
    return isinstance(suite, dict) and suite.get("visibility") == Visibility.PRIVATE_HOLDOUT


def _same_candidate(holdout: Mapping[str, Any], run: Mapping[str, Any]) -> bool:
    commits = [(record.get("git") or {}).get("candidate_sha") for record in (holdout, run)]
    return None in commits or commits[0] == commits[1]


def _has_regressed(folder: Path) -> bool:
    from evalstats.estimates import generator

    try:
        holdout = of_run(folder)
        suite = suite_that_ran(folder)
        path = None if suite is None else baselines.locate(suite)
        if suite is None or path is None or not path.is_file():
            return bool(holdout.record["status"] == Status.FAIL)
        rules, rng = Rules.of(suite.document), generator(run_seed(holdout.run_id))
        verdict = compare(holdout, baselines.read(path), rules, rng=rng).verdict
    except EvalstatsError:
        return True
    return verdict in (Verdict.REGRESSION, Verdict.FAIL)
