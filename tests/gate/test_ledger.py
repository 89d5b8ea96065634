"""Decisions are appended, never rewritten, and each line can be read years later."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evalstats import contract
from evalstats.contract import GateVerdict
from evalstats.errors import JournalError
from evalstats.gate import GateResult, append, blocked

RESULT = GateResult(
    verdict=GateVerdict.PASS, reasons=["fine"], suite="door", statistic="lift", margin=0.05, drop=0.01
)


def test_a_decision_is_added_after_the_others(tmp_path):
    path = append(RESULT, tmp_path / "gates")
    first = path.read_bytes()
    assert append(replace(RESULT, verdict=GateVerdict.REGRESSION), tmp_path / "gates") == path
    assert path == tmp_path / "gates/door.jsonl"
    assert path.read_bytes().startswith(first)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["verdict"], line["exit_code"]) for line in lines] == [("pass", 0), ("regression", 1)]


def test_a_line_is_the_whole_result_with_its_time(tmp_path):
    line = json.loads(append(RESULT, tmp_path).read_text())
    assert re.fullmatch(contract.schema("words.v1")["$defs"]["timestamp"]["pattern"], line.pop("decided_at"))
    assert line == RESULT.as_record()
    assert line["power"] is None and line["drop"] == 0.01


def test_each_suite_has_its_own_ledger(tmp_path):
    append(RESULT, tmp_path)
    append(replace(RESULT, suite="window"), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["door.jsonl", "window.jsonl"]


def test_decisions_made_at_once_do_not_mix(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: append(replace(RESULT, reasons=[str(n) * 500]), tmp_path), range(40)))
    lines = (tmp_path / "door.jsonl").read_text().splitlines()
    assert {json.loads(line)["reasons"][0] for line in lines} == {str(n) * 500 for n in range(40)}


def test_a_ledger_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "door.jsonl").mkdir()
    with pytest.raises(JournalError, match="the decision cannot be recorded: Is a directory") as caught:
        append(RESULT, tmp_path)
    assert caught.value.path == tmp_path / "door.jsonl"


def test_the_last_word_on_a_run_says_whether_it_was_blocked(tmp_path):
    for verdict, groups in (
        (GateVerdict.REGRESSION, ["r1"]), (GateVerdict.REGRESSION, ["r2"]), (GateVerdict.INCONCLUSIVE, ["r3"]),
        (GateVerdict.PASS, ["r1"]), (GateVerdict.REGRESSION, ["r3", "r4"]), (GateVerdict.CANNOT_GATE, ["r5"]),
    ):  # fmt: skip
        append(replace(RESULT, verdict=verdict, candidate=groups), tmp_path)
    assert blocked(tmp_path, "door") == {"r2", "r3", "r4"}
    assert blocked(tmp_path, "window") == frozenset()


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "{}", '{"candidate": 3, "verdict": "pass"}', "null", "\xff", "[" * 100_000,
     '{"candidate": "run-1", "verdict": "regression"}', '{"candidate": ["run-1"], "verdict": "fine"}'],
    ids=range(9),
)  # fmt: skip
def test_a_line_that_is_no_decision_is_named(tmp_path, line):
    append(RESULT, tmp_path)
    with (tmp_path / "door.jsonl").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(JournalError, match="is no decision of a gate") as caught:
        blocked(tmp_path, "door")
    assert caught.value.line == 2


def test_what_could_not_be_judged_takes_no_verdict_back(tmp_path):
    for verdict in (GateVerdict.REGRESSION, GateVerdict.CANNOT_GATE):
        append(replace(RESULT, verdict=verdict, candidate=["r1"]), tmp_path)
    assert blocked(tmp_path, "door") == {"r1"}
