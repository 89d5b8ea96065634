"""Show the dashboard over loopback: files of one folder, and nothing else of this machine."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from evalstats.errors import UsageError
from evalstats.site.writing import INDEX

HOST = "127.0.0.1"


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files; a listing of a folder is nobody's business, and requests are not logged."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def list_directory(self, path: Any) -> None:
        """Refuse."""
        self.send_error(404)

    def end_headers(self) -> None:
        """Let no page be kept: the next build is at the same address."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


def serve(folder: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve a dashboard until the process is told to stop; calls ``ready`` with its address.

    Port 0 takes any free one. Raises UsageError when there is no dashboard, or the port is taken.
    """
    if not (folder / INDEX).is_file():
        raise UsageError("no dashboard is here; `evalstats site build` makes it", path=folder)
    try:
        server = ThreadingHTTPServer((HOST, port), functools.partial(_Quiet, directory=str(folder)))
    except OSError as error:
        raise UsageError(f"port {port} cannot be had: {error.strerror}", field="--port") from None
    with server:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
        ready(f"http://{HOST}:{server.server_address[1]}/")
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            return
