"""What a run says when it ends: the files asked for, and tables for a person."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats.cli.tables import print_table, say
from evalstats.contract import Arm, Axis, Status
from evalstats.trials import Trial, timestamp

if TYPE_CHECKING:
    from evalstats.runner.history import Forecast

Record = dict[str, Any]

FAILED, INFRASTRUCTURE = 1, 3
DECIDED = (Status.PASS, Status.FAIL)
# Of two arms, the first is put to the test and the second is the yardstick.
PAIRS = (
    (Arm.SKILL_ON, Arm.SKILL_OFF),
    (Arm.CONTEXT_ON, Arm.CONTEXT_OFF),
    (Arm.CANDIDATE, Arm.BASELINE),
)
YARDSTICKS = {yardstick for _, yardstick in PAIRS}
LEGS = {Axis.SKILL: ("on", "off"), Axis.CONTEXT: ("on", "off"), Axis.CANDIDATE: ("new", "base")}


def written(records: Sequence[Record], trials: Sequence[Trial], out: Path | None) -> Record:
    """Return the run record, or the scorecard of a pair of runs, and write it to ``out``.

    A pair also writes both run records beside the scorecard, with the arm before the suffix.
    """
    by_arm = {Arm(record["arm"]): record for record in records}
    pair = next((arms for arms in PAIRS if set(arms) == set(by_arm)), None)
    document = records[0] if pair is None else _scorecard(by_arm, pair, trials)
    if out is not None:
        _write(out, document)
        for arm, record in by_arm.items() if len(by_arm) > 1 else ():
            _write(out.with_name(f"{out.stem}-{arm}{out.suffix}"), record)
    return document


def _scorecard(by_arm: Mapping[Arm, Record], pair: tuple[Arm, Arm], trials: Sequence[Trial]) -> Record:
    from evalstats import estimates
    from evalstats.governance.context_scorecard import context_scorecard
    from evalstats.governance.scorecard import delta_scorecard

    new, old = (by_arm[arm] for arm in pair)
    rng = estimates.generator(new["seed"])
    found = estimates.only(estimates.difference(estimates.case_runs_of(trials), rng=rng, arms=pair))
    scorecard = context_scorecard if Arm.CONTEXT_ON in pair else delta_scorecard
    return scorecard(new, old, generated_at=timestamp(), difference=found and known(found))


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


def exit_code(records: Sequence[Record]) -> int:
    """Return 0, 1 or 3 for the runs of one group: the yardstick arm of a pair may fail, but not be lost."""
    judged = [record for record in records if record["arm"] not in YARDSTICKS] or list(records)
    if any(record["status"] in (Status.ERROR, Status.SKIPPED) or _is_degraded(record) for record in records):
        return INFRASTRUCTURE
    if any(record.get("trials", {}).get("unusable", {}).get("skipped") for record in records):
        return INFRASTRUCTURE
    ended = {status for record in judged for status in (record["status"], *_case_statuses(record))}
    if ended & {Status.FAIL, Status.INCONCLUSIVE}:
        return FAILED
    return INFRASTRUCTURE if ended - {Status.PASS} else 0


def _is_degraded(record: Record) -> bool:
    """Return whether degraded trials left a case of this run without any that is usable."""
    return any(case["score"] is None and case.get("degraded") for case in record["case_results"])


def _case_statuses(record: Record) -> list[str]:
    return [case["status"] for case in record["case_results"]]


def forecast(expected: Forecast, jobs: int, budget: float | None) -> str:
    """Return in a line what a plan is expected to take."""
    if expected.runs == 0 or (expected.seconds is None and expected.cost is None):
        return f"  time and cost unknown: {expected.reason}"
    seconds = None if expected.seconds is None else expected.seconds / min(jobs, max(1, expected.trials))
    time = "unknown time" if seconds is None else f"about {_duration(seconds)}"
    cost = "unknown cost" if expected.cost is None else f"about {expected.cost:.4g} USD"
    limit = "" if budget is None else f" (budget {budget:g} USD)"
    why = f"; {expected.reason}" if expected.reason else ""
    return f"  {time} at {jobs} jobs, {cost}{limit}, by {expected.runs} earlier run(s){why}"


def _duration(seconds: float) -> str:
    """Return a time in the unit that people would use."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 5400 else f"{seconds / 3600:.3g} h"


def show(records: Sequence[Record], document: Record, *, cases: bool) -> None:
    """Print the status of each run and, unless only a summary is asked for, of each case."""
    for record in records:
        say(f"{record['run_id']}: {record['status']}, aggregate {_four(record['aggregate_score'])}")
        for note in record.get("notes", []):
            say(f"  {note}")
    paired = "per_case" in document
    if paired:
        treated, yardstick = LEGS[document.get("axis", Axis.SKILL)]
        added = _four(document["aggregate_delta"], sign="+")
        say(f"{document['suite_id']}: weighted aggregate, {treated} minus {yardstick}: {added}")
        say(f"  {_difference(document['difference'])}")
        for reason in document["reasons"]:
            say(f"  {document['verdict']}: {reason}")
    if cases and paired:
        _print_pairs(records, document)
    elif cases:
        rows = [
            [c["id"], c["status"], c["score"], c.get("trials"), _why(c)] for c in document["case_results"]
        ]
        print_table(("case", "status", "score", "trials", "why"), rows)


def _print_pairs(records: Sequence[Record], document: Record) -> None:
    lost = {c["id"]: _why(c) for r in records for c in r["case_results"] if c["status"] not in DECIDED}
    treated, yardstick = LEGS[document.get("axis", Axis.SKILL)]
    header = ("case", treated, yardstick, f"score {treated}", f"score {yardstick}", "delta", "why")
    rows = [[*_pair(case, document), lost.get(case["case_id"], "")] for case in document["per_case"]]
    print_table(header if lost else header[:-1], rows if lost else [row[:-1] for row in rows])


def _pair(case: Record, document: Record) -> list[Any]:
    """Return case, statuses, scores and delta of a row, of whatever kind the scorecard is."""
    axis = document.get("axis", Axis.SKILL)
    if axis == Axis.CONTEXT:
        legs = case["context_on"], case["context_off"]
        return [
            case["case_id"],
            *(x["status"] for x in legs),
            *(x["score"] for x in legs),
            case["status_delta"],
        ]
    names = ("skill_on", "skill_off") if axis == Axis.SKILL else ("candidate", "baseline")
    values = [case[f"{name}_{field}"] for field in ("status", "score") for name in names]
    return [case["case_id"], *values, case["delta"]]


def _why(case: Record) -> str:
    return "" if case["status"] == Status.PASS else "; ".join(case.get("diagnostics", []))


def _difference(found: Record | None) -> str:
    if found is None:
        return "mean over cases: no case has a usable trial in both arms"
    if found["conf_low"] is None:
        return f"mean over cases {_four(found['estimate'], sign='+')}, no interval: {'; '.join(found['caveats'])}"
    bounds = f"[{found['conf_low']:+.4f}, {found['conf_high']:+.4f}]"
    return f"mean over cases {found['estimate']:+.4f} {bounds} at {found['level']:.0%} ({found['method']})"


def _four(score: float | None, sign: str = "") -> str:
    return "unknown" if score is None else f"{score:{sign}.4f}"
