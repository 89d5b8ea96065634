"""``evalstats import``: logs of other tools into run folders and the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.options import DEFAULT_DATA, Data, Json, StorePath, print_json, store_path
from evalstats.cli.tables import print_table, say
from evalstats.contract import Arm
from evalstats.errors import UsageError

if TYPE_CHECKING:
    from evalstats.importers import FileReport, Options


class OnConflict(StrEnum):
    """Which of two different tellings of one trial counts."""

    ERROR = "error"
    FIRST = "first"
    LAST = "last"


Paths = Annotated[list[Path], typer.Argument(help="Files or folders.", metavar="PATH...")]
Format = Annotated[str, typer.Option("--format", help="auto, or the name of a format.")]
Suite = Annotated[str | None, typer.Option("--suite", help="Name of the suite [default: the log's].")]
ArmOption = Annotated[Arm | None, typer.Option("--arm", help="The arm [default: what the log says].")]
ClusterKey = Annotated[
    str | None, typer.Option("--cluster-key", help="What groups cases, such as metadata.topic.")
]
Metric = Annotated[
    str | None, typer.Option("--metric", help="Which score counts [default: the log's first].")
]
Columns = Annotated[
    str | None,
    typer.Option("--map", help="Columns of a table: case=qid,score=acc.", metavar="FIELD=COLUMN,..."),
]
ScoreRange = Annotated[str, typer.Option("--score-range", help="Where scores lie.", metavar="LOW:HIGH")]


def import_logs(
    paths: Paths,
    format: Format = "auto",
    suite: Suite = None,
    arm: ArmOption = None,
    cluster_key: ClusterKey = None,
    metric: Metric = None,
    columns: Columns = None,
    score_range: ScoreRange = "0:1",
    rescore: Annotated[
        bool, typer.Option("--rescore", help="Score repeats that the log leaves unscored.")
    ] = False,
    allow_truncated: Annotated[
        bool, typer.Option("--allow-truncated", help="Import a log whose last line was cut off.")
    ] = False,
    on_conflict: Annotated[
        OnConflict, typer.Option("--on-conflict", help="When one trial is told twice, differently.")
    ] = OnConflict.ERROR,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and report, write nothing.")] = False,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> int:
    """Read logs of other tools into trials.

    Formats are recognised by content. Importing twice adds nothing; an import that fails leaves nothing behind.
    Exit 1 when a file of a folder was refused, or no trial was found.

    Example: evalstats import logs/ --cluster-key metadata.topic
    """
    from evalstats import importers

    reading = importers.read(
        paths,
        options(
            suite=suite, arm=arm, cluster_key=cluster_key, metric=metric, columns=columns, score_range=score_range,
            rescore=rescore, allow_truncated=allow_truncated, on_conflict=on_conflict,
        ),
        format=None if format == "auto" else format,
        data=data,
    )  # fmt: skip
    added = sum(importers.pour(reading, data, write=not dry_run).values())
    files = reading.files
    del reading  # what it knows of each trial is not needed any more, and the store needs the room
    if not dry_run:
        _ingest(data, store_path(data, store))
    _show(files, added, dry_run=dry_run, as_json=as_json)
    found = any(file.trials or file.duplicates for file in files)
    return 0 if found and not any(file.refused for file in files) else 1


def _ingest(data: Path, store: Path) -> None:
    from evalstats import store as warehouse

    if (data / "runs").is_dir():
        warehouse.ingest(store, data / "runs")


def options(*, columns: str | None = None, score_range: str = "0:1", **rest: Any) -> Options:
    """Return how logs are to be read, from what was typed."""
    from evalstats.importers import Options

    pairs = [pair.split("=", 1) for pair in columns.split(",")] if columns else []
    if any(len(pair) != 2 or not pair[0] for pair in pairs):
        raise UsageError("must be FIELD=COLUMN, several with commas", field="--map")
    try:
        low, high = (float(bound) for bound in score_range.split(":"))
    except ValueError:
        raise UsageError("must be LOW:HIGH, such as 0:100", field="--score-range") from None
    return Options(columns=dict(pairs), score_range=(low, high), **rest)


def _show(files: list[FileReport], added: int, *, dry_run: bool, as_json: bool) -> None:
    known = [file for file in files if file.format]
    if as_json:
        print_json({"files": [file.as_record() for file in files], "totals": _totals(files, added)})
        return
    header = ("file", "format", "suite", "cases", "trials", "dup", "statuses")
    print_table(header, [_row(file) for file in known])
    for file in files:
        for note in _notes(file):
            say(f"{file.path}: {note}")
    others = Counter(
        Path(file.path).suffix or "no suffix" for file in files if not file.format and not file.refused
    )
    if others:
        kinds = ", ".join(f"{count} {suffix}" for suffix, count in sorted(others.items()))
        say(f"left out, of no known format: {kinds}")
    would, totals = "would be new" if dry_run else "new", _totals(files, added)
    statuses = _counted(totals["statuses"])
    say(
        f"{totals['trials']} trial(s) in {len(known)} file(s), {added} {would}{statuses and f' ({statuses})'}"
    )


def _row(file: FileReport) -> tuple[Any, ...]:
    name, suites, statuses = Path(file.path).name, ", ".join(file.suites), _counted(+file.statuses)
    return name, file.format, suites, file.cases, file.trials, file.duplicates, statuses


def _counted(statuses: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(statuses.items()))


def _notes(file: FileReport) -> list[str]:
    if file.refused:
        return [f"refused: {file.why}"]
    if file.format is None:
        return []
    differences = [
        f"the log says {d.name} {d.declared:.17g}, its rows say "
        + ("nothing of it" if d.recomputed is None else f"{d.recomputed:.17g}")
        for d in file.declared
        if not d.agrees
    ]
    return [f"read as {file.format}: {file.why}", *differences, *file.warnings]


def _totals(files: list[FileReport], added: int) -> dict[str, Any]:
    statuses: Counter[str] = Counter()
    for file in files:
        statuses.update(+file.statuses)
    return {
        "files": len(files),
        "recognised": sum(file.format is not None for file in files),
        "refused": sum(file.refused for file in files),
        "trials": sum(file.trials for file in files),
        "added": added,
        "duplicates": sum(file.duplicates for file in files),
        "statuses": dict(sorted(statuses.items())),
    }
