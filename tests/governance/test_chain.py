"""The append-only file: what is found when somebody tampers with it."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalstats import contract
from evalstats.errors import DocumentError, JournalError
from evalstats.governance import chain

SCHEMA = "baseline-review.v1"


def entry(number):
    return {
        "schema_version": 1,
        "suite_id": "tiny",
        "run_id": f"run-{number}",
        "record_sha256": "a" * 64,
        "reviewer": "Zoë",
        "reviewed_at": "2026-07-01T00:00:00Z",
        "outcome": "accepted",
        "looked_at": ["cases"],
        "notes": "",
    }


@pytest.fixture
def three(tmp_path):
    path = tmp_path / "folder/chain.jsonl"
    for number in range(3):
        chain.append(path, entry(number), SCHEMA)
    return path


def test_each_line_names_the_digest_of_the_one_before(three):
    lines = three.read_bytes().splitlines()
    previous = [json.loads(line)["previous"] for line in lines]
    assert previous == [None, contract.digest(lines[0]), contract.digest(lines[1])]
    found = chain.read(three, SCHEMA)
    assert (len(found.entries), found.head, found.problems) == (3, contract.digest(lines[2]), ())


def test_no_file_is_an_empty_chain(tmp_path):
    found = chain.read(tmp_path / "none", SCHEMA)
    assert (found.entries, found.head, found.problems) == ((), None, ())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_change_of_a_byte_but_in_the_last_line_is_found(three, data):
    whole = three.read_bytes()
    end = whole.rindex(b"\n", 0, -1)
    place = data.draw(st.integers(0, end))
    changed = bytes([data.draw(st.integers(0, 255).filter(lambda b: b != whole[place]))])
    copy = three.with_name("copy.jsonl")
    copy.write_bytes(whole[:place] + changed + whole[place + 1 :])
    assert chain.read(copy, SCHEMA).problems


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda lines: lines[1:], "line 1: does not follow"),
        (lambda lines: [lines[0], lines[2]], "line 2: does not follow"),
        (lambda lines: [lines[1], lines[0], lines[2]], "does not follow"),
        (lambda lines: [*lines, b"{}"], "line 4:"),
        (lambda lines: [*lines, b"\xff"], "line 4:"),
        (lambda lines: [*lines, b""], "line 4:"),
    ],
)
def test_lines_cannot_be_taken_out_moved_or_slipped_in(three, edit, words):
    three.write_bytes(b"".join(line + b"\n" for line in edit(three.read_bytes().splitlines())))
    assert any(words in problem for problem in chain.read(three, SCHEMA).problems)
    with pytest.raises(JournalError, match="broken chain"):
        chain.append(three, entry(9), SCHEMA)


def test_a_torn_tail_is_told(three):
    three.write_bytes(three.read_bytes() + b'{"half')
    assert chain.read(three, SCHEMA).problems == ("line 4: was not written whole",)


def test_an_entry_that_breaks_its_schema_is_never_written(three):
    before = three.read_bytes()
    with pytest.raises(DocumentError):
        chain.append(three, {**entry(3), "outcome": "perhaps"}, SCHEMA)
    assert three.read_bytes() == before


def test_two_at_once_make_one_chain(tmp_path):
    path = tmp_path / "chain.jsonl"

    def add(number):
        with chain.alone(path):
            chain.append(path, entry(number), SCHEMA)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    found = chain.read(path, SCHEMA)
    assert (len(found.entries), found.problems) == (40, ())


def test_no_two_are_alone_at_once_though_the_first_makes_the_folder(tmp_path):
    path, inside, most = tmp_path / "far/away/chain.jsonl", [], []

    def enter(number):
        with chain.alone(path):
            inside.append(number)
            most.append(len(inside))
            path.parent.mkdir(parents=True, exist_ok=True)
            if number % 3:
                (path.parent / "written").touch()
            time.sleep(0.002)
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(enter, range(40)))
    assert max(most) == 1


def test_who_adds_nothing_leaves_no_folder(tmp_path):
    with chain.alone(tmp_path / "far/away/chain.jsonl"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_private_chain_is_for_nobody_but_its_owner(tmp_path):
    path = tmp_path / "private/chain.jsonl"
    with chain.alone(path, private=True):
        chain.append(path, entry(1), SCHEMA, private=True)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
