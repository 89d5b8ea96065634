"""From a Vega-Lite specification to SVG; one engine for all notebooks of a builder.

Vega runs in a JavaScript engine that takes half a second to start, in every process anew, and that no fork survives.
So a builder starts one and its notebooks ask it, each over a socket in its own folder. Where nobody answers, a
notebook draws by itself: slower, and the same bytes.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

VEGA_LITE = "6.4"
PLACE_VARIABLE, SOCKET = "EVALSTATS_DRAWING", "draw"  # in a notebook: where its builder would answer
_SECONDS = 60
_EMPTY = '{"data": {"values": []}, "mark": "point"}'


def svg(spec: Mapping[str, Any]) -> str:
    """Return a chart as SVG. Raises ValueError for a specification that Vega does not take."""
    place, text = os.environ.get(PLACE_VARIABLE), json.dumps(spec)
    with contextlib.suppress(OSError):
        if place and (found := _asked(place, text)):
            return found
    return _drawn(text)


def _drawn(spec: str) -> str:
    import vl_convert

    # As an object: a text is drawn with its keys in another order, and so to other bytes.
    return str(vl_convert.vegalite_to_svg(json.loads(spec), vl_version=VEGA_LITE, allowed_base_urls=[]))


def _asked(place: str, spec: str) -> str:
    with socket.socket(socket.AF_UNIX) as builder:
        builder.settimeout(_SECONDS)
        builder.connect(place)
        builder.sendall(spec.encode())
        builder.shutdown(socket.SHUT_WR)
        with builder.makefile("rb") as answer:
            return answer.read().decode()


# --- the builder's side --------------------------------------------------------------------------


@functools.cache
def warm_up() -> None:
    """Start the engine of this process, in the background."""
    threading.Thread(target=_drawn, args=(_EMPTY,), daemon=True).start()


@contextlib.contextmanager
def offered(place: Path) -> Iterator[None]:
    """Draw for whoever asks at ``place`` while the block runs, where a socket can be had there."""
    try:
        server = socketserver.ThreadingUnixStreamServer(str(place), _Answer)
    except OSError:  # the path is longer than that of a socket may be
        yield
        return
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


class _Answer(socketserver.StreamRequestHandler):
    """Answers with a drawing; with nothing where there is none: the notebook then finds out why by itself."""

    def handle(self) -> None:
        with contextlib.suppress(ValueError, OSError):
            self.wfile.write(_drawn(self.rfile.read().decode()).encode())
