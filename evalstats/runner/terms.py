"""On what terms trials run: by which runtime and model, for how much money, how fast, how tightly held."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalstats.contract import MAX_INTEGER, Isolation
from evalstats.errors import UsageError
from evalstats.runner import prices, runtimes
from evalstats.runner.prices import Price, Prices
from evalstats.suite import Suite

LONGEST_NAME = 200
LEAST_MEMORY = 1 << 20  # bytes; no shell starts with less


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of one plan; None leaves it to the case, or sets no limit.

    ``budget`` is in US dollars, ``memory_limit`` in bytes a trial, ``process_limit`` in processes a trial.
    """

    runtime: str | None = None
    model: str | None = None
    budget: float | None = None
    max_rpm: float | None = None
    prices: Mapping[str, Any] | None = None
    require_isolation: Isolation | None = None
    memory_limit: int | None = None
    process_limit: int | None = None

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Terms:
        """Return the terms that a manifest keeps."""
        level = kept.get("require_isolation")
        return cls(**{**kept, "require_isolation": None if level is None else Isolation(level)})

    def price(self, model: str | None) -> Price | None:
        """Return what a model costs, by the table of the plan."""
        return None if self.prices is None else Prices(self.prices).of(model)


NO_TERMS = Terms()


def agree(suite: Suite, asked: Terms, prices_file: Path | None) -> Terms:
    """Return the terms that a caller asks for, with the price table of the file, else of the suite.

    Raises UsageError for an unknown runtime, one that the suite does not allow, or a number out of bounds, and
    DocumentError for a price table with faults.
    """
    if asked.runtime is not None:
        runtimes.check(asked.runtime)
        allowed = suite.document.get("allowed_runtimes")
        if allowed is not None and asked.runtime not in allowed:
            refused = f"the suite allows {', '.join(allowed) or 'none'}, not {asked.runtime}"
            raise UsageError(refused, field="--runtime")
    if asked.model is not None and not 0 < len(asked.model.strip()) <= LONGEST_NAME:
        raise UsageError("a model has a name", field="--model")
    _check_bounds(asked)
    table = suite.document.get("metadata", {}).get("prices")
    if prices_file is not None:
        table = prices.read(prices_file).document
    return replace(asked, prices=table)


def _check_bounds(asked: Terms) -> None:
    for option, value in (("--budget", asked.budget), ("--max-rpm", asked.max_rpm)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UsageError("must be a number above 0", field=option)
    limits = (
        ("--memory-limit", asked.memory_limit, LEAST_MEMORY),
        ("--process-limit", asked.process_limit, 1),
    )
    for option, count, least in limits:
        if count is not None and not least <= count <= MAX_INTEGER:
            raise UsageError(f"must be at least {least}", field=option)


def level(word: str) -> Isolation:
    """Return the rung that a word means. Raises UsageError."""
    try:
        return Isolation(word)
    except ValueError:
        known = ", ".join(Isolation)
        unknown = f"unknown level {word!r}; known, strongest first: {known}"
        raise UsageError(unknown, field="--require-isolation") from None
