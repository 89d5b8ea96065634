"""Finds planted secrets in anything that a program left behind, in whatever form.

A secret is a canary of 128 random bits and a short word, both in lower case. Text is looked at as it is, unescaped,
without tags and spaces, and backwards; what looks like base64 or hex is decoded, what is packed is unpacked, and
the digests of secrets are known. Twelve characters of a canary in a row are enough.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import io
import json
import re
import tarfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from backports import zstd

ENOUGH = 12
DEEPEST = 4
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_HEX = re.compile(rb"[0-9A-Fa-f]{24,}")
_HEX_TEXT = re.compile(r"[0-9a-f]{12,}")
_ESCAPES = re.compile(r"\\u([0-9a-f]{4})|\\x([0-9a-f]{2})")
_GAPS = re.compile(r"<[^>]*>|[\s\"'|│+\\]+")


class Scanner:
    """Knows secrets by the field they were planted in: field -> (canary, word)."""

    def __init__(self, secrets: Mapping[str, tuple[str, str]]) -> None:
        self._words = {word: field for field, (_, word) in secrets.items()}
        self._any_word = re.compile("|".join(map(re.escape, self._words)))
        self._pieces = {
            canary[start : start + ENOUGH]: field
            for field, (canary, _) in secrets.items()
            for start in range(len(canary) - ENOUGH + 1)
        }
        self._digests = {
            hashlib.new(kind, form.encode()).hexdigest(): field
            for field, (canary, word) in secrets.items()
            for form in (canary, word, f"{word}-{canary}")
            for kind in ("sha256", "sha1", "md5")
        }

    def scan(self, data: bytes, depth: int = 0) -> set[str]:
        """Return the fields whose secrets are in ``data``."""
        found = set().union(*map(self._in_text, _views(data)))
        if depth < DEEPEST:
            for inner in (*_unpacked(data), *_decoded(data)):
                found |= self.scan(inner, depth + 1)
        return found

    def scan_tree(self, root: Path, keep_out: Iterable[Path] = ()) -> dict[str, set[str]]:
        """Return path -> fields found in its name or content, for every file and folder below ``root``."""
        closed, found = list(keep_out), {}
        for path in sorted(root.rglob("*")):
            if any(path.is_relative_to(place) for place in closed):
                continue
            fields = self.scan(str(path.relative_to(root)).encode(errors="surrogateescape"))
            if path.is_file() and not path.is_symlink():
                fields |= self.scan_file(path)
            if fields:
                found[str(path.relative_to(root))] = fields
        return found

    def scan_file(self, path: Path) -> set[str]:
        """Return the fields whose secrets a file holds; tables are read as tables, too."""
        found = self.scan(path.read_bytes())
        for text in _table_texts(path):
            found |= self.scan(text)
        return found

    def _in_text(self, text: str) -> set[str]:
        found = {self._words[word] for word in self._any_word.findall(text)}
        for run in _HEX_TEXT.findall(text):
            found |= {self._digests[run]} if run in self._digests else set()
            for start in range(len(run) - ENOUGH + 1):
                field = self._pieces.get(run[start : start + ENOUGH])
                found |= {field} if field else set()
        return found


def _views(data: bytes) -> Iterator[str]:
    text = data.replace(b"\0", b"").decode("utf-8", "replace").casefold()  # also UTF-16 and UTF-32 of ASCII
    yield text
    plain = _ESCAPES.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    plain = urllib.parse.unquote_plus(html.unescape(plain)).casefold()
    yield plain
    for view in (text, plain):
        joined = _GAPS.sub("", view)
        yield joined
        yield joined[::-1]


def _decoded(data: bytes) -> Iterator[bytes]:
    data = data.replace(b"\0", b"")
    for found in _BASE64.findall(data):
        coded = found.translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):
            part = coded[start:]
            with contextlib.suppress(ValueError):
                yield base64.b64decode(part[: len(part) // 4 * 4])
    for found in _HEX.findall(data):
        for start in range(2):
            part = found[start:]
            yield bytes.fromhex(part[: len(part) // 2 * 2].decode())


def _unpacked(data: bytes) -> Iterator[bytes]:
    for magic, start, open_it in _PACKED:
        if data[start : start + len(magic)] == magic:
            with contextlib.suppress(*_DAMAGED):
                yield from open_it(data)


def _in_zip(data: bytes) -> Iterator[bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            yield name.encode()
            yield archive.read(name)


def _in_tar(data: bytes) -> Iterator[bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive.getmembers():
            if member.isfile():
                yield archive.extractfile(member).read()


def _in_picture(data: bytes) -> Iterator[bytes]:
    for place in re.finditer(rb"zTXt|iTXt|IDAT", data):
        for start in range(place.end(), min(place.end() + 90, len(data))):
            with contextlib.suppress(zlib.error):
                yield zlib.decompressobj().decompress(data[start:], 1 << 20)


_DAMAGED = (OSError, EOFError, RuntimeError, zlib.error, zstd.ZstdError, zipfile.BadZipFile, tarfile.TarError)
_PACKED = (
    (b"\x1f\x8b", 0, lambda data: [zlib.decompressobj(31).decompress(data)]),  # also where its end is missing
    (b"\x28\xb5\x2f\xfd", 0, lambda data: [zstd.decompress(data)]),
    (b"PK", 0, _in_zip),
    (b"ustar", 257, _in_tar),
    (b"\x89PNG\r\n\x1a\n", 0, _in_picture),
)


def _table_texts(path: Path) -> Iterator[bytes]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        yield json.dumps(pq.read_table(path, partitioning=None).to_pylist(), default=str).encode()
    if path.suffix == ".duckdb":
        import duckdb

        with contextlib.closing(duckdb.connect(str(path), read_only=True)) as connection:
            for (table,) in connection.execute("select table_name from duckdb_tables()").fetchall():
                rows = connection.execute(f'select * from "{table}"').fetchall()
                yield json.dumps(rows, default=str).encode()
