"""A zip archive whose members are read into memory one at a time, never unpacked to disk."""

from __future__ import annotations

import zipfile
from typing import Any

from evalstats.importers.logs import MAX_DOCUMENT, Log

MAX_MEMBERS = 200_000
MAX_RATIO = 1_000  # bytes out for one byte in: what real logs stay far below and a zip bomb does not
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"
_TAIL = (1 << 16) + 200  # where the end of a directory is looked for: the longest comment and the records
_ZSTD = 93


class Archive:
    """A zip archive, its members read into memory one at a time, deflate and zstd alike.

    Of several members of one name the last counts, as the tools that append to archives mean it.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        if _members_said(log) > MAX_MEMBERS:
            raise log.error(f"has more than {MAX_MEMBERS} members")
        try:
            self._zip = zipfile.ZipFile(log.open())
            entries = self._zip.infolist()
        except Exception as error:  # a damaged directory fails in many ways
            raise log.error(f"is not a zip archive: {error}"[:160]) from None
        if sum(entry.file_size for entry in entries) > MAX_RATIO * max(log.size, 1 << 20):
            raise log.error("unpacks to more than a log can hold")
        self.superseded = len(entries) - len({entry.filename for entry in entries})
        self._members = {entry.filename: entry for entry in entries}

    def names(self) -> list[str]:
        """Return the names of the members, each once, in the order of the archive."""
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """Return the bytes of a member. Raises LogError for a bomb, a torn or an encrypted member."""
        entry = self._members[name]
        if entry.file_size > MAX_DOCUMENT or entry.file_size > MAX_RATIO * max(entry.compress_size, 1024):
            raise self.log.error("unpacks to more than a log can hold", field=name)
        try:
            data = _unpacked(self._zip, entry)
        except Exception as error:  # zlib, zstd and zipfile each have errors of their own
            raise self.log.error(f"cannot be unpacked: {error}"[:160], field=name) from None
        if len(data) != entry.file_size:
            raise self.log.error("unpacks to another size than it says", field=name)
        return data

    def json(self, name: str) -> Any:
        """Return a member as JSON."""
        return self.log.parse(self.read(name), field=name)


def _members_said(log: Log) -> int:
    """Return how many members the end of the archive announces: reading a huge directory would take minutes."""
    with log.open() as file:
        file.seek(max(log.size - _TAIL, 0))
        tail = file.read()
    end = tail.rfind(_END)
    count = int.from_bytes(tail[end + 10 : end + 12], "little") if end >= 0 else 0
    large = tail.rfind(_END_64) if count == 0xFFFF else -1
    return int.from_bytes(tail[large + 32 : large + 40], "little") if large >= 0 else count


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.compress_type != _ZSTD:
        with archive.open(entry) as member:
            return member.read(entry.file_size + 1)
    import zlib

    data = _zstd(_raw(archive, entry), entry.file_size)
    if zlib.crc32(data) != entry.CRC:
        raise ValueError("its checksum differs")
    return data


def _raw(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return the compressed bytes of a member, which zipfile itself does not give for zstd."""
    file = archive.fp
    if file is None or entry.flag_bits & 1:
        raise ValueError("it is encrypted")
    file.seek(entry.header_offset)
    header = file.read(30)
    if header[:4] != b"PK\x03\x04":
        raise ValueError("its header is damaged")
    name, extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
    file.seek(entry.header_offset + 30 + name + extra)
    return file.read(entry.compress_size)


def _zstd(data: bytes, size: int) -> bytes:
    """Return all frames of ``data``, at most one byte more than ``size``."""
    from backports import zstd

    parts: list[bytes] = []
    room = size + 1
    while data and room > 0:
        frame = zstd.ZstdDecompressor()
        parts.append(frame.decompress(data, max_length=room))
        room -= len(parts[-1])
        if not frame.eof and room > 0:
            raise ValueError("it ends inside a frame")
        data = frame.unused_data
    return b"".join(parts)
