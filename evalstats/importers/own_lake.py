"""A folder of Parquet as ``export --format parquet`` writes it: the runs stay what they are, id and all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from evalstats.contract import Arm, ExpectationType, Isolation, Outcome, Status
from evalstats.importers.cells import columns_of, parquet_rows
from evalstats.importers.logs import Log
from evalstats.importers.own_journal import row_of, run_of
from evalstats.importers.rows import Item, LoggedRun, Options
from evalstats.trials import ExpectationResult, Trial, timestamp

NAME = "lake"
_TABLES = ("runs", "cases", "expectations", "dimension_scores")
_WORDS: tuple[tuple[str, Any], ...] = (
    ("arm", Arm), ("status", Status), ("outcome", Outcome), ("isolation", Isolation),
)  # fmt: skip
_PLAIN = (
    "run_id", "group_id", "arm", "axis", "mode", "seed", "registry_version", "cli_version", "model",
    "judge_model", "judge_rubric_sha256", "is_mock", "trials_per_case",
)  # fmt: skip
_HASHES = ("canonical", "scoring", "policy")
_STREAMS = ("stdout", "stderr", "transcript")


def sniff(log: Log) -> str | None:
    """Recognise the columns of our table of trials, and files of the other tables by where they lie."""
    columns = set(columns_of(log)) if log.head.startswith(b"PAR1") else set()
    if {"trial_key", "case_id", "outcome"} <= columns:
        return "trials of a lake"
    lake = _lake(log)
    return f"the {lake[1]} of a lake" if columns and lake is not None and lake[1] in _TABLES else None


def read(log: Log, options: Options) -> Iterator[Item]:
    """Yield the trials of one file; the other tables of the lake are read along with it."""
    lake = _lake(log)
    if lake is None:
        raise log.error("lies in no lake: its runs, which it needs, are not beside it")
    folder, table = lake
    if table != "trials":
        yield LoggedRun(suite="lake", key=("lake", log.sha256), created_at="1970-01-01T00:00:00Z"), None
        return
    runs: dict[str, LoggedRun] = {}
    beside: dict[str, _Beside] = {}
    for number, found in parquet_rows(log):
        run_id = str(found["run_id"])
        if run_id not in beside:
            beside[run_id] = _Beside(log, folder, run_id)
        trial = _trial(log, number, found, beside[run_id])
        if run_id not in runs:
            runs[run_id] = run_of(log, trial, beside[run_id].manifest, options)
        yield runs[run_id], row_of(trial, f"row {number}", runs[run_id])


def _lake(log: Log) -> tuple[Path, str] | None:
    """Return the folder of the lake that a file lies in, and the table it is of."""
    path = log.path.resolve()
    for folder in path.parents:
        if (folder / "lake.json").is_file():
            return folder, path.relative_to(folder).parts[0]
    return None


class _Beside:
    """What the other tables say of one run: its manifest, and the expectations and dimensions of its trials."""

    def __init__(self, log: Log, folder: Path, run_id: str) -> None:
        self.expectations: dict[str, list[ExpectationResult]] = defaultdict(list)
        self.dimensions: dict[str, dict[str, float | None]] = defaultdict(dict)
        run = next(_rows(folder, "runs", run_id), None)
        if run is None:
            raise log.error(f"run {run_id} is not among the runs of this lake")
        hashes = {found["case_id"]: found["case_hash"] for found in _rows(folder, "cases", run_id)}
        self.manifest: Mapping[str, Any] = _manifest(run, hashes)
        for found in _rows(folder, "expectations", run_id):
            self.expectations[found["trial_key"]].append(
                ExpectationResult(
                    index=found["idx"],
                    type=ExpectationType(found["type"]),
                    required=found["required"],
                    passed=found["passed"],
                    detail=found["detail"],
                )
            )
        for found in _rows(folder, "dimension_scores", run_id):
            self.dimensions[found["trial_key"]][found["dimension"]] = found["score"]


def _manifest(run: Mapping[str, Any], case_hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest of a run, as far as the lake keeps it: its columns where they came from."""
    whole: dict[str, Any] = {name: run[name] for name in _PLAIN if run.get(name) is not None}
    suite = {
        name: run[f"suite_{name}"]
        for name in ("id", "path", "sha256")
        if run.get(f"suite_{name}") is not None
    }
    suite |= {name: run[name] for name in ("tier", "visibility") if run.get(name) is not None}
    hashes = {name: run[f"suite_{name}"] for name in _HASHES if run.get(f"suite_{name}") is not None}
    whole["suite"] = suite | ({"hashes": hashes} if hashes else {})
    if run.get("runtime") is not None:
        whole["runtime"] = {"name": run["runtime"]}
    return whole | {
        "created_at": timestamp(run["created_at"].replace(tzinfo=UTC)),
        "cases": list(case_hashes),
        "case_hashes": dict(case_hashes),
    }


def _rows(folder: Path, table: str, run_id: str) -> Iterator[dict[str, Any]]:
    for place in sorted((folder / table).glob("run_id=*")):
        if unquote(place.name.partition("=")[2]) == run_id:
            for path in sorted(place.rglob("*.parquet")):
                yield from (found for _, found in parquet_rows(Log(path)))


def _trial(log: Log, number: int, found: Mapping[str, Any], beside: _Beside) -> Trial:
    key = found["trial_key"]
    known = {name: found[name] for name in Trial.__slots__ if name in found}
    known |= {name: kind(found[name]) for name, kind in _WORDS if found.get(name) is not None}
    known |= {
        name: tuple(found[name]) for name in ("cited_cards", "cited_recipes") if found.get(name) is not None
    }
    if found.get("started_at") is not None:
        known["started_at"] = timestamp(found["started_at"].replace(tzinfo=UTC))
    trial = Trial(
        **known,
        dimension_scores=beside.dimensions.get(key, {}),
        expectations=tuple(sorted(beside.expectations.get(key, ()), key=lambda each: each.index)),
        artifacts={
            name: found[f"{name}_sha256"] for name in _STREAMS if found.get(f"{name}_sha256") is not None
        },
    )
    if trial.key != key:
        raise log.error("the key is not that of its run, case, arm and trial", field=f"row {number}")
    return trial
