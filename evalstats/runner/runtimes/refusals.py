"""What a refusal of the service behind a runtime means for the trial: never a fault of the subject."""

from __future__ import annotations

from collections.abc import Iterable

from evalstats.contract import Outcome
from evalstats.runner.completions import PASSING, class_of
from evalstats.runner.runtimes.protocol import Answer, skipped

AUTHENTICATION = "authentication"


def refused(status: int, message: str, *, retry_after_s: float | None = None) -> Answer:
    """Return the answer of a trial whose last request ended with an HTTP status other than 200."""
    error_class = class_of(status)
    return lost(error_class, f"HTTP {status}: {message}" if message else f"HTTP {status}", retry_after_s)


def lost(error_class: str, reason: str, retry_after_s: float | None = None) -> Answer:
    """Return the answer of a trial that was lost to infrastructure; worth another attempt if the class may pass."""
    return Answer(
        outcome=Outcome.INFRASTRUCTURE,
        reason=reason,
        error_class=error_class,
        may_pass=error_class in PASSING,
        retry_after_s=retry_after_s,
    )


def without_credentials(name: str, variables: Iterable[str]) -> Answer:
    """Return the answer of a runtime that was lent no credentials."""
    return skipped(f"no credentials for {name}: set {' or '.join(variables)}")
