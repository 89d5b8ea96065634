"""What a report stands on: its manifest, the rows of provenance on its page, and the record of the build."""

from __future__ import annotations

import functools
import platform
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import evalstats
from evalstats import contract
from evalstats.report import page
from evalstats.report.evidence import Evidence
from evalstats.report.kernel import Outcome
from evalstats.report.parameters import Scalar
from evalstats.trials import timestamp

PACKAGES = (
    "altair duckdb ipykernel jinja2 nbclient numpy pandas papermill pyarrow scipy statsmodels vl-convert-python"
).split()
_PAGE = (".j2", ".css", ".js")
_CODE = (".py", ".sql", *_PAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One notebook about to run: its bytes, its parameters, the digests of what it will read, and the evidence."""

    name: str
    source: bytes
    parameters: dict[str, Scalar]
    inputs: dict[str, str] = field(default_factory=dict)
    suite_hashes: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)


def manifest(job: Job, subject: str, document: Mapping[str, Any] | None, status: str) -> dict[str, Any]:
    """Return what identifies a report: the same content gives the same manifest, anywhere and at any time."""
    return {
        "schema": "report-manifest.v1",
        "status": status,
        "notebook": {"name": job.name, "sha256": contract.digest(job.source)},
        "subject": subject,
        "parameters": job.parameters,
        "seed": job.parameters.get("seed"),
        "inputs": job.inputs,
        "suite_scoring": list(job.suite_hashes),
        "template_sha256": _tree_digest(page.TEMPLATES, _PAGE),
        "code_sha256": _tree_digest(Path(evalstats.__path__[0]), _CODE),
        "python": platform.python_version(),
        "packages": _package_versions(),
        "visibility": document["data"].get("visibility") if document else None,
    }


@functools.cache
def _tree_digest(root: Path, kinds: tuple[str, ...]) -> str:
    files = sorted(path for path in root.rglob("*") if path.suffix in kinds and path.is_file())
    return contract.canonical_digest(
        [[f.relative_to(root).as_posix(), contract.digest(f.read_bytes())] for f in files]
    )


@functools.cache
def _package_versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in PACKAGES}


def origin(
    sealed: Mapping[str, Any], document: Mapping[str, Any] | None, files: Mapping[str, bytes]
) -> list[page.Fact]:
    """Return the rows of provenance on the page. The content hash is not among them: it covers the page itself."""
    facts: list[page.Fact] = [
        ("Notebook", f"{sealed['notebook']['name']} · {sealed['notebook']['sha256']}"),
        ("Parameters", [f"{name} = {value!r}" for name, value in sealed["parameters"].items()]),
        ("Inputs", [f"{name} · {sha256}" for name, sha256 in sealed["inputs"].items()]),
        ("Suite (scoring hash)", sealed["suite_scoring"]),
        ("Lock", _lock(document)),
        ("Runs", list(dict.fromkeys(run["run_id"] for run in document["series"])) if document else []),
        ("Numbers", f"report.json · {contract.digest(files['report.json'])}" if document else ""),
        (
            "Code and page",
            [f"evalstats · {sealed['code_sha256']}", f"templates · {sealed['template_sha256']}"],
        ),
        (
            "Versions",
            [f"python {sealed['python']}", *(f"{n} {v}" for n, v in sealed["packages"].items())],
        ),
    ]
    return [(label, text) for label, text in facts if text]


def _lock(document: Mapping[str, Any] | None) -> list[str]:
    lock = document["data"].get("lock") if document else None
    if not lock:
        return []
    return [
        f"{lock['name']} · {lock['sha256']}",
        *(f"candidate, left out: {case}" for case in lock["candidates"]),
    ]


def run_record(started: float, outcome: Outcome) -> dict[str, Any]:
    """Return what differs from build to build: kept beside the report, outside its content hash."""
    return {
        "started_at": timestamp(datetime.fromtimestamp(started, UTC)),
        "finished_at": timestamp(),
        "duration_s": round(time.time() - started, 3),
        "host": socket.gethostname(),
        "kernel": outcome.kernel,
        "status": outcome.status,
    }
