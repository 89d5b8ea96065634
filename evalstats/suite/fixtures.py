"""The files a suite stands on: where they are named, whether they may be used, what they hold."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import Problem
from evalstats.suite.model import Suite, faulty

_SAFE_SEGMENT = re.compile(r"[A-Za-z0-9._ @+=,-]{1,200}")


def named_files(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return (pointer to the path, fixture) for each file the suite stands on; a rubric is one of them."""
    files = fixtures_of(document, "")
    for index, case in enumerate(document["cases"]):
        files += fixtures_of(case, f"/cases/{index}")
    rubric = document.get("judge", {}).get("rubric")
    return files + ([("/judge/rubric", {"path": rubric})] if rubric else [])


def fixtures_of(owner: dict[str, Any], pointer: str) -> list[tuple[str, dict[str, Any]]]:
    """Return (pointer to the path, fixture) for the fixtures of a suite or of a case."""
    return [(f"{pointer}/fixtures/{i}/path", fixture) for i, fixture in enumerate(owner.get("fixtures", []))]


def arm_files(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (pointer, path) for each file or folder that an arm brings with it."""
    return [
        (f"/arms/{arm}/files/{i}", name)
        for arm, section in document.get("arms", {}).items()
        for i, name in enumerate(section.get("files", ()))
    ]


def is_inside_path(path: str) -> bool:
    """Return whether ``path`` is a plain relative POSIX path that cannot leave its root by its text."""
    parts = path.split("/")
    return all(part not in ("", ".", "..") and _SAFE_SEGMENT.fullmatch(part) for part in parts)


def fixture_problems(suite: Suite) -> list[Problem]:
    """Return a problem for every fixture that is missing, outside the repository or changed."""
    found = []
    for pointer, fixture in named_files(suite.document):
        if fault := _fixture_fault(suite.root, fixture):
            said = f"fixture {fixture['path']!r} {fault}, seen from {suite.root}"
            found.append(Problem(pointer, said, rule=f"the file {fault}"))
    return found


def check_fixtures(suite: Suite) -> None:
    """Raise SuiteError naming every fixture that is missing, outside the repository or changed."""
    if found := fixture_problems(suite):
        raise faulty(suite, found)


def _fixture_fault(root: Path, fixture: dict[str, Any]) -> str | None:
    path = root / fixture["path"]
    if not Path(os.path.realpath(path)).is_relative_to(root):  # Path.resolve fails on a loop of links
        return "is a link that leaves the repository"
    if not path.is_file():
        return "is missing" if fixture.get("required", True) else None
    if "sha256" in fixture and fixture["sha256"] != file_digest(path):
        return "is not the file its sha256 names"
    return None


def tree_digest(path: Path) -> str | None:
    """Return the digest of a file's bytes, or of all that a folder holds; None where there is neither."""
    if not path.is_dir():
        return file_digest(path)
    inside = sorted(below for below in path.rglob("*") if below.is_file())
    return contract.canonical_digest({b.relative_to(path).as_posix(): file_digest(b) for b in inside})


def file_digest(path: Path) -> str | None:
    """Return the digest of a file's bytes; None where there is no file."""
    return contract.digest(path.read_bytes()) if path.is_file() else None
