"""Where baselines lie and what is read of them, on files of our own and on 54 old ones."""

import json
import os
import tarfile
from pathlib import Path

import pytest

from evalstats import contract, suite
from evalstats.errors import DocumentError, SuiteError
from evalstats.governance import baselines

SNAPSHOTS = Path(__file__).parents[3] / "shared/data/agentops/snapshots"


def test_a_baseline_lies_beside_its_suite_or_in_the_flat_folder(repository, tmp_path):
    loaded = suite.load(repository.write())
    beside = tmp_path / "evals/tiny/baselines/tiny.baseline.json"
    assert baselines.locate(loaded) == beside
    assert baselines.locate(loaded, Path("flat")) == Path("flat/tiny.baseline.json")


def test_the_policy_may_name_the_place(repository, tmp_path):
    named = {"mode": "compare", "baseline_path": ".agents/evals/baselines/x.baseline.json"}
    loaded = suite.load(repository.write(baseline_policy=named))
    assert baselines.locate(loaded) == tmp_path / ".agents/evals/baselines/x.baseline.json"
    assert baselines.locate(loaded, Path("flat")) == Path("flat/tiny.baseline.json")


@pytest.mark.parametrize("outside", ["../x.json", "/etc/passwd", "a/../../x", ""])
def test_a_place_outside_the_repository_is_refused(repository, outside):
    try:
        loaded = suite.load(repository.write(baseline_policy={"mode": "compare", "baseline_path": outside}))
    except SuiteError:
        return  # refused at the door already
    with pytest.raises(SuiteError, match="stays inside it"):
        baselines.locate(loaded)


def test_what_is_read(tmp_path, record_of, case_of):
    path = tmp_path / "x.baseline.json"
    record = record_of([case_of("a", diagnostics=["exit_code matched 0"]), case_of("b", case_hash="c" * 64)])
    path.write_text(json.dumps(record))
    found = baselines.read(path)
    assert (found.suite_id, found.run_id, found.raw, found.hashes) == ("tiny", "run", "a" * 64, None)
    assert found.case_ids == ("a", "b")
    assert found.diagnostics == {"a": ("exit_code matched 0",), "b": ()}
    assert found.sha256 == contract.digest(path.read_bytes())
    assert found.case_hashes is None  # one case without
    assert not found.is_private


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"schema_version": 1}', "\x00"])
def test_what_is_no_record_is_one_clear_error(tmp_path, text):
    path = tmp_path / "x.baseline.json"
    path.write_text(text)
    with pytest.raises(DocumentError, match=r"x\.baseline\.json"):
        baselines.read(path)


def test_a_private_document_is_for_nobody_but_its_owner(tmp_path):
    path = tmp_path / "a/x.json"
    baselines.write(path, {"ü": 1}, private=True)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(path.parent).st_mode & 0o777 == 0o700
    assert json.loads(path.read_text("utf-8")) == {"ü": 1}


@pytest.mark.skipif(not SNAPSHOTS.is_dir(), reason="the shared data is not here")
def test_54_old_baselines_are_read(tmp_path):
    with tarfile.open(SNAPSHOTS / "agentops-evals@9c4e32a1.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    found = [baselines.read(path) for path in sorted(tmp_path.rglob(f"*{baselines.SUFFIX}"))]
    assert len(found) == 54
    assert sum(len(one.case_ids) for one in found) == 274
    assert all(one.hashes is None and len(one.raw) == 64 for one in found)
    assert all(one.path.name == baselines.file_name(one.suite_id) for one in found)
