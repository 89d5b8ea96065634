"""Any OpenAI-compatible endpoint: one question, one answer, no tools.

Inputs of a case: ``api`` (``chat``, or ``completions`` for a model that goes on with a text), ``system``,
``max_tokens``, ``temperature``, ``top_p``, ``stop``, and ``request``, sent as it is. The endpoint is that of
``OPENAI_BASE_URL``, the key that of ``OPENAI_API_KEY``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalstats.runner.completions import Attempt, Completion, CompletionError, Message, Sampling
from evalstats.runner.prices import Price, Tokens
from evalstats.runner.runtimes.protocol import Answer, ApiError, Asked, Room, Runtime, skipped
from evalstats.runner.runtimes.refusals import AUTHENTICATION, without_credentials

if TYPE_CHECKING:
    from evalstats.runner.endpoint import Client

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
DEFAULT_URL = "https://api.openai.com/v1"
PROBE_SECONDS = 5.0
OVERHEAD_TOKENS = 200  # what a chat adds to the text of a prompt, and more
_NUMBERS = ("max_tokens", "temperature", "top_p")


class OpenAI(Runtime):
    """Asks an endpoint; tries again itself what may pass."""

    name = "openai"
    is_live = True
    borrows = (URL, KEY)
    paces_itself = True

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}
        self._stack = contextlib.AsyncExitStack()
        self._unreached: asyncio.Future[str | None] | None = None

    def faults(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Yield inputs that no request can be made of."""
        if inputs.get("api", "chat") not in ("chat", "completions"):
            yield "api", "is neither chat nor completions"
        for name in _NUMBERS:
            if isinstance(value := inputs.get(name, 1), bool) or not isinstance(value, int | float):
                yield name, "is not a number"
        stop = inputs.get("stop", [])
        if not isinstance(stop, list) or not all(isinstance(text, str) for text in stop):
            yield "stop", "is not a list of texts"
        if not isinstance(inputs.get("system", ""), str):
            yield "system", "is not a text"
        if not isinstance(inputs.get("request", {}), dict):
            yield "request", "is not an object"

    def needs_network(self, room: Room) -> bool:
        """Return whether the endpoint is on another machine."""
        from evalstats.runner.endpoint import is_loopback

        return not is_loopback(room.lent.get(URL, DEFAULT_URL))

    def highest_cost(self, asked: Asked, price: Price | None) -> float | None:
        """Return the cost of the longest answer; a token is at least one byte of the prompt."""
        most = asked.inputs.get("max_tokens")
        if price is None or most is None or asked.prompt is None:
            return None
        text = asked.prompt + asked.inputs.get("system", "")
        sent = len(text.encode("utf-8", "replace")) + OVERHEAD_TOKENS
        return price.cost(Tokens(sent=sent, received=int(most)))

    async def answer(self, asked: Asked, room: Room) -> Answer:
        """Return what the model says."""
        url, key = room.lent.get(URL, DEFAULT_URL), room.lent.get(KEY)
        if reason := await self._why_not(asked, url, key):
            return skipped(reason)
        client = await self._client(url, str(asked.model), key, room)
        try:
            found = await client.complete(_question(asked), _sampling(asked), timeout_s=asked.timeout_s)
        except CompletionError as error:
            if error.error_class == AUTHENTICATION and key is None:
                return without_credentials(self.name, (KEY,))
            return _failure(error)
        return _success(found)

    async def close(self) -> None:
        """Close the connections."""
        await self._stack.aclose()
        self._clients.clear()

    async def _why_not(self, asked: Asked, url: str, key: str | None) -> str | None:
        if asked.prompt is None:
            return "the case has no prompt"
        if asked.model is None:
            return "no model is named: --model"
        if url == DEFAULT_URL and key is None:
            return without_credentials(self.name, (KEY,)).reason
        if self._unreached is None:  # asked once; the others wait for the same reply
            self._unreached = asyncio.ensure_future(_why_unreached(url))
        return await asyncio.shield(self._unreached)

    async def _client(self, url: str, model: str, key: str | None, room: Room) -> Client:
        from evalstats.runner.endpoint import Client, Endpoint

        if model not in self._clients:
            client = Client(Endpoint(url=url, model=model, api_key=key), limiter=room.turns)
            self._clients[model] = client
            await self._stack.enter_async_context(client)
        return self._clients[model]


async def _why_unreached(url: str) -> str | None:
    """Return why nothing listens at an address; None where something does, or only a proxy could tell."""
    from evalstats.runner.endpoint import goes_through_a_proxy

    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.hostname is None or goes_through_a_proxy(url):
            return None
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                _, writer = await asyncio.open_connection(parts.hostname, port)
            writer.close()
        except (OSError, TimeoutError) as error:
            return f"no network to {parts.hostname}:{port}: {getattr(error, 'strerror', None) or 'timed out'}"
    return None


def _question(asked: Asked) -> str | list[Message]:
    prompt, system = str(asked.prompt), asked.inputs.get("system")
    if asked.inputs.get("api") == "completions":
        return prompt if system is None else f"{system}\n{prompt}"
    first = [{"role": "system", "content": system}] if system is not None else []
    return [*first, {"role": "user", "content": prompt}]


def _sampling(asked: Asked) -> Sampling:
    given = asked.inputs
    numbers = {name: given[name] for name in _NUMBERS if name in given}
    seed = (asked.seed + asked.attempt - 1) % 2**31  # what every server takes
    return Sampling(seed=seed, stop=tuple(given.get("stop", ())), extra=given.get("request", {}), **numbers)


def _success(found: Completion) -> Answer:
    return Answer(
        text=found.text.encode("utf-8", "replace"),
        duration_s=found.duration_s,
        tokens=found.tokens,
        tool_calls=found.tool_calls,
        stop_reason=found.finish_reason,
        model=found.model,
        version=found.version,
        api_errors=_errors(found.attempts),
        usage=found.usage,
    )


def _failure(error: CompletionError) -> Answer:
    return Answer(
        outcome=error.outcome,
        reason=error.message,
        error_class=error.error_class,
        duration_s=error.attempts[-1].duration_s if error.attempts else None,
        api_errors=_errors(error.attempts),
        may_pass=False,  # it was tried often enough
    )


def _errors(attempts: Iterable[Attempt]) -> tuple[ApiError, ...]:
    return tuple(
        ApiError(status=a.status, error=a.error_class, retry_after_s=a.retry_after_s)
        for a in attempts
        if a.error_class is not None
    )
