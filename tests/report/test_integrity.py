import json
import os
import shutil

import pytest

from evalstats import contract
from evalstats.report.integrity import verify


def said(folder):
    return [str(finding) for finding in verify(folder)]


def test_intact(publish):
    folder, _ = publish("one")
    publish("two")
    assert verify(folder) == []
    assert verify(folder / ".") == []


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80])
def test_a_flipped_bit_anywhere_is_found(publish, flip):
    publish("one")
    folder, _ = publish("two")
    files = [*(p for p in folder.rglob("*") if p.is_file()), folder.parent / "chain.jsonl"]
    assert len(files) == 6
    for path in files:
        whole = path.read_bytes()
        for position in range(len(whole)):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ flip]) + whole[position + 1 :])
            assert verify(folder), f"{path.name} at {position}"
        path.write_bytes(whole)
    assert verify(folder) == []


def test_every_byte_that_is_cut_or_added_is_found(publish):
    folder, _ = publish()
    for path in [*(p for p in folder.rglob("*") if p.is_file()), folder.parent / "chain.jsonl"]:
        whole = path.read_bytes()
        for changed in (whole[:-1], whole + b"\n", whole + b" ", b""):
            path.write_bytes(changed)
            assert verify(folder), (path.name, len(changed))
        path.write_bytes(whole)


def test_each_difference_names_its_file(publish):
    folder, _ = publish()
    (folder / "report.html").write_bytes(b"<p>Hello")
    (folder / "tables/t.csv").unlink()
    (folder / "extra.txt").write_bytes(b"")
    (folder / "empty").mkdir()
    assert said(folder) == [
        "report.html: is not what was published",
        "tables/t.csv: is missing",
        "empty: was not published",
        "extra.txt: was not published",
        "tables: was not published",
    ]


def test_links_are_no_files(publish, tmp_path):
    folder, _ = publish()
    for name in ("report.html", "run.json", "manifest.json"):
        path = folder / name
        path.rename(tmp_path / name)
        path.symlink_to(tmp_path / name)
    assert said(folder) == [
        "report.html: is not a plain file",
        "manifest.json: is not the one that the chain names",
        "run.json: is not the one that the chain names",
    ]


def test_a_linked_folder_is_found(publish, tmp_path):
    folder, _ = publish()
    (folder / "tables").rename(tmp_path / "tables")
    (folder / "tables").symlink_to(tmp_path / "tables")
    assert said(folder) == ["tables/t.csv: is missing", "tables: was not published"]


def test_a_renamed_version_is_found(publish):
    folder, _ = publish()
    moved = folder.rename(folder.with_name("0001-" + "0" * 12))
    assert said(moved) == [
        ".: the name of the folder is not that of its content",
        "../chain.jsonl: does not name this version",
        f"../{folder.name}: is named by the chain but gone",
    ]


def test_a_removed_or_foreign_version_is_found(publish, tmp_path):
    first, _ = publish("one")
    second, _ = publish("two")
    foreign, _ = publish("three", root=tmp_path / "elsewhere")
    shutil.copytree(foreign, second.with_name(f"0003-{foreign.name[5:]}"))
    shutil.rmtree(first)
    assert said(second) == [
        f"../{first.name}: is named by the chain but gone",
        f"../0003-{foreign.name[5:]}: is not named by the chain",
    ]


def test_a_rewritten_manifest_is_found_by_the_chain(publish):
    folder, _ = publish()
    (folder / "report.html").write_bytes(b"<p>forged")
    path = folder / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["files"]["report.html"] = {"sha256": contract.digest(b"<p>forged"), "bytes": 9}
    del manifest["content_hash"]
    manifest["content_hash"] = contract.canonical_digest(manifest)
    path.write_bytes(contract.canonical(manifest))
    assert said(folder) == [
        ".: the name of the folder is not that of its content",
        "manifest.json: is not the one that the chain names",
    ]


def test_a_version_without_a_chain_or_manifest(publish):
    folder, _ = publish()
    (folder.parent / "chain.jsonl").unlink()
    assert said(folder) == ["../chain.jsonl: does not name this version"]
    (folder / "manifest.json").unlink()
    assert said(folder)[0] == "manifest.json: is missing or cannot be read"


@pytest.mark.parametrize("text", [b"[]", b"null", b"{}", b'{"files":[]}', b"\xff", b"[" * 100_000])
def test_any_bytes_may_stand_in_a_manifest(publish, text):
    folder, _ = publish()
    (folder / "manifest.json").write_bytes(text)
    (folder.parent / "chain.jsonl").write_bytes(text + b"\n")
    assert "manifest.json: is not what was published" in said(folder)
    assert "../chain.jsonl: line 1 is not what was written" in said(folder)


def test_a_name_in_a_manifest_cannot_lead_outside(publish, tmp_path):
    folder, _ = publish()
    (tmp_path / "secret").write_bytes(b"x")
    path = folder / "manifest.json"
    manifest = json.loads(path.read_bytes())
    outside = os.path.relpath(tmp_path / "secret", folder)
    manifest["files"][outside] = {"sha256": contract.digest(b"x"), "bytes": 1}
    del manifest["content_hash"]
    manifest["content_hash"] = contract.canonical_digest(manifest)
    path.write_bytes(contract.canonical(manifest))
    assert f"{outside}: is missing" in said(folder)
