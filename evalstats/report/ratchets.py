"""May this suite block? What the ratchet notebook shows of a readiness record (schema ``ratchet-readiness.v1``).

The record is made by the gate, on the runs that the gate itself would take; here it is only shown. While a report
is built the notebook gets the record that the builder froze beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import contract
from evalstats.errors import ReportError
from evalstats.report import tables
from evalstats.report.material import frame_of
from evalstats.report.tables import Column, Table

if TYPE_CHECKING:
    from evalstats.report.canvas import Figure
    from evalstats.report.provenance import Job

READINESS = "readiness"  # by this parameter a notebook says that it stands on such a record
SCHEMA, FROZEN = "ratchet-readiness.v1", "readiness.json"
_PLACES = (
    "store",
    "suites",
    "policy",
    "gates",
)  # parameters that are no longer needed, and paths of this machine
READY = "READY"
BY_CANARIES = "canaries"
_NO_BAND = "a gate looks at how far the next one drops below their mean"
_LIMITS = {"median_duration_s": "median duration in seconds", "timeout_rate": "timeout rate"}
MET, MISSING, UNKNOWN, UNTOLD = "met", "missing", "not asked", "not known"
# Reasons that have a row of their own. One that is not recognised is shown among the rest: said twice, never lost.
_OWN_ROW = re.compile(
    r"\d+ of the \d+ (clean )?(runs|days) needed|a drop below|monitoring has a confirmed alarm|the level changed"
    r"|the runs drift|critical cases must pass every trial|no run of a critical case"
)


def read(place: str) -> dict[str, Any]:
    """Return the readiness record in a file. Raises DocumentError where it is none."""
    document, text = contract.read_json(Path(place))
    contract.validate(document, SCHEMA, path=Path(place), text=text)
    return dict(document)


def freeze(job: Job, folder: Path) -> Job:
    """Keep the record that the job names in ``folder``, and let the notebook read that and nothing else."""
    named = str(job.parameters[READINESS])
    if not named:
        made = f"`evalstats report {job.name} -p suite=…` makes it, `evalstats ratchet --json` writes it"
        raise ReportError(f"stands on a readiness record: {made}", field=READINESS)
    record = read(named)
    if record["suite"] != job.parameters["suite"]:
        raise ReportError(
            f"is of {record['suite']}, not of {job.parameters['suite']}", path=named, field="suite"
        )
    folder.mkdir()
    (folder / FROZEN).write_text(contract.readable(record), "utf-8")
    values = dict(job.parameters) | {name: "" for name in _PLACES if name in job.parameters}
    values[READINESS] = f"{folder.name}/{FROZEN}"
    return replace(job, parameters=values, inputs={READINESS: contract.canonical_digest(record)})


# --- what is shown -------------------------------------------------------------------------------


def conditions_table(record: Mapping[str, Any]) -> Table:
    """Return what is asked before a suite may block, what is there, and whether that is enough."""
    columns: list[Column | str] = [
        Column("asked", "Asked"),
        Column("there", "There"),
        Column("state", "Is it met?"),
    ]
    rows = frame_of(list(_conditions(record)), ["asked", "there", "state"])
    return Table("conditions", "What is asked, and what is there", rows, columns)


def _conditions(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield _days(record)
    yield from _canaries(record) if record["way"] == BY_CANARIES else _noise(record)
    settled = record["stationarity"]
    alarm = settled["confirmed_alarm"]
    yield _condition("no confirmed alarm", _none_or(alarm), alarm is None)
    yield _condition("no change of level", _none_or(settled["changed_at"]), settled["changed_at"] is None)
    yield _trend(settled)
    for name, limit in record["limits"].items():
        against = [reason for reason in record["reasons"] if reason.startswith(f"{name}:")]
        yield _limit(_LIMITS.get(name, name), limit, against, bool(record["runs"]))
    for reason in others(record):
        yield _condition("nothing else against it", reason, False)


def others(record: Mapping[str, Any]) -> list[str]:
    """Return the reasons that no row of its own stands for: the rest of what the policy and the suite ask."""
    limits = tuple(f"{name}:" for name in record["limits"])
    return [
        reason for reason in record["reasons"] if not (_OWN_ROW.match(reason) or reason.startswith(limits))
    ]


def _days(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the runs lie on enough days, by the nights of the record: a night may begin before midnight."""
    from evalstats.stats.readiness import MIN_DAYS

    lacking, seen = record["more_days"], record["canaries"]
    begun = len({run["started_at"][:10] for run in record["runs"]})
    days = seen["n_days"] if record["way"] == BY_CANARIES and seen else max(begun, MIN_DAYS)
    return _condition(
        f"runs on {MIN_DAYS} days", tables.count(MIN_DAYS - lacking if lacking else days), not lacking
    )


def _noise(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    from evalstats.stats.readiness import MIN_RUNS

    noise, margin = record["noise"], record["margin"]
    yield _condition(
        f"{MIN_RUNS} independent runs", tables.count(noise["n_units"]), noise["n_units"] >= MIN_RUNS
    )
    seen = noise["detectable"]
    there = "not known" if seen is None else f"one of {tables.number(seen)} is seen"
    asked = f"a drop of {margin:g} is seen {tables.percent(record['power'])} of the time"
    # By the reasons, not by the margin: a suite that blocks already stays ready a little beyond it.
    steady = seen is not None and not any(reason.startswith("a drop below") for reason in record["reasons"])
    if steady and seen > margin:
        there += "; a suite that blocks already may lie so close"
    yield _condition(asked, there, steady)
    largest = noise["largest_ready"]
    if largest is not None and noise["spread"] is not None:
        there = f"{tables.number(noise['spread'])}, at most {tables.number(noise['spread_bound'])}"
        asked = f"a sigma of {tables.number(largest)} or less, with {tables.some(noise['n_units'], 'unit')}"
        yield _condition(asked, there, steady)
    if record["canaries"] is not None:
        yield _never_fails(record["canaries"])


def _canaries(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    seen = record["canaries"]
    if seen is None:
        yield _condition("canaries that were run", "none", False)
        return
    needed = seen["clean_runs_needed"]
    yield _condition(
        f"{tables.count(needed)} clean runs", tables.count(seen["n_clean"]), seen["n_clean"] >= needed
    )
    yield _never_fails(seen)


def _never_fails(seen: Mapping[str, Any]) -> dict[str, Any]:
    return _condition("no canary ever fails", ", ".join(seen["failed"]) or "none did", not seen["failed"])


def _limit(name: str, limit: float | None, against: list[str], has_runs: bool) -> dict[str, Any]:
    if limit is None:
        return {"asked": f"{name}: no limit in the policy", "there": tables.missing(), "state": UNKNOWN}
    if not has_runs:
        return {"asked": f"{name} of {limit:g} or less", "there": "no run counts yet", "state": UNTOLD}
    return _condition(f"{name} of {limit:g} or less", against[0] if against else "held", not against)


def _condition(asked: str, there: str, met: bool) -> dict[str, Any]:
    return {"asked": asked, "there": there, "state": MET if met else MISSING}


def _none_or(told: str | None) -> str:
    return "none" if told is None else told[:16].replace("T", " ") if told[:4].isdigit() else told


def _trend(settled: Mapping[str, Any]) -> dict[str, Any]:
    from evalstats.governance.ratchet_evidence import TREND_ALPHA

    tau, p = settled["trend_tau"], settled["trend_p"]
    if tau is None or p is None:
        return {"asked": "no trend", "there": tables.missing(), "state": UNTOLD}
    return _condition("no trend", f"tau {tables.signed(tau)}, p {tables.p_value(p)}", p >= TREND_ALPHA)


def runs_chart(record: Mapping[str, Any]) -> Figure | None:
    """Draw the accepted runs in their order; None where no run counts yet."""
    from evalstats.report.history import run_chart

    if not record["runs"]:
        return None
    rows = [
        {"arm": record["statistic"], "run_id": run["group_id"], "n_cases": None, **run}
        for run in record["runs"]
    ]
    columns = ["arm", "run_id", "n_cases", "group_id", "started_at", "value"]
    unknown = dict.fromkeys(("estimate", "conf_low", "conf_high", "level"))
    band = {"arm": record["statistic"], **unknown, "caveats": [_NO_BAND]}
    return run_chart(
        frame_of(rows, columns),
        frame_of([band], list(band)),
        value="value",
        title="The runs that the gate would stand on",
    )


def blocking_curve(record: Mapping[str, Any]) -> Figure | None:
    """Draw how likely the gate blocks at each true drop: with the noise as measured, and at its upper bound.

    None where the noise is not known, or the gate looks at canaries alone.
    """
    from evalstats.report.operating import operating_curve

    if not record["curve"]:
        return None
    curves = {"as measured": "block", "at the bound": "block_at_bound"}
    return operating_curve(
        {name: [(at["drop"], at[field]) for at in record["curve"]] for name, field in curves.items()},
        margin=record["margin"],
        alpha=record["alpha"],
        power=record["power"],
    )


def curve_table(record: Mapping[str, Any]) -> Table:
    """Return the operating characteristic as numbers."""
    columns = [
        Column("drop", "True drop", "number"),
        Column("block", "Blocks", "percent"),
        Column("block_at_bound", "Blocks, sigma at its bound", "percent"),
    ]
    frame = frame_of(record["curve"], ["drop", "block", "block_at_bound"])
    return Table("curve", "How often the gate would block", frame, columns)
