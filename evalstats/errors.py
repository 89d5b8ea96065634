"""What can go wrong, sorted by who must act.

Each error prints as one line that names the file, the line, the field and the way out, and keeps
those as attributes. A failing *subject* is not an error here: it is a Trial with an outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a document: a JSON pointer, the line it starts on (if known) and what is wrong.

    ``rule`` says what is wrong in words that quote nothing of the document, where there are such words.
    """

    pointer: str
    message: str
    line: int | None = None
    rule: str = ""

    def __str__(self) -> str:
        return f"{self.pointer or '(document)'}: {self.message}"


class EvalstatsError(Exception):
    """Base of all errors meant for a person. ``exit_code`` is what the command line returns."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = None if path is None else Path(path)
        self.line = line
        self.field = field

    def __str__(self) -> str:
        place = str(self.path) if self.path is not None else ""
        if place and self.line is not None:
            place += f":{self.line}"
        return ": ".join(part for part in (place, self.field, self.message) if part)

    def lines(self) -> list[str]:
        """Return what to print, one line per problem."""
        return [str(self)]


class DocumentError(EvalstatsError):
    """A JSON document does not say what its schema asks. Its author acts. Holds every problem at once."""

    def __init__(self, path: Path | str | None, problems: Sequence[Problem]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{first.message}{more}", path=path, line=first.line, field=first.pointer or None)
        self.problems = tuple(problems)

    def lines(self) -> list[str]:
        """Return one line per problem."""
        name = "(document)" if self.path is None else str(self.path)
        return [f"{name}:{p.line}: {p}" if p.line is not None else f"{name}: {p}" for p in self.problems]


class SuiteError(DocumentError):
    """A suite, its fixtures or its policy. The author of the suite acts.

    ``hidden`` is the file itself where ``path`` is only the folder that was asked for: a private suite's path is
    not told to who did not name it.
    """

    hidden: Path | None = None


class UsageError(EvalstatsError):
    """The command asks for something that is not there. The caller acts."""


class JournalError(EvalstatsError):
    """A journal or manifest of a run cannot be read. Whoever keeps the run folders acts."""


class LogError(EvalstatsError):
    """A log of another tool does not hold what its format promises. Who wrote or chose the log acts."""


class StoreError(EvalstatsError):
    """The database is locked, foreign, damaged or of another version."""


class AdapterError(EvalstatsError):
    """The thing under test could not be asked at all (no runtime, no isolation)."""

    exit_code = 3


class ReportError(EvalstatsError):
    """A report could not be built, found or trusted."""
