"""What a trial left behind, as its expectations see it: exit code, texts, files, JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evalstats import contract
from evalstats.errors import DocumentError
from evalstats.runner import limits
from evalstats.suite import Suite

_ROOT = re.compile(r"\$|stdout(?=[.\[]|$)")
_STEP = re.compile(r"\.?([^.\[\]\"]+)|\[(\d+)\]|\[\"([^\"]+)\"\]")


class Absent(Exception):
    """What an expectation asks about is not there; the text says what, without quoting content."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The traces of one trial; ``folder`` is where it ran.

    Without ``has_output`` nothing ran; ``exit_code`` is None also where a runtime answers without a command.
    ``is_own_folder`` says that the folder is the trial's alone: then it, and not the repository, is stayed in.
    """

    suite: Suite
    folder: str
    is_own_folder: bool = False
    has_output: bool = True
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""

    @cached_property
    def stdout_json(self) -> Any:
        """Return the JSON document that stdout is. Raises Absent."""
        return _json(self.stdout, "stdout")

    @cached_property
    def stdout_strings(self) -> list[str]:
        """Return every string value of the JSON in stdout: of one document, or of each line that is one."""
        try:
            return list(_strings(self.stdout_json))
        except Absent:
            return [text for line in self.stdout.splitlines() for text in _strings(_json_or_none(line))]

    def text(self, target: str | None) -> str:
        """Return what ``target`` names: ``stdout`` (also None), ``stderr``, or a file. Raises Absent."""
        if target in (None, "stdout"):
            return self.stdout
        return self.stderr if target == "stderr" else self.file_text(str(target))

    def file_text(self, target: str) -> str:
        """Return the text of a file. Raises Absent."""
        path = self.path(target)
        if not os.path.isfile(path):  # also keeps us from waiting for a pipe
            raise Absent(f"file {short(target)} is missing")
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError as error:
            if limits.is_exhausted(error):
                raise
            raise Absent(f"file {short(target)} cannot be read: {error.strerror}") from None

    def file_json(self, target: str) -> Any:
        """Return the JSON document in a file. Raises Absent."""
        return _json(self.file_text(target), f"file {short(target)}")

    def path(self, target: str) -> str:
        """Return where a target lies: relative to the case's folder, and inside the repository.

        The repository is the suite's root; where that is no more than the suite's own folder, there is none
        to stay in. Raises Absent.
        """
        path = os.path.realpath(os.path.join(self.folder, target))
        own = self.is_own_folder
        root = os.path.realpath(self.folder) if own else str(self.suite.root)
        if (own or self._has_root_above) and path != root and not path.startswith(root.rstrip("/") + "/"):
            raise Absent(f"file {short(target)} lies outside the {'workspace' if own else 'repository'}")
        return path

    @cached_property
    def _has_root_above(self) -> bool:
        return self.suite.root != self.suite.folder.resolve()


def short(text: str) -> str:
    """Return a name fit for a sentence: at most 80 characters."""
    return text if len(text) <= 80 else text[:77] + "..."


def steps(path: str) -> list[str | int] | None:
    """Return the steps of a simple JSON path (``$.a.b[0]``, ``a.b.0``, ``$["a.b"]``); None if it is none.

    A leading ``stdout`` is the root too, as in ``stdout.a.b``: the document is that of stdout.
    """
    rest, found = path[root.end() if (root := _ROOT.match(path)) else 0 :], list[str | int]()
    while rest:
        step = _STEP.match(rest)
        if step is None:
            return None
        name, index, quoted = step.groups()
        found.append(int(index) if index else name or quoted)
        rest = rest[step.end() :]
    return found


def at_path(document: Any, path: str) -> Any:
    """Return the value at a simple JSON path. Raises Absent."""
    value = document
    for step in steps(path) or ():
        if isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        elif isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise Absent(f"nothing at {short(path)}")
    return value


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal: 1 is 1.0, but true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _json(text: str, what: str) -> Any:
    try:
        return contract.parse_json(text)
    except DocumentError:
        raise Absent(f"{what} is not JSON") from None


def _json_or_none(line: str) -> Any:
    try:
        return contract.parse_json(line)
    except DocumentError:
        return None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(child)
