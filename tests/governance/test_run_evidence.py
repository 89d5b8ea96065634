"""Is all there that a run stands on, and does its record say what its journal gives?"""

import json

import pytest

from evalstats import journal
from evalstats.governance.captures import of_run
from evalstats.governance.run_evidence import RunEvidence


@pytest.fixture
def evidence(ran):
    folder = ran.data / "runs/r3"
    return lambda: RunEvidence(of_run(folder), folder, ran.data / "artifacts")


def test_a_run_as_it_was_made_is_whole(evidence):
    whole = evidence()
    assert (whole.missing(), whole.altered()) == ((), ())
    assert len(whole.trials) == 6
    assert set(whole.hashes()) == {"record", "manifest", "journal", "artifacts"}
    assert whole.hashes() == evidence().hashes()


def test_missing_and_damaged_artifacts_are_told(evidence, ran):
    first, second = evidence().artifacts[:2]
    blobs = {path.name.removesuffix(".zst"): path for path in (ran.data / "artifacts").rglob("*.zst")}
    blobs[first].unlink()
    blobs[second].write_bytes(b"damaged")
    assert evidence().missing() == (f"artifact {first[:12]}…", f"artifact {second[:12]}…")


def test_missing_files_of_the_folder_are_told(evidence, ran):
    whole = evidence()
    folder = ran.data / "runs/r3"
    (folder / "suite.json").unlink()
    assert whole.missing() == ("suite.json",)
    assert whole.altered() == ()
    for path in journal.journals(folder):
        path.unlink()
    assert evidence().missing() == ("suite.json", "journal")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda r: r.update(status="error"), "status"),
        (lambda r: r.update(aggregate_score=1.0), "aggregate_score"),
        (lambda r: r["dimension_scores"].update(correctness=1.0), "dimension correctness"),
        (lambda r: r["case_results"][1].update(status="pass"), "status of second"),
        (lambda r: r["case_results"][1].update(score=1.0), "score of second"),
        (lambda r: r["case_results"][0].update(usable=50), "usable of first"),
        (lambda r: r["case_results"][1].update(passes=2), "passes of second"),
        (lambda r: r["case_results"][2].update(critical=False), "critical of third"),
        (lambda r: r["case_results"].pop(1), "status of second"),
    ],
)
def test_a_record_that_was_polished_is_found(evidence, ran, edit, told):
    path = ran.data / "runs/r3/record.json"
    record = json.loads(path.read_text())
    edit(record)
    path.write_text(json.dumps(record))
    assert told in evidence().altered()


def test_a_suite_that_was_swapped_under_the_run_is_found(evidence, ran):
    path = ran.data / "runs/r3/suite.json"
    path.write_text(path.read_text() + "\n")
    assert evidence().altered() == ("the suite file",)
