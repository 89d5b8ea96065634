"""Asking an OpenAI-compatible endpoint: one question, one answer or one classified error, every attempt recorded.

    async with Client(Endpoint(url="http://127.0.0.1:8080/v1", model="m")) as client:
        answer = await client.complete([{"role": "user", "content": "2 + 2?"}], Sampling(max_tokens=8, seed=1))

A list of messages goes to ``/chat/completions``, a plain text to ``/completions``. Tried again is only what is no
doing of the model: 429 (as long after as ``Retry-After`` says), 5xx, and connections that fail or break. The time
limit is that of one attempt; waiting for a turn or for a retry does not count. What finally fails is raised as
`CompletionError`, whose ``outcome`` says whose doing it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import time
import urllib.request
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalstats.redact import Redactor
from evalstats.runner import completions
from evalstats.runner.completions import (
    Attempt,
    Completion,
    CompletionError,
    Document,
    Message,
    Sampling,
)
from evalstats.runner.prices import Price
from evalstats.trials import timestamp

if TYPE_CHECKING:
    import httpx
    from aiolimiter import AsyncLimiter

__all__ = [
    "Attempt",
    "Client",
    "Completion",
    "CompletionError",
    "Endpoint",
    "Message",
    "Patience",
    "Sampling",
    "goes_through_a_proxy",
    "is_loopback",
    "pace",
]

RESPONSE_CAP = 10_000_000  # bytes
_JSON = {"content-type": "application/json", "accept": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where to ask, and for whom. ``url`` is the base, such as ``https://host/v1``; ``price`` makes costs known."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often and how long to try again. A ``Retry-After`` beyond ``longest_wait_s`` is not waited for."""

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0


class Client:
    """Asks one endpoint, used as an asynchronous context manager; any number of questions at once.

    Parameters
    ----------
    endpoint : Endpoint
        Where to ask.
    patience : Patience
        When to give up.
    limiter : asynchronous context manager, optional
        From `pace`; shared by all clients that one limit holds for. Each attempt takes its turn.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        patience: Patience | None = None,
        limiter: AbstractAsyncContextManager[Any] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._patience = patience or Patience()
        self._turn: AbstractAsyncContextManager[Any] = limiter or contextlib.nullcontext()
        self._redactor = Redactor({"KEY": endpoint.api_key or ""})
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Client:
        import httpx

        key = self.endpoint.api_key
        if key and not (key.isascii() and key.isprintable()):
            raise CompletionError("authentication", "the key holds what no header can: not plain ASCII")
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=None,  # one limit for the whole attempt instead
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
            trust_env=not is_loopback(self.endpoint.url),  # a proxy means another machine by that name
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.aclose()

    async def complete(
        self,
        asked: str | Sequence[Message],
        sampling: Sampling | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Completion:
        """Return what the model says to ``asked``: messages of a chat, or a text to go on with.

        ``timeout_s`` overrules that of the endpoint. Raises CompletionError; its ``attempts`` tell the story.
        """
        import stamina

        path, body = completions.request(self.endpoint.model, asked, sampling or Sampling())
        limit = self.endpoint.timeout_s if timeout_s is None else timeout_s
        attempts: list[Attempt] = []
        logging.getLogger("stamina").addHandler(logging.NullHandler())  # we tell of attempts ourselves
        try:
            async for again in stamina.retry_context(
                on=self._wait,
                attempts=self._patience.attempts,
                timeout=None,
                wait_initial=self._patience.first_wait_s,
                wait_max=self._patience.longest_wait_s,
                wait_jitter=self._patience.first_wait_s,
            ):
                with again:
                    found = await self._attempt(path, body, limit, attempts)
        except CompletionError as error:
            error.attempts = tuple(attempts)
            raise
        return completions.completion(found, attempts, self.endpoint.price)

    def _wait(self, error: Exception) -> bool | float:
        """Return whether to try again, or after how many seconds to."""
        if not isinstance(error, CompletionError) or not error.is_passing:
            return False
        if error.retry_after_s is None:
            return True
        # Not 0, which would say no; at 0 the server says at once.
        return (
            max(error.retry_after_s, 0.001) if error.retry_after_s <= self._patience.longest_wait_s else False
        )

    async def _attempt(self, path: str, body: Document, limit: float, attempts: list[Attempt]) -> Document:
        async with self._turn:
            started_at, began = timestamp(), time.monotonic()
            try:
                found = await self._within(limit, path, body)
            except CompletionError as error:
                attempts.append(_told(started_at, began, error))
                raise
            attempts.append(_told(started_at, began))
            return found

    async def _within(self, limit: float, path: str, body: Document) -> Document:
        try:
            async with asyncio.timeout(limit):
                return await self._post(path, body)
        except TimeoutError:
            raise CompletionError("timeout", f"no whole answer within {limit:g} s") from None

    async def _post(self, path: str, body: Document) -> Document:
        import httpx

        if self._http is None:
            raise ValueError("a client is used as a context manager")
        url, sent = self.endpoint.url.rstrip("/") + path, json.dumps(body).encode()
        try:
            async with self._http.stream("POST", url, content=sent, headers=_JSON) as response:
                raw = await _content(response)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            raise CompletionError("bad-request", "the address of the endpoint is none") from None
        except httpx.DecodingError:
            raise CompletionError("invalid-response", "the answer is not encoded as it says") from None
        except httpx.RequestError as error:
            raise CompletionError("connection", f"the connection failed: {_named(error)}") from None
        headers = response.headers
        if response.status_code != 200:
            raw = self._redactor(raw)  # a server may quote the key that it refuses
            raise completions.refusal(response.status_code, headers.get("retry-after"), raw)
        return completions.document(headers.get("content-type", ""), raw)


def pace(requests_per_minute: float | None) -> AsyncLimiter | None:
    """Return a limiter that lets one request through at a time, evenly: no burst at the beginning.

    To be made in the event loop that uses it.
    """
    from aiolimiter import AsyncLimiter

    return None if requests_per_minute is None else AsyncLimiter(1, 60 / requests_per_minute)


def is_loopback(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = ""
    with contextlib.suppress(ValueError):  # of either: no address at all, or one with a name
        host = urlsplit(url).hostname or ""
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def goes_through_a_proxy(url: str) -> bool:
    """Return whether the environment sends requests to an address through another machine."""
    if is_loopback(url):
        return False
    proxies = urllib.request.getproxies()
    return bool(proxies.get(urlsplit(url).scheme) or proxies.get("all"))


async def _content(response: httpx.Response) -> bytes:
    raw = bytearray()
    async for chunk in response.aiter_bytes():
        raw += chunk
        if len(raw) > RESPONSE_CAP:
            raise CompletionError("response-too-long", f"the answer is longer than {RESPONSE_CAP} bytes")
    return bytes(raw)


def _named(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _told(started_at: str, began: float, failed: CompletionError | None = None) -> Attempt:
    took = time.monotonic() - began
    if failed is None:
        return Attempt(started_at=started_at, duration_s=took, status=200)
    return Attempt(
        started_at=started_at,
        duration_s=took,
        status=failed.status,
        error_class=failed.error_class,
        reason=failed.message,
        retry_after_s=failed.retry_after_s,
    )
