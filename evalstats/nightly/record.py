"""What is known of a night: one file a date, written anew after every step, read by whoever comes back to it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.contract import Status
from evalstats.errors import EvalstatsError, JournalError
from evalstats.journal import write_synced

SCHEMA = "night.v1"
REGRESSION, CANNOT, INCONCLUSIVE, FINE = 1, 3, 4, 0
WORST_FIRST = (REGRESSION, CANNOT, INCONCLUSIVE, FINE)
# What a suite without a policy ends with: it is held to its own thresholds.
_OF_STATUS = {Status.PASS: FINE, Status.FAIL: REGRESSION, Status.INCONCLUSIVE: INCONCLUSIVE}


class Step(StrEnum):
    """The steps of a night, in their order."""

    RUN = "run"
    INGEST = "ingest"
    REPORTS = "reports"
    GATE = "gate"
    SITE = "site"  # once for all suites, when the night is done


class NightError(EvalstatsError):
    """The night cannot be made: its date is wrong, or another process is at it. Whoever runs it acts."""

    exit_code = CANNOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where things lie. ``history`` is a folder that outlives the machine: past nights, decisions, Parquet."""

    data: Path
    store: Path
    reports: Path
    suites: Path = Path("evals")
    history: Path | None = None

    @property
    def site(self) -> Path:
        """Return the folder of the dashboard."""
        return (self.history or self.data) / "site"

    @property
    def holdouts(self) -> Path:
        """Return the folder of what was published of private suites."""
        return (self.history or self.data) / "holdouts"

    @property
    def nights(self) -> Path:
        """Return the folder of the records of nights."""
        return (self.history or self.data) / "nights"

    @property
    def gates(self) -> Path:
        """Return the folder of the decisions of gates."""
        return (self.history or self.data) / "gates"

    @property
    def lake(self) -> Path | None:
        """Return the folder of Parquet that holds all nights, where one is kept."""
        return None if self.history is None else self.history / "lake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What is known of one suite in a night.

    Parameters
    ----------
    suite, tier : str
        Which suite.
    gated : bool
        Whether a policy judges it; else it is held to its own thresholds.
    blocks : bool
        Whether what comes of it counts for the exit code; an advisory suite is only told of.
    looks : int
        How many runs the night wants of it.
    runs : tuple of dict
        The complete runs: ``group_id``, ``runs`` (run id, arm, status, aggregate), ``n_trials``, ``n_lost``.
    ingested : bool
        Whether these are in the store.
    report : str, optional
        The version that tells of them.
    page : str, optional
        The version of the morning's page; ``page_error`` says why there is none.
    judged : dict, optional
        The verdict, as of schema ``gate-result.v1``.
    error : str, optional
        What kept a step from being done; a later call tries again.
    seconds : dict
        How long each step took.
    """

    suite: str
    tier: str
    gated: bool
    blocks: bool
    looks: int = 1
    runs: tuple[dict[str, Any], ...] = ()
    ingested: bool = False
    report: str | None = None
    page: str | None = None
    page_error: str | None = None
    judged: dict[str, Any] | None = None
    error: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def found(self) -> int:
        """Return the exit code of the suite by itself, whether it counts or not."""
        if self.error is not None:
            return CANNOT
        if self.judged is not None:
            return int(self.judged["exit_code"])
        statuses = [Status(each["status"]) for each in self.runs[-1]["runs"]] if self.runs else []
        lost = {Status.ERROR, Status.SKIPPED} & set(statuses)
        if self.gated:  # not judged: a failing case is for the gate to weigh
            return CANNOT if lost else FINE
        return worst(CANNOT if status in lost else _OF_STATUS[status] for status in statuses)

    @property
    def exit_code(self) -> int:
        """Return what the suite adds to the exit code of the night."""
        return self.found if self.blocks else FINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night: its date, whether that was set by hand, and each suite."""

    date: str
    simulated: bool
    began_at: str
    ended_at: str | None = None
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Return the worst exit code of the suites that count."""
        return worst(part.exit_code for part in self.parts.values())

    def as_record(self) -> dict[str, Any]:
        """Return the night as its file holds it."""
        suites = {
            name: {**asdict(part), "runs": list(part.runs), "exit_code": part.exit_code}
            for name, part in sorted(self.parts.items())
        }
        told = {name: getattr(self, name) for name in ("date", "simulated", "began_at", "ended_at")}
        return {"schema": SCHEMA, **told, "exit_code": self.exit_code, "suites": suites}


def worst(codes: Iterator[int]) -> int:
    """Return the worst of some exit codes: a regression, then what cannot be judged, then an open answer."""
    said = set(codes) | {FINE}
    return next(code for code in WORST_FIRST if code in said)


def read(folder: Path, date: str) -> Night | None:
    """Return the record of a date; None when there is none. Raises DocumentError for a file that is none."""
    path = folder / f"{date}.json"
    return _read(path) if path.is_file() else None


def read_all(folder: Path) -> list[Night]:
    """Return every night on record, oldest first."""
    return [_read(path) for path in sorted(folder.glob("[0-9]*.json"))]


def write(folder: Path, night: Night) -> None:
    """Bring the record of a night to disk, whole or not at all."""
    record = night.as_record()
    _validate(record, folder / f"{night.date}.json")
    write_synced(folder / f"{night.date}.json", contract.readable(record).encode())


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep other processes from making a night here meanwhile. Raises NightError when one does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise JournalError(f"cannot be made: {error.strerror}", path=folder) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        busy = "another process is making a night here; the same command goes on when it has ended"
        raise NightError(busy, path=folder) from None
    finally:
        os.close(descriptor)


def _read(path: Path) -> Night:
    document, text = contract.read_json(path)
    _validate(document, path, text)
    parts = {name: _part(told) for name, told in document["suites"].items()}
    return Night(
        parts=parts, **{name: document[name] for name in ("date", "simulated", "began_at", "ended_at")}
    )


def _validate(document: Any, path: Path, text: str | None = None) -> None:
    contract.validate(document, SCHEMA, path=path, text=text)
    for part in document["suites"].values():
        if part["judged"] is not None:
            contract.validate(part["judged"], part["judged"]["schema"], path=path)


def _part(told: Mapping[str, Any]) -> Part:
    known = {each.name: told[each.name] for each in fields(Part) if each.name in told}
    return Part(**{**known, "runs": tuple(told["runs"])})
