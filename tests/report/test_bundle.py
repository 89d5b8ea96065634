import json
import os
import threading

import pytest

from evalstats import contract
from evalstats.errors import ReportError
from evalstats.report import bundle, integrity


def chain(folder):
    return [json.loads(line) for line in (folder.parent / "chain.jsonl").read_text().splitlines()]


def test_versions_count_up_and_chain(publish):
    first, again = publish("one")
    second, _ = publish("two")
    assert not again
    assert first.name.startswith("0001-") and second.name.startswith("0002-")
    lines = chain(first)
    assert [line["version"] for line in lines] == [first.name, second.name]
    raw = (first.parent / "chain.jsonl").read_bytes().splitlines()
    assert lines[0]["previous"] is None and lines[1]["previous"] == contract.digest(raw[0])
    for line, folder in zip(lines, (first, second), strict=True):
        body = {key: value for key, value in line.items() if key != "self"}
        assert line["self"] == contract.canonical_digest(body)
        assert line["manifest_sha256"] == contract.digest((folder / "manifest.json").read_bytes())
        assert line["run_sha256"] == contract.digest((folder / "run.json").read_bytes())


def test_the_manifest_is_canonical_and_seals_itself(publish):
    folder, _ = publish()
    raw = (folder / "manifest.json").read_bytes()
    manifest = json.loads(raw)
    assert contract.canonical(manifest) == raw
    content_hash = manifest.pop("content_hash")
    assert content_hash == contract.canonical_digest(manifest) and folder.name == f"0001-{content_hash[:12]}"
    assert set(manifest["files"]) == {"report.html", "report.json", "tables/t.csv"}


def test_the_same_content_makes_no_new_version(publish):
    first, _ = publish("one")
    publish("two")
    assert publish("one") == (first, True)
    assert len(bundle.versions(first.parent)) == len(chain(first)) == 2


def test_a_failed_version_never_becomes_the_latest(publish, tmp_path):
    good, _ = publish("one")
    bad, _ = publish("two", status="timeout")
    assert bad.name.startswith("0002-failed-")
    assert bundle.latest(tmp_path / "reports", "small", "demo") == good
    assert [v.status for v in bundle.list_reports(tmp_path / "reports")] == ["ok", "timeout"]
    assert publish("three")[0].name.startswith("0003-")
    assert integrity.verify(bad) == []


def test_files_can_be_read_whatever_the_umask(publish):
    before = os.umask(0o077)
    try:
        folder, _ = publish()
    finally:
        os.umask(before)
    assert {oct(p.stat().st_mode & 0o777) for p in folder.rglob("*") if p.is_file()} == {"0o644"}
    assert {oct(p.stat().st_mode & 0o777) for p in (folder, folder / "tables")} == {"0o755"}
    assert oct((folder.parent / "chain.jsonl").stat().st_mode & 0o777) == "0o644"


def test_nothing_half_written_is_left_when_the_disk_refuses(publish, monkeypatch):
    folder, _ = publish("one")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(folder), "rename", full)
    with pytest.raises(ReportError, match="cannot be written: No space left on device"):
        publish("two")
    assert sorted(p.name for p in folder.parent.iterdir()) == [folder.name, "chain.jsonl"]


def test_a_builder_killed_before_the_chain_is_made_good_by_the_next(publish):
    first, _ = publish("one")
    kept = (first.parent / "chain.jsonl").read_bytes()
    second, _ = publish("two")
    (first.parent / "chain.jsonl").write_bytes(kept)
    assert [str(f) for f in integrity.verify(second)] == ["../chain.jsonl: does not name this version"]
    assert publish("two") == (second, True)
    assert integrity.verify(second) == []


def test_nothing_is_added_to_a_broken_chain(publish):
    folder, _ = publish("one")
    path = folder.parent / "chain.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"previous":null', b'"previous":"no"'))
    with pytest.raises(
        ReportError, match="line 1 is not what was written; nothing is added to a broken chain"
    ):
        publish("two")
    assert len(bundle.versions(folder.parent)) == 1


def test_two_who_publish_at_once_both_succeed(publish, tmp_path):
    threads = [threading.Thread(target=publish, args=(f"text {i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folders = bundle.versions(tmp_path / "reports/small/demo")
    assert [folder.name[:4] for folder in folders] == [f"{i:04d}" for i in range(1, 9)]
    assert [str(f) for folder in folders for f in integrity.verify(folder)] == []


def test_references(publish, tmp_path, monkeypatch):
    root = tmp_path / "reports"
    first, _ = publish("one")
    second, _ = publish("two")
    publish("other", subject="zoo")
    assert bundle.resolve(root, "small/demo") == bundle.resolve(root, "small/demo/latest") == second
    assert (
        bundle.resolve(root, f"small/demo/{first.name}") == bundle.resolve(root, "small/demo/0001") == first
    )
    assert bundle.resolve(root, str(first)) == first
    monkeypatch.chdir(first)
    assert bundle.resolve(root, ".").resolve() == first


@pytest.mark.parametrize("lost", ["manifest.json", "report.json", "run.json"])
def test_a_damaged_version_is_still_the_one_that_is_meant(publish, tmp_path, lost):
    folder, _ = publish()
    (folder / lost).unlink()
    assert bundle.resolve(tmp_path / "reports", str(folder)) == folder
    assert integrity.verify(folder)[0].file == lost


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("small", "'small' is no report; give a folder, or NOTEBOOK/SUBJECT"),
        ("small/../../etc", "is no report"),
        ("small/demo/a/b", "is no report"),
        ("small/nothing", "no report small/nothing here; known: small/demo"),
        ("other/demo", "no report other/demo here; known: small/demo"),
        ("small/demo/0007", "0007 is no version of this report; the newest: 0001-"),
    ],
)
def test_references_to_nothing(publish, tmp_path, reference, message):
    publish()
    with pytest.raises(ReportError, match=message):
        bundle.resolve(tmp_path / "reports", reference)


def test_there_may_be_nothing(tmp_path):
    assert bundle.list_reports(tmp_path / "none") == []
    with pytest.raises(ReportError, match="known: none"):
        bundle.resolve(tmp_path / "none", "a/b")


def test_a_listed_version_is_a_record(publish, tmp_path):
    folder, _ = publish()
    (listed,) = bundle.list_reports(tmp_path / "reports")
    assert listed.as_record() == {
        "notebook": "small", "subject": "demo", "version": folder.name, "status": "ok", "path": str(folder),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["", "..", "a/b", "Ä", "-x", "a b"])
def test_names_of_folders(name):
    with pytest.raises(ReportError, match="use lower-case letters"):
        bundle.check_name("subject", name)
