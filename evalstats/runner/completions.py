"""What is asked of an OpenAI-compatible endpoint, what it answers, and what its failures mean. No network here."""

from __future__ import annotations

import contextlib
import email.utils
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalstats.contract import Outcome
from evalstats.errors import AdapterError
from evalstats.runner.prices import Price, Tokens

Document = dict[str, Any]
Message = Mapping[str, Any]

PASSING = ("rate-limit", "server-error", "connection")  # none of the model's doing, and may be gone soon
_SUBJECTS = {
    "timeout": Outcome.TIMEOUT,
    "context-length": Outcome.LIMIT,
    "response-too-long": Outcome.LIMIT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to answer. What is None is left to the endpoint; ``extra`` is sent as it is (``response_format`` ...)."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request: when, how long, what came back. ``error_class`` is None for the one that was answered."""

    started_at: str
    duration_s: float
    status: int | None = None
    error_class: str | None = None
    reason: str | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model said. ``duration_s`` is that of the attempt that was answered; what is not known is None."""

    text: str
    model: str | None
    finish_reason: str | None
    tokens: Tokens
    cost: float | None
    cost_source: str | None
    duration_s: float
    attempts: tuple[Attempt, ...]
    tool_calls: int | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None


class CompletionError(AdapterError):
    """There is no answer. ``outcome``: ``infrastructure``, or ``timeout`` and ``limit`` where the model's doing.

    ``error_class`` is one of ``rate-limit server-error connection authentication no-model bad-request
    invalid-response``, all infrastructure, or ``timeout context-length response-too-long``.
    """

    def __init__(
        self,
        error_class: str,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.outcome = _SUBJECTS.get(error_class, Outcome.INFRASTRUCTURE)
        self.status = status
        self.retry_after_s = retry_after_s
        self.attempts: tuple[Attempt, ...] = ()

    @property
    def is_passing(self) -> bool:
        """Return whether it is worth asking again: the error is none of the model's, and may pass."""
        return self.error_class in PASSING


def request(model: str, asked: str | Sequence[Message], sampling: Sampling) -> tuple[str, Document]:
    """Return the path below the base address, and the body: of a chat for messages, of a completion for a text."""
    names = ("max_tokens", "temperature", "top_p", "seed")
    given = {name: value for name in names if (value := getattr(sampling, name)) is not None}
    stop = {"stop": list(sampling.stop)} if sampling.stop else {}
    body = {"model": model, **given, **stop, **sampling.extra}
    if isinstance(asked, str):
        return "/completions", {**body, "prompt": asked}
    return "/chat/completions", {**body, "messages": [dict(message) for message in asked]}


def document(content_type: str, raw: bytes) -> Document:
    """Return an answer, which is JSON and holds a text. Raises CompletionError."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        what = f"the answer is {kind or 'of no content type'}, not application/json"
        raise CompletionError("invalid-response", what)
    found = _parsed(raw)
    choices = found.get("choices") if isinstance(found, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise CompletionError("invalid-response", "the answer is JSON, but holds no choices")
    message = choices[0].get("message")
    if _text(choices[0]) is None and not (isinstance(message, dict) and "content" in message):
        raise CompletionError("invalid-response", "the answer holds a choice without a text")
    return dict(found)


def completion(found: Document, attempts: Sequence[Attempt], price: Price | None) -> Completion:
    """Return the completion in a checked document."""
    choice = found["choices"][0]
    message, usage = choice.get("message"), found.get("usage")
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    tokens = _tokens(usage)
    cost = None if price is None else price.cost(tokens)
    return Completion(
        text=_text(choice) or "",
        model=_word(found.get("model")),
        finish_reason=_word(choice.get("finish_reason")),
        tokens=tokens,
        cost=cost,
        cost_source=price.source if price is not None and cost is not None else None,
        duration_s=attempts[-1].duration_s,
        attempts=tuple(attempts),
        tool_calls=len(calls) if isinstance(calls, list) else None,
        usage=usage,
        version=_word(found.get("system_fingerprint")),
    )


def refusal(status: int, retry_after: str | None, raw: bytes) -> CompletionError:
    """Return the error that an answer other than 200 is; what the server says of it comes along, shortened."""
    said = _said(raw)
    text = " ".join(str(said.get("message") or "").split())[:200]
    message = f"HTTP {status}" + (f": {text}" if text else "")
    return CompletionError(
        class_of(status, said.get("code")), message, status=status, retry_after_s=_seconds(retry_after)
    )


def class_of(status: int, code: Any = None) -> str:
    """Return what an HTTP status other than 200 means here; ``code`` is the service's own word for it."""
    if status == 429:
        # A spent quota is told like a rate limit, and no waiting brings it back.
        return "authentication" if code == "insufficient_quota" else "rate-limit"
    if status >= 500:
        return "server-error"
    if status in (401, 402, 403):
        return "authentication"
    if status == 404:
        return "no-model"
    return "context-length" if code == "context_length_exceeded" else "bad-request"


def count(value: Any) -> int | None:
    """Return a whole number of at least 0; None for anything else that a foreign document holds."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise CompletionError("invalid-response", "the answer is not JSON") from None


def _text(choice: Mapping[str, Any]) -> str | None:
    """Return what a choice says; in a chat it may be null, as where a tool is called or an answer refused."""
    message = choice.get("message")
    return _word(message.get("content")) if isinstance(message, dict) else _word(choice.get("text"))


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    details = usage.get("prompt_tokens_details")
    return Tokens(
        sent=count(usage.get("prompt_tokens")),
        received=count(usage.get("completion_tokens")),
        cached=count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def _said(raw: bytes) -> Mapping[str, Any]:
    """Return the error that a server tells of, in one of the usual shapes; empty if in none."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    error = found.get("error", found) if isinstance(found, dict) else {}
    return {"message": error} if isinstance(error, str) else error if isinstance(error, dict) else {}


def _seconds(retry_after: str | None) -> float | None:
    """Return how long to wait, given in seconds or as a date."""
    if retry_after is None:
        return None
    with contextlib.suppress(ValueError):
        seconds = float(retry_after)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    return None
