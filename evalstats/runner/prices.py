"""What do tokens cost? A dated table of prices; a cost always says where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import DocumentError, Problem

SCHEMA = "prices.v1"
MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """How many tokens went there and back; ``cached`` are those of ``sent`` that were read from a cache."""

    sent: int | None = None
    received: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens of one model, as of a day."""

    input: float
    output: float
    cached_input: float | None
    as_of: str

    @property
    def source(self) -> str:
        """Return where a cost comes from, for the record."""
        return f"prices of {self.as_of}"

    def cost(self, tokens: Tokens) -> float | None:
        """Return US dollars, or None where a count is not known."""
        if tokens.sent is None or tokens.received is None:
            return None
        cached = min(tokens.cached or 0, tokens.sent)
        of_cached = self.input if self.cached_input is None else self.cached_input
        dear = (tokens.sent - cached) * self.input + tokens.received * self.output
        return (dear + cached * of_cached) / MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices by model (schema ``prices.v1``)."""

    document: Mapping[str, Any]

    def of(self, model: str | None) -> Price | None:
        """Return the price of a model; None where the table has none."""
        entry = self.document.get("models", {}).get(model)
        if entry is None:
            return None
        return Price(
            input=entry["input"],
            output=entry["output"],
            cached_input=entry.get("cached_input"),
            as_of=self.document["as_of"],
        )


def read(path: Path) -> Prices:
    """Return the table in a file. Raises DocumentError with all that is wrong with it."""
    document, text = contract.read_json(path)
    found = contract.problems(document, SCHEMA)
    if found:
        raise DocumentError(path, contract.with_lines(found, text))
    return Prices(document)


def problems(document: Any, pointer: str) -> list[Problem]:
    """Return what is wrong with a table that stands at ``pointer`` of another document."""
    return [Problem(pointer + p.pointer, p.message) for p in contract.problems(document, SCHEMA)]
