"""Runs of private suites and of public ones never share a store."""

import os
import stat

import pytest

from evalstats import store
from evalstats.errors import StoreError


def hidden(runs, run_id):
    manifest = runs.manifest(run_id)
    return runs.add(run_id, suite={**manifest["suite"], "visibility": "private_holdout"})


def test_each_store_takes_its_own_runs(path, runs):
    runs.add("p1")
    hidden(runs, "h1")
    public = store.ingest(path, runs.folder)
    assert (public.runs, public.left_out) == (1, 1)
    with store.open(path, read_only=True) as opened:
        assert list(opened.runs()["run_id"]) == ["p1"]
    assert store.check(path, runs.folder) == []

    private = path.with_name("private.duckdb")
    kept = store.ingest(private, runs.folder, private=True)
    assert (kept.runs, kept.left_out) == (1, 1)
    with store.open(private, read_only=True, private=True) as opened:
        assert list(opened.runs()["run_id"]) == ["h1"]
    assert store.check(private, runs.folder, private=True) == []


def test_a_store_with_private_runs_is_opened_by_who_may(path, runs):
    hidden(runs, "h1")
    store.ingest(path, runs.folder, private=True)
    for ask in (store.open, lambda p: store.check(p, runs.folder)):
        with pytest.raises(StoreError, match="only an evaluator reads"):
            ask(path)
    with store.open(path, private=True) as opened, pytest.raises(StoreError, match="unknown suite"):
        opened.require("another")


def test_a_rebuild_leaves_private_runs_out(path, runs):
    runs.add("p1")
    hidden(runs, "h1")
    store.ingest(path, runs.folder, private=True)
    assert store.rebuild(path, runs.folder).runs == 1
    with store.open(path, read_only=True) as opened:
        assert list(opened.runs()["run_id"]) == ["p1"]


def test_a_lake_with_private_runs_is_refused(path, runs, tmp_path):
    hidden(runs, "h1")
    store.ingest(path, runs.folder, private=True)
    with store.open(path, private=True) as opened:
        store.export_parquet(opened, tmp_path / "lake")  # the library lets an evaluator; no command does
    with pytest.raises(StoreError, match="only an evaluator reads"):
        store.open(tmp_path / "lake")


def test_a_private_store_is_its_owners_whatever_the_umask(path, runs):
    hidden(runs, "h1")
    before = os.umask(0)
    try:
        store.ingest(path, runs.folder, private=True)
        store.rebuild(path, runs.folder, private=True)
        with store.open(path, private=True):
            files = list(path.parent.glob(f"{path.name}*"))
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        assert os.umask(0) == 0
    finally:
        os.umask(before)
