"""A lock holds the locked cases and digests of all they stand on; whole or not at all, and never twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalstats import contract
from evalstats import suite as suites
from evalstats.errors import DocumentError, SuiteError, UsageError
from evalstats.governance import locks

Write = Callable[..., Path]
Document = Callable[[], dict[str, Any]]


def door(root: Path, write_suite: Write, document: dict[str, Any]) -> suites.Suite:
    return suites.load(write_suite(root, document))


@pytest.fixture
def lock(tmp_path: Path, write_suite: Write, suite_document: Document) -> locks.Lock:
    made = locks.create("2026Q4", [door(tmp_path, write_suite, suite_document())])
    return locks.read(locks.write(made, tmp_path / "locks"))


def test_the_same_suites_give_the_same_lock_which_says_what_it_holds(
    tmp_path: Path, write_suite: Write, suite_document: Document
) -> None:
    document = suite_document()
    document["cases"].append({**document["cases"][0], "id": "later", "pool": "candidate"})
    made = [
        locks.create("2026Q4", [door(tmp_path / str(i), write_suite, document)], evaluator=bool(i))
        for i in (0, 1)
    ]
    assert made[0] == made[1]
    suite = made[0]["suites"][0]
    assert [(case["id"], case["pool"]) for case in suite["cases"]] == [
        ("open", "locked"),
        ("refuse", "locked"),
    ]
    loaded = suites.load(tmp_path / "0/evals/door/suite.json")
    assert suite["hashes"] == suites.hashes(loaded)
    assert {case["id"]: case["case_hash"] for case in suite["cases"]}.items() <= suites.case_hashes(
        loaded
    ).items()
    assert suite["files"].keys() == {"evals/door/door.txt", "evals/door/rubric.md"}
    assert suite["cases"][0]["files"] == {"evals/door/open.txt": contract.digest(b"open\n")}
    path = locks.write(made[0], tmp_path / "locks")
    assert path.read_bytes() == contract.canonical(made[0]) + b"\n"
    body = {key: value for key, value in made[0].items() if key != "sha256"}
    assert locks.read(path).sha256 == contract.canonical_digest(body) == made[0]["sha256"]


def test_what_a_case_asks_does_not_depend_on_its_pool(
    tmp_path: Path, write_suite: Write, suite_document: Document
) -> None:
    held = set()
    for number, pool in enumerate(({}, {"pool": "locked"}, {"pool": "candidate"})):
        document = suite_document()
        document["cases"][0] |= pool
        suite = door(tmp_path / str(number), write_suite, document)
        case = locks.frozen(suite).cases["open"]
        assert suites.case_hashes(suite)["open"] == case.case_hash
        assert case.case_hash in case.any_pool
        held.add(case.any_pool)
    assert len(held) == 1
    document["cases"][0]["prompt"] = "now"
    assert locks.frozen(door(tmp_path / "3", write_suite, document)).cases["open"].any_pool not in held


def test_a_lock_is_never_overwritten_not_even_by_itself(lock: locks.Lock, tmp_path: Path) -> None:
    path = tmp_path / "locks" / "2026Q4.json"
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"2026Q4\.json: is there already"):
        locks.write(json.loads(before), path.parent)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_of_many_at_once_one_wins_and_the_file_is_whole(lock: locks.Lock, tmp_path: Path) -> None:
    document = json.loads((tmp_path / "locks" / "2026Q4.json").read_text())
    (tmp_path / "document.json").write_text(json.dumps(document))
    code = (
        "import json, pathlib, sys\nfrom evalstats.governance import locks\n"
        "document = json.loads(pathlib.Path(sys.argv[1]).read_text())\n"
        "try: locks.write(document, pathlib.Path(sys.argv[2]))\nexcept Exception as e: sys.exit(type(e).__name__)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "document.json"), str(tmp_path / "race")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=60)[1].strip() for process in running]
    assert sorted(said) == ["", *["UsageError"] * 3]
    assert locks.read(tmp_path / "race" / "2026Q4.json") == lock


@pytest.mark.parametrize(
    ("name", "match"),
    [("../2026Q4", "named with"), ("", "named with"), ("2026 Q4", "named with"), ("é", "named with")],
)
def test_a_name_is_a_plain_word(
    name: str, match: str, tmp_path: Path, write_suite: Write, suite_document: Document
) -> None:
    with pytest.raises(UsageError, match=match):
        locks.create(name, [door(tmp_path, write_suite, suite_document())])


def test_what_cannot_be_locked_is_refused(
    tmp_path: Path, write_suite: Write, suite_document: Document
) -> None:
    suite = door(tmp_path, write_suite, suite_document())
    with pytest.raises(UsageError, match="no suite to lock"):
        locks.create("q", [])
    with pytest.raises(UsageError, match="'door' is used twice"):
        locks.create("q", [suite, suite])
    (tmp_path / "evals/door/open.txt").unlink()
    with pytest.raises(SuiteError, match="is missing"):
        locks.create("q", [suite])


def test_a_private_suite_leaves_digests_and_no_word(
    tmp_path: Path, write_suite: Write, suite_document: Document
) -> None:
    document = suite_document()
    document |= {"visibility": "private_holdout", "id": "hidden-4f2a", "name": "Hidden 4f2a"}
    document["cases"][0]["id"] = "secret-4f2a"
    private = door(tmp_path, write_suite, document)
    with pytest.raises(UsageError, match="role evaluator"):
        locks.create("q", [private])
    made = locks.create("q", [private], evaluator=True)
    assert made["suites"] == [] and len(made["private"]) == 1
    assert set(made["private"][0]) == {"raw", "canonical", "scoring", "metadata"}
    assert "4f2a" not in json.dumps(made).replace(made["sha256"], "").replace(str(made["private"]), "")
    (tmp_path / "evals/door/open.txt").unlink()
    with pytest.raises(UsageError) as caught:
        locks.create("q", [private], evaluator=True)
    assert "open" not in str(caught.value) and "door" not in str(caught.value)


def test_a_lock_that_was_changed_by_hand_is_no_lock(lock: locks.Lock, tmp_path: Path) -> None:
    path = tmp_path / "locks" / "2026Q4.json"
    text = path.read_text()
    path.write_text(text.replace('"id":"refuse"', '"id":"refuge"'))
    with pytest.raises(DocumentError, match="changed after it was made"):
        locks.read(path)
    path.write_text(text[: len(text) // 2])
    with pytest.raises(DocumentError, match="not JSON"):
        locks.read(path)
    path.write_text("{}")
    with pytest.raises(DocumentError, match="required"):
        locks.read(path)
    other = path.with_name("2027Q1.json")
    other.write_text(text)
    with pytest.raises(DocumentError, match="under another name"):
        locks.read(other)


def test_a_lock_is_found_by_name_by_path_and_the_last_without_either(
    lock: locks.Lock, tmp_path: Path
) -> None:
    path = tmp_path / "locks" / "2026Q4.json"
    path.with_name("2026Q3.json").write_text("{}")
    assert locks.find("2026Q4", tmp_path) == locks.find(str(path), Path("else")) == path
    assert locks.find(None, tmp_path) == path
    with pytest.raises(UsageError, match="no such lock; known: 2026Q3, 2026Q4"):
        locks.find("2026Q1", tmp_path)
    with pytest.raises(UsageError, match="lock create"):
        locks.find(None, tmp_path / "empty")


# --- the cases of a headline ---------------------------------------------------------------------


def case_runs(lock: locks.Lock, **hashes: str | None) -> pd.DataFrame:
    known: dict[str, str | None] = {c.id: c.case_hash for c in lock.suite("door").cases.values()}
    rows = [
        {"suite_id": "door", "run_id": run, "case_id": case, "created_at": day, "case_hash": digest}
        for day, run in enumerate(("r1", "r2"))
        for case, digest in {**known, "later": "f" * 64, **hashes}.items()
    ]
    return pd.DataFrame(rows)


def test_candidates_enter_no_headline(lock: locks.Lock) -> None:
    kept = locks.locked_cases(case_runs(lock), lock)
    assert kept[["run_id", "case_id"]].to_numpy().tolist() == [
        ["r1", "open"],
        ["r1", "refuse"],
        ["r2", "open"],
        ["r2", "refuse"],
    ]


def test_a_run_of_a_changed_case_is_refused_and_a_new_pool_is_no_change(lock: locks.Lock) -> None:
    for digest in lock.suite("door").cases["open"].any_pool:
        assert len(locks.locked_cases(case_runs(lock, open=digest), lock)) == 4
    with pytest.raises(UsageError, match="case content or fixture changed: run r2 tried another case 'open'"):
        locks.locked_cases(case_runs(lock, open="0" * 64), lock)
    with pytest.raises(UsageError, match="recorded no digests"):
        locks.locked_cases(case_runs(lock, open=None), lock)
    older = case_runs(lock)
    older.loc[0, "case_hash"] = "0" * 64  # of r1: a run from before, which identity leaves out
    assert len(locks.locked_cases(older, lock)) == 4


def test_a_suite_outside_the_lock_has_no_locked_case(lock: locks.Lock) -> None:
    with pytest.raises(UsageError, match="suite 'window' is not in lock 2026Q4; in it: door"):
        locks.locked_cases(case_runs(lock).assign(suite_id="window"), lock)
