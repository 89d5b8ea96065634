"""An endpoint that misbehaves: what is tried again, what is not, and what each failure is called."""

import asyncio
import email.utils
import gzip
import importlib.util
import time
from pathlib import Path

import pytest

from evalstats.contract import Outcome
from evalstats.runner.endpoint import Client, CompletionError, Endpoint, Patience, Sampling, is_loopback, pace
from evalstats.runner.prices import Price, Tokens

spec = importlib.util.spec_from_file_location("loopback", Path(__file__).with_name("loopback.py"))
loopback = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loopback)
answer, chat, plain, refusal, Loopback = (
    loopback.answer,
    loopback.chat,
    loopback.plain,
    loopback.refusal,
    loopback.Loopback,
)

QUICK = Patience(attempts=3, first_wait_s=0.01, longest_wait_s=5.0)
ASKED = [{"role": "user", "content": "6 * 7?"}]
OK = answer(chat())


def ask(server, asked=ASKED, sampling=None, *, patience=QUICK, **endpoint):
    async def once():
        place = Endpoint(url=server.url, model="m", **endpoint)
        async with Client(place, patience=patience) as client:
            return await client.complete(asked, sampling)

    return asyncio.run(once())


def failure(server, **more):
    with pytest.raises(CompletionError) as caught:
        ask(server, **more)
    return caught.value


def test_a_chat_is_answered():
    price = Price(input=1.0, output=10.0, cached_input=0.1, as_of="2026-11-01")
    with Loopback(OK) as server:
        found = ask(
            server, sampling=Sampling(max_tokens=9, seed=5, stop=("\n",)), price=price, api_key="k" * 9
        )
    (request,) = server.requests
    assert (found.text, found.model, found.finish_reason) == ("42", "served-model", "stop")
    assert found.tokens == Tokens(sent=11, received=3, cached=4)
    # 7 tokens at 1 $, 4 at 0.1 $, 3 at 10 $, a million
    assert found.cost == pytest.approx((7 * 1 + 4 * 0.1 + 3 * 10) / 1e6)
    assert found.cost_source == "prices of 2026-11-01"
    assert [a.status for a in found.attempts] == [200]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer " + "k" * 9
    assert request.body == {"model": "m", "messages": ASKED, "max_tokens": 9, "seed": 5, "stop": ["\n"]}


def test_a_text_is_gone_on_with():
    with Loopback(answer(plain())) as server:
        found = ask(server, "6 * 7 =")
    assert (found.text, found.finish_reason, found.cost, found.cost_source) == (" 42", "length", None, None)
    assert server.requests[0].path == "/v1/completions"
    assert server.requests[0].body == {"model": "m", "prompt": "6 * 7 ="}
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("wait", ["1", "date"])
def test_retry_after_is_waited_for(wait):
    value = email.utils.formatdate(time.time() + 2, usegmt=True) if wait == "date" else wait
    with Loopback(refusal(429, headers=[f"retry-after: {value}"]), OK) as server:
        found = ask(server)
    least = 0.9  # a date has whole seconds: 2 s from now are 1 to 2
    assert least <= server.times[1] - server.times[0] <= 3
    assert [(a.status, a.error_class) for a in found.attempts] == [(429, "rate-limit"), (200, None)]


def test_a_wait_that_is_too_long_is_not_waited_for():
    with Loopback(refusal(429, "slow down", headers=["retry-after: 3600"])) as server:
        error = failure(server)
    assert (error.error_class, error.retry_after_s, len(server.requests)) == ("rate-limit", 3600, 1)
    assert str(error) == "HTTP 429: slow down"


@pytest.mark.parametrize(
    ("bad", "error_class"),
    [
        (refusal(429), "rate-limit"),
        (refusal(500), "server-error"),
        (refusal(503), "server-error"),
        (refusal(529), "server-error"),
        (answer(raw=b"<h1>bad gateway", kind="text/html", status=502), "server-error"),
        (answer(chat(), cut=20), "connection"),
        (answer(chat(), cut=0), "connection"),
    ],
)
def test_what_may_pass_is_tried_again(bad, error_class):
    with Loopback(bad, bad, OK) as server:
        found = ask(server)
    assert found.text == "42"
    assert [a.error_class for a in found.attempts] == [error_class, error_class, None]
    with Loopback(bad) as server:
        error = failure(server)
    assert (error.outcome, error.error_class, len(server.requests)) == (
        Outcome.INFRASTRUCTURE,
        error_class,
        3,
    )
    assert [a.error_class for a in error.attempts] == [error_class] * 3


@pytest.mark.parametrize(
    ("bad", "outcome", "error_class"),
    [
        (refusal(401), Outcome.INFRASTRUCTURE, "authentication"),
        (refusal(403), Outcome.INFRASTRUCTURE, "authentication"),
        (refusal(429, code="insufficient_quota"), Outcome.INFRASTRUCTURE, "authentication"),
        (refusal(404), Outcome.INFRASTRUCTURE, "no-model"),
        (refusal(400), Outcome.INFRASTRUCTURE, "bad-request"),
        (refusal(302, headers=["location: /v2"]), Outcome.INFRASTRUCTURE, "bad-request"),
        (refusal(400, code="context_length_exceeded"), Outcome.LIMIT, "context-length"),
        (answer(raw=b'{"choices": [{"mess'), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer(raw=b"[" * 100_000), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer(raw=b"\xff\xfe"), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer(raw=b""), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer({"choices": []}), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer({"choices": [{}]}), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer([1]), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer(chat(), kind="text/html"), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer(chat(), kind=None), Outcome.INFRASTRUCTURE, "invalid-response"),
        (answer(raw=b"x", headers=["content-encoding: gzip"]), Outcome.INFRASTRUCTURE, "invalid-response"),
        (
            answer(raw=gzip.compress(b" " * 10_000_001), headers=["content-encoding: gzip"]),
            Outcome.LIMIT,
            "response-too-long",
        ),
    ],
)
def test_what_will_not_pass_is_not_tried_again(bad, outcome, error_class):
    with Loopback(bad) as server:
        error = failure(server)
    assert (error.outcome, error.error_class, len(server.requests)) == (outcome, error_class, 1)


def test_a_slow_answer_is_the_models_doing_and_asked_for_once():
    with Loopback(answer(chat(), slow_s=0.05)) as server:
        began = time.monotonic()
        error = failure(server, timeout_s=0.3)
    assert (error.outcome, error.error_class, len(server.requests)) == (Outcome.TIMEOUT, "timeout", 1)
    assert 0.25 <= error.attempts[0].duration_s <= 1
    assert time.monotonic() - began < 3


def test_time_spent_waiting_is_not_counted_as_answering():
    with Loopback(refusal(429, headers=["retry-after: 1"]), OK) as server:
        found = ask(server, timeout_s=0.5)
    assert found.text == "42"
    assert found.duration_s < 0.5


def test_nobody_there():
    with Loopback(OK) as server:
        pass
    error = failure(server)
    assert (error.outcome, error.error_class) == (Outcome.INFRASTRUCTURE, "connection")
    assert len(error.attempts) == 3


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1/v1", "no address"])
def test_no_address(url):
    async def once():
        async with Client(Endpoint(url=url, model="m"), patience=QUICK) as client:
            await client.complete("x")

    with pytest.raises(CompletionError) as caught:
        asyncio.run(once())
    assert (caught.value.error_class, len(caught.value.attempts)) == ("bad-request", 1)


def test_a_key_never_stands_in_an_error_or_a_repr():
    key = "secret-0123456789"
    with Loopback(refusal(401, f"bad key {key}")) as server:
        error = failure(server, api_key=key)
    assert key not in f"{error}{error.attempts}{Endpoint(url='u', model='m', api_key=key)}"
    assert failure(server, api_key="schlüssel").error_class == "authentication"


def test_a_refused_answer_and_half_a_pair_can_be_told():
    with Loopback(answer(chat(None))) as server:
        assert ask(server, [{"role": "user", "content": "\ud800"}]).text == ""
    assert server.requests[0].body["messages"][0]["content"] == "\ud800"


@pytest.mark.parametrize("rpm", [600, 1200])
def test_the_rate_limit_is_kept_within_a_tenth(rpm):
    count = 21

    async def many(url):
        async with Client(Endpoint(url=url, model="m"), limiter=pace(rpm)) as client:
            await asyncio.gather(*(client.complete("x") for _ in range(count)))

    with Loopback(answer(plain())) as server:
        asyncio.run(many(server.url))
    gaps = [b - a for a, b in zip(server.times, server.times[1:], strict=False)]
    seen = 60 * (count - 1) / (server.times[-1] - server.times[0])
    assert 0.9 * rpm <= seen <= 1.1 * rpm
    assert sorted(gaps)[len(gaps) // 2] == pytest.approx(60 / rpm, rel=0.1)


def test_attempts_take_turns_too():
    async def once(url):
        async with Client(Endpoint(url=url, model="m"), patience=QUICK, limiter=pace(300)) as client:
            await client.complete("x")

    with Loopback(refusal(500), refusal(500), answer(plain())) as server:
        asyncio.run(once(server.url))
    assert server.times[-1] - server.times[0] >= 2 * 60 / 300 * 0.9


def test_loopback_addresses():
    assert [
        is_loopback(u) for u in ("http://127.0.0.1:1/v1", "http://[::1]/", "http://localhost", "https://a.b")
    ] == [
        True,
        True,
        True,
        False,
    ]
