"""A server on this machine that speaks the OpenAI protocol, and misbehaves as it is told to."""

import asyncio
import contextlib
import json
import threading
import time
from types import SimpleNamespace


def chat(text="42", **more):
    return {
        "model": "served-model",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
        **more,
    }


def plain(text=" 42"):
    return {
        "model": "served-model",
        "choices": [{"text": text, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }


def answer(document=None, *, status=200, kind="application/json", headers=(), raw=None, **how):
    """What the server does with one request: ``slow_s`` a byte, ``cut`` after so many bytes, ``hold_s`` first."""
    body = json.dumps(document).encode() if raw is None else raw
    return SimpleNamespace(status=status, kind=kind, headers=tuple(headers), body=body, **how)


def refusal(status, message="no", *, code=None, headers=()):
    return answer({"error": {"message": message, "code": code}}, status=status, headers=headers)


class Loopback:
    """Runs in a thread. ``script`` holds what to answer, the last for ever; a function is given the request."""

    def __init__(self, *script):
        self.script = list(script)
        self.requests = []
        self.times = []
        self._open = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self):
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for writer in self._open:
            writer.transport.abort()
        talks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*talks, return_exceptions=True)

    async def _talk(self, reader, writer):
        self._open.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        line, *lines = head.decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (item.partition(":") for item in lines if item)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))))
        request = SimpleNamespace(path=line.split()[1], headers=headers, body=body)
        self.requests.append(request)
        self.times.append(time.monotonic())
        behave = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return await self._behave(behave(request) if callable(behave) else behave, writer)

    async def _behave(self, how, writer):
        await asyncio.sleep(getattr(how, "hold_s", 0))
        head = [f"HTTP/1.1 {how.status} x", f"content-length: {len(how.body)}", *how.headers]
        head += [f"content-type: {how.kind}"] * bool(how.kind)
        writer.write("\r\n".join([*head, "", ""]).encode())
        cut = getattr(how, "cut", None)
        if slow := getattr(how, "slow_s", 0):
            for byte in how.body[:cut]:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(slow)
        else:
            writer.write(how.body[:cut])
        await writer.drain()
        return cut is None
