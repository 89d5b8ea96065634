"""Content-addressed blobs: stdout, stderr and transcripts, stored once under the digest of their bytes."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from backports import zstd

from evalstats.contract import digest
from evalstats.errors import JournalError


class Artifacts:
    """Blobs under one folder, compressed; ``put`` the same bytes twice and they are kept once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: set[str] = set()

    def path(self, name: str) -> Path:
        """Return where the blob with this digest lies."""
        return self.folder / name[:2] / f"{name}.zst"

    def put(self, data: bytes) -> str:
        """Store ``data`` and return the SHA-256 of the bytes before compression."""
        name = digest(data)
        if name not in self._known:
            self._write(name, data)
            self._known.add(name)
        return name

    def get(self, name: str) -> bytes:
        """Return the bytes behind a digest. Raises JournalError when they are missing or damaged."""
        path = self.path(name)
        try:
            data = zstd.decompress(path.read_bytes())
        except (OSError, zstd.ZstdError):
            raise JournalError("the artifact is missing or unreadable", path=path) from None
        if digest(data) != name:
            raise JournalError("the artifact is not what its name says", path=path)
        return data

    def _write(self, name: str, data: bytes) -> None:
        path = self.path(name)
        if path.exists():
            return
        temporary = path.with_name(f".{name}.{os.getpid()}-{threading.get_ident()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(zstd.compress(data))
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise JournalError(f"the artifact cannot be written: {error.strerror}", path=path) from None
