"""What an audit reads: every suite document and every baseline file, as far as each can be read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats import suite as suites
from evalstats.contract import Visibility
from evalstats.errors import DocumentError, SuiteError
from evalstats.governance import baselines as promoted
from evalstats.governance.baselines import SUFFIX, Baseline
from evalstats.suite import Suite

BASELINES = "baselines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A suite file. One that does not keep its schema has a ``problem`` and no ``suite``, but perhaps an id.

    ``location`` is where its baseline lies or would lie.
    """

    path: Path
    raw: bytes
    document: dict[str, Any]
    location: Path | None
    suite: Suite | None = None
    problem: str | None = None

    @property
    def id(self) -> str | None:
        """Return the id that the document gives itself."""
        return _text(self.document.get("id"))

    @property
    def mode(self) -> str | None:
        """Return the mode of the baseline policy."""
        return _text(self._policy.get("mode"))

    @property
    def blocks(self) -> bool:
        """Return whether a gate stands on the suite."""
        return self._policy.get("blocking_gate") not in (None, "none")

    @property
    def private(self) -> bool:
        """Return whether nothing of the suite may be named."""
        return self.document.get("visibility") == Visibility.PRIVATE_HOLDOUT

    @property
    def _policy(self) -> dict[str, Any]:
        policy = self.document.get("baseline_policy")
        return policy if isinstance(policy, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that is a baseline by its name or by its suite's policy, or reads like one.

    ``named`` is the suite that its name says; ``baseline`` is None where it cannot be read.
    """

    path: Path
    named: str | None
    sha256: str | None
    baseline: Baseline | None = None
    problem: str | None = None

    @property
    def is_mock(self) -> bool:
        """Return whether the run behind it was a mock run."""
        return self.baseline is not None and self.baseline.record.get("is_mock") is True

    def concerns(self, private: Collection[str | None]) -> bool:
        """Return whether it is, by its name or its record, a baseline of a private suite."""
        if self.baseline is None:
            return self.named in private
        return self.baseline.is_private or bool({self.named, self.baseline.suite_id} & set(private))


def absolute(path: Path) -> Path:
    """Return one name for one file: its folder without links, and its own name as it is."""
    return path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name


# --- suites ----------------------------------------------------------------------------------------


def read_suites(folder: Path, baselines: Path | None) -> list[Entry]:
    """Return every suite below ``folder``, sound or not, by path."""
    loaded, failures = suites.load_all(folder)
    entries = [_sound(suite, baselines) for suite in loaded]
    entries += [_unsound(error, baselines) for error in failures]
    return sorted(entries, key=lambda entry: entry.path)


def _sound(suite: Suite, baselines: Path | None) -> Entry:
    location, problem = None, None
    try:
        location = absolute(promoted.locate(suite, baselines))
    except SuiteError as error:
        problem = str(error.problems[0])
    return Entry(
        path=suite.path,
        raw=suite.raw,
        document=suite.document,
        location=location,
        suite=suite,
        problem=problem,
    )


def _unsound(error: DocumentError, baselines: Path | None) -> Entry:
    hidden = error.hidden if isinstance(error, SuiteError) else None
    path = hidden or error.path or Path()
    raw, document = b"", {}
    try:
        raw = contract.read_bytes(path)
        found, _ = contract.parse_bytes(raw, path)
        document = found if isinstance(found, dict) else {}
    except DocumentError:
        pass  # this is the error that is being reported
    if hidden is not None:
        document = {**document, "visibility": Visibility.PRIVATE_HOLDOUT.value}
    named = _text(document.get("id"))
    shelf = baselines or path.parent / BASELINES
    usable = named is not None and "/" not in named and suites.is_inside_path(promoted.file_name(named))
    location = absolute(shelf / promoted.file_name(str(named))) if usable else None
    return Entry(
        path=path, raw=raw, document=document, location=location, problem=_said(error, parsed=bool(document))
    )


def _said(error: DocumentError, *, parsed: bool = True) -> str:
    """Return the first problem with its line. What could not be parsed may be private: its keys are not named."""
    first, more = error.problems[0], len(error.problems) - 1
    place = f"line {first.line}: " if first.line is not None else ""
    what = str(first) if parsed else "cannot be read as JSON"
    return f"{place}{what}" + (f" (and {more} more)" if more else "")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


# --- baselines -------------------------------------------------------------------------------------


def read_baselines(folder: Path, baselines: Path | None, entries: Iterable[Entry]) -> list[File]:
    """Return the baseline files: those in the folders of baselines, and those that a suite's policy names.

    Other JSON in those folders counts only if it is a run record: a promotion under another name.
    """
    claimed = {entry.location for entry in entries if entry.location and os.path.exists(entry.location)}
    files = [_read(path) for path in sorted(claimed.union(_shelved(folder, baselines)))]
    return [file for file in files if file.named is not None or file.baseline or file.path in claimed]


def _shelved(folder: Path, baselines: Path | None) -> Iterator[Path]:
    for path in (baselines or folder).rglob("*.json"):
        if baselines or BASELINES in path.relative_to(folder).parts[:-1]:
            yield absolute(path)


def _read(path: Path) -> File:
    named = _as_text(path.name.removesuffix(SUFFIX)) if path.name.endswith(SUFFIX) else None
    sha256 = None
    try:
        sha256 = contract.digest(contract.read_bytes(path))
        return File(path=path, named=named, sha256=sha256, baseline=promoted.read(path))
    except DocumentError as error:
        return File(path=path, named=named, sha256=sha256, problem=_said(error))


# --- names -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Names:
    """How files are called: from the repository, else from the folder of baselines; never where a machine has them."""

    root: Path
    baselines: Path | None

    @classmethod
    def of(cls, folder: Path, baselines: Path | None) -> Names:
        """Return the names for these folders; without a repository they start at what holds both."""
        root = suites.repository_root(folder)
        shelf = baselines.resolve() if baselines else None
        if not ((root / ".git").exists() or (root / "evalstats.toml").exists()):
            root = Path(os.path.commonpath([root.parent, shelf.parent] if shelf else [root.parent]))
        return cls(root, shelf)

    def __call__(self, path: Path) -> str:
        """Return what ``path`` is called, as text that every document can hold."""
        place = absolute(path)
        if place.is_relative_to(self.root):
            text = place.relative_to(self.root).as_posix()
        elif self.baselines is not None and place.is_relative_to(self.baselines):
            text = (self.baselines.name / place.relative_to(self.baselines)).as_posix()
        else:
            text = place.name
        return _as_text(text)


def _as_text(name: str) -> str:
    """Return the name of a file, which may be any bytes, as text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
