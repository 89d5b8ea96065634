"""``evalstats export``: trials for other tools, as a table, as Parquet, or as documents of Every Eval Ever."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.options import DEFAULT_DATA, Data, Json, StorePath, print_json, store_path
from evalstats.cli.tables import say
from evalstats.errors import UsageError

if TYPE_CHECKING:
    from evalstats.importers import Found
    from evalstats.store import Store
    from evalstats.trials import Trial


class ExportFormat(StrEnum):
    """What trials can be written as."""

    TABLE = "table"
    PARQUET = "parquet"
    EVERY_EVAL_EVER = "every-eval-ever"


# Columns of a table, by which `import --format table` reads back what they say.
_NAMING = ("suite_id", "arm", "model", "run_id", "case_id", "trial_index")
_TOLD = (
    "attempt", "outcome", "score", "passed", "reason", "archetype", "started_at", "duration_s", "exit_code",
    "tokens_in", "tokens_out", "tokens_cache", "cost", "cost_source", "tool_calls", "stop_reason", "error_class",
    "cached",
)  # fmt: skip
COLUMNS = (*_NAMING, *_TOLD, "scores", "expectations")


def export(
    format: Annotated[ExportFormat, typer.Option("--format", help="What to write.")],
    out: Annotated[Path, typer.Option("--out", help="File of a table, folder of anything else.")],
    suite: Annotated[str | None, typer.Option("--suite", help="Only this suite [default: all].")] = None,
    data: Data = DEFAULT_DATA,
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """Write the trials of the store for other tools.

    A table is read back by `import --format table`, Parquet by `import` and by --store.

    Example: evalstats export --format table --suite solver --out trials.csv
    """
    from evalstats import store as warehouse

    with warehouse.open(store_path(data, store), read_only=True) as opened:
        if suite is not None:
            opened.require(suite)
        written = _WRITERS[format](opened, suite, out)
    if as_json:
        print_json({"format": format, "out": str(out), "written": written})
    else:
        say(f"{out}: {written}")


def _write_table(store: Store, suite: str | None, out: Path) -> str:
    rows = [_row(found) for found in trials_of(store, suite)]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        aside = out.with_name(f".{out.name}.{os.getpid()}.tmp")
        with aside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS, *rows])
        aside.replace(out)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror or error}", path=out) from None
    return f"{len(rows)} trial(s)"


def _write_parquet(store: Store, suite: str | None, out: Path) -> str:
    from evalstats import store as warehouse

    if suite is None:
        warehouse.export_parquet(store, out)
    else:
        warehouse.snapshot(store, out, suite)
    return f"{len(store.runs(suite))} run(s)"


def _write_documents(store: Store, suite: str | None, out: Path) -> str:
    from evalstats.cli.every_eval_ever import documents

    written = 0
    for name, document in documents(store, suite):
        path = out / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n", "utf-8"
            )
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror or error}", path=path) from None
        written += 1
    return f"{written} document(s)"


_WRITERS = {
    ExportFormat.TABLE: _write_table,
    ExportFormat.PARQUET: _write_parquet,
    ExportFormat.EVERY_EVAL_EVER: _write_documents,
}


def trials_of(store: Store, suite: str | None) -> Iterator[Found]:
    """Yield the trials of a store with their runs, by way of the Parquet it would write."""
    from evalstats import importers
    from evalstats import store as warehouse

    with tempfile.TemporaryDirectory(prefix="evalstats-export-") as folder:
        for each in [suite] if suite is not None else store.suites():
            warehouse.snapshot(store, Path(folder) / each, each)
        yield from importers.read([Path(folder)], format="lake")


def _row(found: Found) -> Iterable[Any]:
    trial = found.trial
    told = {name: getattr(trial, name) for name in _TOLD}
    told |= {"model": found.run.logged.model, "started_at": _written(trial)}
    told |= {name: getattr(trial, name) for name in _NAMING if name != "model"}
    told["scores"] = _json(trial.dimension_scores) if trial.dimension_scores else None
    told["expectations"] = _json(_expectations(trial)) if trial.expectations else None
    return ("" if told[name] is None else _cell(told[name]) for name in COLUMNS)


def _written(trial: Trial) -> str | None:
    """Return when a trial began as it was written, in its own zone or in none."""
    if trial.started_at is None or trial.utc_offset in (None, "+00:00"):
        return trial.started_at
    when = datetime.fromisoformat(trial.started_at)
    if trial.utc_offset == "naive":
        return when.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return when.astimezone(datetime.strptime(trial.utc_offset, "%z").tzinfo).isoformat(
        timespec="milliseconds"
    )


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else value


def _expectations(trial: Trial) -> list[dict[str, Any]]:
    fields = ("type", "required", "passed", "detail")
    return [{name: getattr(each, name) for name in fields} for each in trial.expectations]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
