"""What only the runtime of a trial can tell: kept beside the trial as the artifact ``account`` (``account.v1``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalstats import contract
from evalstats.artifacts import Artifacts
from evalstats.errors import DocumentError, JournalError
from evalstats.runner.prices import Tokens
from evalstats.runner.runtimes.protocol import Answer
from evalstats.trials import Trial

NAME = "account"
Document = dict[str, Any]


@dataclass(slots=True, kw_only=True, eq=False)  # not frozen: one is made a trial
class Tried:
    """One attempt: when it began, what came of it as facts of a trial, and the answer behind them."""

    started_at: str
    facts: dict[str, Any]
    answer: Answer


def account(runtime: str, tried: Tried, earlier: Sequence[Tried], skills: frozenset[str]) -> Document | None:
    """Return the account of a trial; None where the trial itself says all there is."""
    last = tried.answer
    if not (last.version or last.usage or last.api_errors or last.skills or last.model or earlier):
        return None
    return {
        "runtime": runtime,
        "version": last.version,
        "model": last.model,
        "api_errors": [asdict(error) for error in last.api_errors],
        "skills": None if last.skills is None else sorted(last.skills),
        "skill_present": None if last.skills is None or not skills else bool(skills & last.skills),
        "transcript_bytes": len(last.transcript) or None,
        "usage": dict(last.usage),
        "attempts": [_attempt(one) for one in (*earlier, tried)],
    }


def _attempt(tried: Tried) -> Document:
    answer, facts = tried.answer, tried.facts
    tokens = answer.tokens or Tokens()
    return {
        "started_at": tried.started_at,
        "outcome": facts["outcome"],
        "reason": facts.get("reason"),
        "error_class": facts.get("error_class"),
        "duration_s": answer.duration_s,
        "cost": facts.get("cost"),
        "tokens_in": tokens.sent,
        "tokens_out": tokens.received,
        "artifacts": facts.get("artifacts", {}),
    }


def of(trials: Iterable[Trial], artifacts: Artifacts) -> list[Document]:
    """Return the accounts of those trials that have one that can be read."""
    found = []
    for digest in (trial.artifacts[NAME] for trial in trials if NAME in trial.artifacts):
        try:
            document = contract.parse_json(artifacts.get(digest).decode())
        except (JournalError, DocumentError, UnicodeDecodeError):
            continue  # the numbers of the trial stand without it
        found.append(document)
    return found


def summary(accounts: Sequence[Mapping[str, Any]]) -> Document:
    """Return what a run record says of its runtime beside its name."""
    versions = sorted({str(a["version"]) for a in accounts if a["version"]})
    models = sorted({str(a["model"]) for a in accounts if a["model"]})
    present = Counter({True: "present", False: "absent"}.get(a["skill_present"], "unknown") for a in accounts)
    return {
        "version": ", ".join(versions) or None,
        "models": models,
        "api_errors": sum(len(a["api_errors"]) for a in accounts),
        "skill": {name: present[name] for name in ("present", "absent", "unknown")},
    }


def lost_cost(accounts: Sequence[Mapping[str, Any]]) -> float:
    """Return what is known to have been paid for attempts that were lost."""
    return sum(one["cost"] or 0.0 for a in accounts for one in a["attempts"][:-1])
