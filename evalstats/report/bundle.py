"""Where reports lie, how a version is published whole or not at all, and the chain that binds the versions.

A subject has a folder ``<reports>/<notebook>/<subject>/``. In it lie its versions, ``<NNNN>-<hash12>/`` (or
``<NNNN>-failed-<hash12>/``), and beside them ``chain.jsonl``: one line a version, with the digests of its
manifest and of its run record and of the line before. Whoever changes or removes a version breaks the chain.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import ReportError
from evalstats.journal import sync_folder, write_synced

MANIFEST, REPORT, RUN, CHAIN = "manifest.json", "report.json", "run.json", "chain.jsonl"
VERSION = re.compile(r"(\d{4,})-(failed-)?([0-9a-f]{12})")


@dataclass(frozen=True, slots=True)
class Version:
    """One published version of a report."""

    notebook: str
    subject: str
    version: str
    status: str
    path: Path

    def as_record(self) -> dict[str, str]:
        """Return the fields as JSON holds them."""
        return asdict(self) | {"path": str(self.path)}


def list_reports(root: Path) -> list[Version]:
    """Return every version under ``root``, by notebook and subject, oldest first."""
    found = [_version(folder) for folder in root.glob("*/*/*") if VERSION.fullmatch(folder.name)]
    return sorted(found, key=lambda v: (v.notebook, v.subject, _number(v.version)))


def latest(root: Path, notebook: str, subject: str) -> Path:
    """Return the newest version of a report; a failed one is never the latest. Raises ReportError."""
    good = [folder for folder in versions(root / notebook / subject) if "failed" not in folder.name]
    if not good:
        known = sorted({f"{v.notebook}/{v.subject}" for v in list_reports(root) if v.status == "ok"})
        raise ReportError(
            f"no report {notebook}/{subject} here; known: {', '.join(known) or 'none'}", path=root
        )
    return good[-1]


def resolve(root: Path, reference: str) -> Path:
    """Return the version that ``reference`` names: a folder, ``NOTEBOOK/SUBJECT`` or ``NOTEBOOK/SUBJECT/VERSION``.

    ``latest`` may stand for the version. Raises ReportError.
    """
    place = Path(reference)
    if any((place / name).exists() for name in (MANIFEST, REPORT, RUN)):  # damaged or not, it is meant
        return place
    notebook, _, rest = reference.strip("/").partition("/")
    subject, _, version = rest.partition("/")
    if not subject or not all(_is_name(part) for part in (notebook, subject, *filter(None, [version]))):
        raise ReportError(
            f"{reference!r} is no report; give a folder, or NOTEBOOK/SUBJECT[/VERSION]", path=root
        )
    if version in ("", "latest"):
        return latest(root, notebook, subject)
    return _exactly(root, notebook, subject, version)


def read_report(folder: Path) -> dict[str, Any]:
    """Return the report.json of a version. Raises ReportError where there is none, DocumentError if damaged."""
    path = folder / REPORT
    if not path.is_file():
        raise ReportError(f"no {REPORT} here; give a report version", path=folder)
    return parse_report(contract.read_bytes(path), path)


def parse_report(raw: bytes, path: Path) -> dict[str, Any]:
    """Return the valid report that the bytes of ``path`` hold. Raises DocumentError."""
    document, text = contract.parse_bytes(raw, path)
    contract.validate(document, "report.v1", path=path, text=text)
    return dict(document)


def _exactly(root: Path, notebook: str, subject: str, version: str) -> Path:
    folders = versions(root / notebook / subject)
    named = [folder for folder in folders if folder.name == version or folder.name.startswith(f"{version}-")]
    if len(named) != 1:
        known = ", ".join(folder.name for folder in folders[-5:]) or "none"
        problem = "names several versions" if named else "is no version of this report"
        raise ReportError(f"{version} {problem}; the newest: {known}", path=root / notebook / subject)
    return named[0]


def versions(subject: Path) -> list[Path]:
    """Return the version folders of a subject, oldest first."""
    found = [entry for entry in subject.glob("*") if VERSION.fullmatch(entry.name) and entry.is_dir()]
    return sorted(found, key=lambda folder: (_number(folder.name), folder.name))


def _version(folder: Path) -> Version:
    status = "ok"
    if "failed" in folder.name:
        status = "failed"
        with contextlib.suppress(OSError, ValueError, KeyError):  # a damaged manifest is verify's business
            status = str(json.loads((folder / MANIFEST).read_text("utf-8"))["status"])
    return Version(folder.parent.parent.name, folder.parent.name, folder.name, status, folder)


def _number(version: str) -> int:
    return int(version.partition("-")[0])


def _is_name(text: str) -> bool:
    pattern = contract.schema("words.v1")["$defs"]["name"]["pattern"]
    return re.fullmatch(pattern, text) is not None


def check_name(what: str, text: str) -> str:
    """Return ``text``, or raise ReportError when it cannot name a notebook or a subject."""
    if not _is_name(text):
        raise ReportError(f"{what} {text!r}: use lower-case letters, digits, dots, dashes and underscores")
    return text


# --- publishing ----------------------------------------------------------------------------------


def seal(manifest: dict[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the manifest with the digests of its files and, over all of that, its content hash."""
    listed = {name: {"sha256": contract.digest(data), "bytes": len(data)} for name, data in files.items()}
    whole = {**manifest, "files": listed}
    return {**whole, "content_hash": contract.canonical_digest(whole)}


def publish(
    subject: Path, manifest: dict[str, Any], files: Mapping[str, bytes], run: Mapping[str, Any]
) -> tuple[Path, bool]:
    """Publish a sealed version; return its folder and whether it was there already.

    Readers see the version whole or not at all. Raises ReportError when the disk refuses.
    """
    content_hash = manifest["content_hash"]
    try:
        subject.mkdir(parents=True, exist_ok=True)
        with _locked(subject):
            there = [f for f in versions(subject) if f.name.endswith(f"-{content_hash[:12]}")]
            folder = there[0] if there else _place(subject, manifest, files, run)
            if folder.name not in {line["version"] for line in _chain(subject)}:
                _append(subject, folder)  # also for a version whose builder was killed before this line
    except OSError as error:
        raise ReportError(f"cannot be written: {error.strerror or error}", path=subject) from None
    return folder, bool(there)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time publish under ``folder``."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _place(
    subject: Path, manifest: dict[str, Any], files: Mapping[str, bytes], run: Mapping[str, Any]
) -> Path:
    mark = "" if manifest["status"] == "ok" else "failed-"
    taken = [_number(folder.name) for folder in versions(subject)]
    taken += [_number(line["version"]) for line in _chain(subject)]
    folder = subject / f"{max(taken, default=0) + 1:04d}-{mark}{manifest['content_hash'][:12]}"
    aside = subject / f".{folder.name}.{os.getpid()}.tmp"
    shutil.rmtree(aside, ignore_errors=True)
    record = (json.dumps(dict(run), sort_keys=True, indent=1) + "\n").encode()
    try:
        for name, data in {**files, MANIFEST: contract.canonical(manifest), RUN: record}.items():
            _write(aside, name, data)
        sync_folder(aside)
        aside.rename(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    sync_folder(subject)
    return folder


def _write(root: Path, name: str, data: bytes) -> None:
    path = root / name
    for folder in (root, path.parent):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
    with path.open("xb") as file:
        os.fchmod(file.fileno(), 0o644)  # whatever the caller's umask: a report is to be read
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if path.parent != root:
        sync_folder(path.parent)


# --- the chain -----------------------------------------------------------------------------------


def _append(subject: Path, folder: Path) -> None:
    path = subject / CHAIN
    before = path.read_bytes() if path.exists() else b""
    lines = before.splitlines()
    record = {
        "version": folder.name,
        "manifest_sha256": contract.digest((folder / MANIFEST).read_bytes()),
        "run_sha256": contract.digest((folder / RUN).read_bytes()),
        "previous": contract.digest(lines[-1]) if lines else None,
    }
    record["self"] = contract.canonical_digest(record)
    write_synced(path, before + contract.canonical(record) + b"\n")
    path.chmod(0o644)


def _chain(subject: Path) -> list[dict[str, Any]]:
    lines, problems = read_chain(subject)
    if problems:
        raise ReportError(f"{problems[0]}; nothing is added to a broken chain", path=subject / CHAIN)
    return lines


def read_chain(subject: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the lines of a subject's chain, and what is wrong with it."""
    path = subject / CHAIN
    raw = path.read_bytes() if path.is_file() else b""
    *whole, tail = raw.split(b"\n")
    problems = ["the last line is torn"] if tail else []
    lines: list[dict[str, Any]] = []
    previous = None
    for number, line in enumerate(whole, 1):
        record, problem = _read_line(line, previous)
        problems += [f"line {number} {problem}"] if problem else []
        lines += [record] if record else []
        previous = contract.digest(line)
    return lines, problems


def _read_line(line: bytes, previous: str | None) -> tuple[dict[str, Any] | None, str]:
    try:
        record = json.loads(line)
        body = {key: value for key, value in record.items() if key != "self"}
        sound = contract.canonical(record) == line and record["self"] == contract.canonical_digest(body)
        if not sound or not VERSION.fullmatch(record["version"]):
            return None, "is not what was written"
    except Exception:  # any bytes may stand here
        return None, "is not what was written"
    return record, "" if record["previous"] == previous else "does not follow the line before it"
