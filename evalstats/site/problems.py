"""What could not be read, or failed: told on the pages and on stderr, and never shown as if it were fine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One line that says what is wrong, and the suite whose page tells it too, if it is of one."""

    text: str
    suite: str | None = None

    def __str__(self) -> str:
        return self.text
