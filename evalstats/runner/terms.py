"""On what terms live cases run: by which runtime and model, for how much money, how fast."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats.errors import UsageError
from evalstats.runner import prices, runtimes
from evalstats.runner.prices import Price, Prices
from evalstats.suite import Suite

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of one plan; None leaves it to the case, or sets no limit. ``budget`` is in US dollars."""

    runtime: str | None = None
    model: str | None = None
    budget: float | None = None
    max_rpm: float | None = None
    prices: Mapping[str, Any] | None = None

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
    for option, value in (("--budget", asked.budget), ("--max-rpm", asked.max_rpm)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UsageError("must be a number above 0", field=option)
    table = suite.document.get("metadata", {}).get("prices")
    if prices_file is not None:
        table = prices.read(prices_file).document
    return Terms(
        runtime=asked.runtime,
        model=asked.model,
        budget=asked.budget,
        max_rpm=asked.max_rpm,
        prices=table,
    )
