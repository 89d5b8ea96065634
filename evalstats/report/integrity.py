"""Is a published report still what was published? Every file, the manifest, and the chain of its subject."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from evalstats import contract
from evalstats.errors import ReportError
from evalstats.report import bundle

Read: TypeAlias = Callable[[Path], bytes]


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference: which file (relative to the folder of the version), and what is wrong with it."""

    file: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}"


def verify(path: Path) -> list[Finding]:
    """Return every difference between a version and what was published; none means intact.

    This finds accidents and edits, not a forger who rewrites the whole chain: against him there is `signing`.
    """
    return _findings(Path(path).resolve(), Path.read_bytes)


def read_verified(path: Path) -> tuple[dict[str, Any], str]:
    """Return the report of an intact version, and the digest of its manifest.

    Every file is read once: the report returned is made of the very bytes that were verified. Raises ReportError
    naming the first difference.
    """
    folder, read = Path(path).resolve(), functools.cache(Path.read_bytes)
    findings = _findings(folder, read)
    if findings:
        raise ReportError(f"the report is not what was published: {findings[0]}", path=path)
    report = bundle.parse_report(read(folder / bundle.REPORT), path / bundle.REPORT)
    return report, contract.digest(read(folder / bundle.MANIFEST))


def _findings(folder: Path, read: Read) -> list[Finding]:
    manifest, findings = _manifest(folder, read)
    if manifest is not None:
        findings += _files(folder, manifest["files"], read)
        findings += _address(folder, manifest)
    return findings + list(_chain(folder, read))


def _manifest(folder: Path, read: Read) -> tuple[dict[str, Any] | None, list[Finding]]:
    path = folder / bundle.MANIFEST
    try:
        raw = read(path)
        manifest = json.loads(raw)
        body = {key: value for key, value in manifest.items() if key != "content_hash"}
        sound = contract.canonical(manifest) == raw and manifest["content_hash"] == contract.canonical_digest(
            body
        )
        entries = {str(name): (entry["sha256"], entry["bytes"]) for name, entry in manifest["files"].items()}
    except OSError:
        return None, [Finding(bundle.MANIFEST, "is missing or cannot be read")]
    except Exception:  # any bytes may stand here
        return None, [Finding(bundle.MANIFEST, "is not what was published")]
    if not sound:
        return None, [Finding(bundle.MANIFEST, "does not match its content hash")]
    return {**manifest, "files": entries}, []


def _files(folder: Path, expected: dict[str, tuple[str, int]], read: Read) -> list[Finding]:
    findings = []
    there = set(_walk(folder))
    for name, (sha256, size) in sorted(expected.items()):
        path = folder / name
        if name not in there:
            findings.append(Finding(name, "is missing"))
        elif path.is_symlink() or not path.is_file():
            findings.append(Finding(name, "is not a plain file"))
        elif path.stat().st_size != size or contract.digest(read(path)) != sha256:
            findings.append(Finding(name, "is not what was published"))
    known = {*expected, bundle.MANIFEST, bundle.RUN}
    return findings + [Finding(name, "was not published") for name in sorted(there - known)]


def _walk(folder: Path) -> Iterator[str]:
    """Yield every file and link under ``folder``, and folders that hold nothing, relative to it."""
    for root, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(root) / name).is_symlink()]
        for name in (*files, *links):
            yield (Path(root) / name).relative_to(folder).as_posix()
        if not folders and not files and Path(root) != folder:
            yield Path(root).relative_to(folder).as_posix()


def _address(folder: Path, manifest: dict[str, Any]) -> Iterator[Finding]:
    match = bundle.VERSION.fullmatch(folder.name)
    failed = manifest.get("status") != "ok"
    if match is None or match[3] != manifest["content_hash"][:12] or bool(match[2]) is not failed:
        yield Finding(".", "the name of the folder is not that of its content")


def _chain(folder: Path, read: Read) -> Iterator[Finding]:
    name = f"../{bundle.CHAIN}"
    lines, problems = bundle.read_chain(folder.parent)
    yield from (Finding(name, problem) for problem in problems)
    mine = [line for line in lines if line["version"] == folder.name]
    if len(mine) != 1:
        yield Finding(name, "names this version twice" if mine else "does not name this version")
    for line in mine[:1]:
        for file, field in ((bundle.MANIFEST, "manifest_sha256"), (bundle.RUN, "run_sha256")):
            if _digest(folder / file, read) != line[field]:
                yield Finding(file, "is not the one that the chain names")
    named = {line["version"] for line in lines}
    there = {entry.name for entry in bundle.versions(folder.parent)}
    yield from (
        Finding(f"../{version}", "is named by the chain but gone") for version in sorted(named - there)
    )
    yield from (
        Finding(f"../{v}", "is not named by the chain") for v in sorted(there - named - {folder.name})
    )


def _digest(path: Path, read: Read) -> str | None:
    return contract.digest(read(path)) if path.is_file() and not path.is_symlink() else None
