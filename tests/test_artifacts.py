"""Blobs are kept once, under the digest of their bytes, and never believed without it."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from backports import zstd

from evalstats.artifacts import Artifacts
from evalstats.errors import JournalError

BLOBS = [b"", b"\xff\x00\xfe", "é\u2028".encode(), b"again " * 100_000]


@pytest.mark.parametrize("data", BLOBS, ids=["empty", "binary", "text", "long"])
def test_what_is_put_is_got(tmp_path, data):
    artifacts = Artifacts(tmp_path / "artifacts")
    name = artifacts.put(data)
    assert name == hashlib.sha256(data).hexdigest()
    assert Artifacts(tmp_path / "artifacts").get(name) == data
    assert artifacts.path(name) == tmp_path / "artifacts" / name[:2] / f"{name}.zst"
    assert artifacts.path(name).stat().st_size < 1000


def test_the_same_bytes_are_kept_once(tmp_path):
    first, second = Artifacts(tmp_path), Artifacts(tmp_path)
    name = first.put(b"text")
    before = first.path(name).stat().st_mtime_ns
    assert second.put(b"text") == first.put(b"text") == name
    assert first.path(name).stat().st_mtime_ns == before
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{name}.zst"]


def test_many_threads_may_put_the_same_bytes_at_once(tmp_path):
    start = threading.Barrier(8)

    def put(number: int) -> set[str]:
        start.wait()
        artifacts = Artifacts(tmp_path)
        return {artifacts.put(b"%d" % i * 5000) for i in range(40)}

    with ThreadPoolExecutor(8) as pool:
        names = set.union(*pool.map(put, range(8)))
    assert len(names) == 40
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == sorted(f"{name}.zst" for name in names)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (None, "missing or unreadable"),
        (b"", "missing or unreadable"),
        (b"not zstd", "missing or unreadable"),
        (zstd.compress(b"text")[:-3], "missing or unreadable"),
        (zstd.compress(b"another text"), "not what its name says"),
    ],
)
def test_a_missing_or_damaged_blob_is_named(tmp_path, damage, words):
    artifacts = Artifacts(tmp_path)
    path = artifacts.path(artifacts.put(b"text"))
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    with pytest.raises(JournalError, match=words) as caught:
        artifacts.get(hashlib.sha256(b"text").hexdigest())
    assert caught.value.path == path


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(JournalError, match="cannot be written: Not a directory"):
        Artifacts(tmp_path / "file").put(b"text")
