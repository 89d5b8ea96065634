"""The scanner finds a secret in each of seventeen forms, and in packed tables and pictures."""

import base64
import contextlib
import gzip
import hashlib
import html
import io
import json
import struct
import tarfile
import urllib.parse
import zipfile
import zlib

import pytest
from backports import zstd

CANARY, WORD = "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "bikoduvepa"
TEXT = f"the answer of {WORD} is {CANARY}, they say"
DATA = TEXT.encode()


def in_zip(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.txt", data)
    return file.getvalue()


FORMS = {
    "plain": DATA,
    "base64, from its first byte": base64.b64encode(DATA),
    "base64, after one byte": base64.b64encode(b"?" + DATA),
    "base64, after two bytes": base64.b64encode(b"??" + DATA),
    "base64 for URLs": base64.urlsafe_b64encode(b"\xfb\xff" + DATA),
    "hex": DATA.hex().encode(),
    "UTF-16": TEXT.encode("utf-16"),
    "gzip": gzip.compress(DATA),
    "zip": in_zip(DATA),
    "zstd": zstd.compress(DATA),
    "HTML entities": "".join(f"&#{ord(c)};" for c in TEXT).encode(),
    "URL": "".join(f"%{ord(c):02x}" for c in TEXT).encode(),
    "JSON escapes": "".join(f"\\u{ord(c):04x}" for c in TEXT).encode(),
    "backwards": TEXT[::-1].encode(),
    "upper case": TEXT.upper().encode(),
    "split over lines": "\n".join(TEXT[i : i + 5] for i in range(0, len(TEXT), 5)).encode(),
    "its digest": hashlib.sha256(CANARY.encode()).hexdigest().encode(),
}
MORE = {
    "split by tags": "<b>".join(TEXT).encode(),
    "cut off": f"…{CANARY[9:21]}…".encode(),
    "the word alone": f"the {WORD} of it".encode(),
    "HTML in JSON": json.dumps(html.escape(f"<{TEXT}>")).encode(),
    "quoted twice": urllib.parse.quote(urllib.parse.quote(TEXT)).encode(),
    "gzip in base64 in zip": in_zip(base64.b64encode(gzip.compress(DATA))),
    "another digest": hashlib.md5(WORD.encode()).hexdigest().encode(),
}


@pytest.fixture
def scanner(scanner_of):
    return scanner_of({"the field": (CANARY, WORD)})


def test_there_are_seventeen():
    assert len(FORMS) == 17


@pytest.mark.parametrize("form", [*FORMS, *MORE])
def test_it_finds(scanner, form):
    planted = {**FORMS, **MORE}[form]
    assert scanner.scan(planted) == {"the field"}
    if not planted.startswith((b"\x1f\x8b", b"PK", b"\x28\xb5")):  # a packed file begins the file it is
        assert scanner.scan(b"before ... " + planted + b" ... after") == {"the field"}


def test_it_finds_nothing_where_nothing_is(scanner):
    other = hashlib.sha256(b"something else").hexdigest()
    assert scanner.scan(f"an answer of another is {other}".encode()) == set()
    assert scanner.scan(b"") == set()


def test_it_reads_pictures_tables_databases_archives_and_names(scanner, tmp_path):
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    chunk = b"zTXtComment\0\0" + zlib.compress(DATA)
    picture = (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", len(chunk) - 4)
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
    )
    (tmp_path / "picture.png").write_bytes(picture)
    pq.write_table(pa.table({"a": [TEXT] * 3}), tmp_path / "table.parquet", compression="zstd")
    with contextlib.closing(duckdb.connect(str(tmp_path / "base.duckdb"))) as connection:
        connection.execute("create table t as select ? as a", [TEXT])
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        (tmp_path / "inner").write_bytes(gzip.compress(DATA))
        archive.add(tmp_path / "inner", "inner")
    (tmp_path / f"x-{WORD}").mkdir()
    found = scanner.scan_tree(tmp_path)
    assert set(found) == {"picture.png", "table.parquet", "base.duckdb", "all.tar", "inner", f"x-{WORD}"}
