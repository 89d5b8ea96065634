"""Small things done to results, whatever they are results of."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from evalstats.stats.results import Estimate, Test

Record = TypeVar("Record", Estimate, Test)


def noted(record: Record, *notes: str) -> Record:
    """Return the record with more caveats; empty notes and those it has already are dropped."""
    return replace(record, caveats=tuple(dict.fromkeys((*record.caveats, *filter(None, notes)))))
