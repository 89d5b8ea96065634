"""What a run says when it ends: the files asked for, and tables for a person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalstats.cli.tables import print_table
from evalstats.contract import Arm
from evalstats.trials import timestamp

Record = dict[str, Any]


def written(records: Sequence[Record], runs: Path, out: Path | None) -> Record:
    """Return the run record, or the scorecard of a pair of runs, and write it to ``out``.

    A pair also writes both run records beside the scorecard, with the arm before the suffix.
    """
    by_arm = {record["arm"]: record for record in records}
    if set(by_arm) != {Arm.SKILL_ON, Arm.SKILL_OFF}:
        document = records[0]
    else:
        document = _scorecard(by_arm[Arm.SKILL_ON], by_arm[Arm.SKILL_OFF], runs)
    if out is not None:
        _write(out, document)
        for arm, record in by_arm.items() if len(by_arm) > 1 else ():
            _write(out.with_name(f"{out.stem}-{arm}{out.suffix}"), record)
    return document


def _scorecard(on: Record, off: Record, runs: Path) -> Record:
    from evalstats import estimates, journal
    from evalstats.governance.scorecard import delta_scorecard

    trials = [t for record in (on, off) for t in journal.read_trials(runs / record["run_id"])]
    rng = estimates.generator(on["seed"])
    found = estimates.only(estimates.difference(estimates.case_runs_of(trials), rng=rng))
    return delta_scorecard(on, off, generated_at=timestamp(), difference=found and known(found))


def known(row: Record) -> Record:
    """Return an estimate's row with NULL for what is not known; its caveats say why."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()
    }


def _write(path: Path, document: Record) -> None:
    from evalstats.contract import readable
    from evalstats.journal import write_synced

    path.parent.mkdir(parents=True, exist_ok=True)
    write_synced(path, readable(document).encode())


def show(records: Sequence[Record], document: Record, *, cases: bool) -> None:
    """Print the status of each run and, unless only a summary is asked for, of each case."""
    for record in records:
        print(f"{record['run_id']}: {record['status']}, aggregate {_four(record['aggregate_score'])}")
    if "per_case" in document:
        added = _four(document["aggregate_delta"], sign="+")
        print(f"{document['suite_id']}: the skill adds {added}{_interval(document)}")
    if not cases:
        return
    if "per_case" in document:
        header = ("case", "on", "off", "score on", "score off", "delta")
        keys = (
            "case_id",
            "skill_on_status",
            "skill_off_status",
            "skill_on_score",
            "skill_off_score",
            "delta",
        )
        print_table(header, [[case[key] for key in keys] for case in document["per_case"]])
    else:
        print_table(
            ("case", "status", "score", "trials", "why"),
            [_case_row(case) for case in document["case_results"]],
        )


def _case_row(case: Record) -> list[Any]:
    why = "" if case["status"] == "pass" else "; ".join(case.get("diagnostics", []))
    return [case["id"], case["status"], case["score"], case.get("trials"), why]


def _interval(document: Record) -> str:
    found = document["difference"]
    if found is None or found["conf_low"] is None:
        return ""
    bounds = f"[{found['conf_low']:+.4f}, {found['conf_high']:+.4f}]"
    return f"; mean over cases {found['estimate']:+.4f} {bounds} at {found['level']:.0%} ({found['method']})"


def _four(score: float | None, sign: str = "") -> str:
    return "unknown" if score is None else f"{score:{sign}.4f}"
