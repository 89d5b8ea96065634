"""Who made the suite block: refusals, the record, and every way of tampering with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalstats import suite
from evalstats.errors import JournalError
from evalstats.governance import ratchet_records as records
from evalstats.governance.ratchet import Asked, readiness
from evalstats.governance.ratchet_evidence import Past, Run
from evalstats.stats.decisions import Rule

POLICY = "c" * 64
ADA = records.Signature(by="ada", rationale="steady for two weeks")


def report(n: int, standing: str = "advisory") -> dict[str, Any]:
    runs = [
        Run(
            group_id=f"r{at}",
            started_at=f"2026-01-{at + 1:02}T02:00:00Z",
            unit=f"r{at}",
            day=f"2026-01-{at + 1:02}",
            value=0.8 + (0.005 if at % 4 in (0, 3) else -0.005),
        )
        for at in range(n)
    ]
    told = Asked(suite="door", rule=Rule(margin=0.05), statistic="pass_rate", minimum=8, standing=standing)
    return readiness(Past(runs=runs, watched=runs), told, None, rng=np.random.default_rng(1)).as_record()


READY, NOT_READY = report(12), report(3)


@pytest.fixture
def door(tmp_path, write_suite):
    return suite.load(write_suite(tmp_path))


def test_promote_and_revoke_are_on_record(door):
    assert records.read(door).standing == "advisory"
    entry = records.promote(door, READY, POLICY, ADA)
    assert entry["previous"] is None and entry["state"] == "READY"
    assert records.read(door).standing == "blocking"
    back = records.revoke(door, report(12, "blocking"), POLICY, ADA)
    log = records.read(door)
    assert (log.standing, log.was_revoked, log.problems) == ("advisory", True, ())
    assert [e["action"] for e in log.entries] == ["promote", "revoke"]
    assert back["previous"] is not None
    assert log.path == door.folder / "baselines/ratchets.jsonl"


def test_every_reason_at_once(door):
    with pytest.raises(records.RatchetRefused) as refused:
        records.promote(door, NOT_READY, POLICY, records.Signature(by=" ", rationale=""))
    assert refused.value.reasons[:3] == (
        "say who signs, with --by",
        "say why, with --rationale",
        "it is NOT_READY",
    )
    assert "3 of the 8 runs needed" in refused.value.reasons
    assert not records.read(door).path.exists(), "a refusal leaves no trace"


def test_one_cannot_block_twice_nor_revoke_what_does_not_block(door):
    with pytest.raises(records.RatchetRefused, match="no revoke"):
        records.revoke(door, READY, POLICY, ADA)
    records.promote(door, READY, POLICY, ADA)
    with pytest.raises(records.RatchetRefused) as refused:
        records.promote(door, READY, POLICY, ADA)
    assert refused.value.reasons[0].startswith("it blocks already, since 20")


def test_suites_of_a_flat_folder_share_the_file(door, tmp_path):
    flat = tmp_path / "flat"
    records.promote(door, READY, POLICY, ADA, flat)
    assert records.read(door, flat).standing == "blocking"
    assert records.read(door).standing == "advisory"


def tamper(log: Path, how: str) -> None:
    [signed] = (log.parent / "ratchets").iterdir()
    lines = log.read_bytes().splitlines(keepends=True)
    if how == "rationale":
        log.write_bytes(lines[0].replace(b"two weeks", b"ten weeks") + b"".join(lines[1:]))
    elif how == "report changed":
        signed.write_text(json.dumps({**json.loads(signed.read_text()), "alpha": 0.2}))
    elif how == "report gone":
        signed.unlink()
    elif how == "line cut off":
        log.write_bytes(b"")
    elif how == "torn":
        log.write_bytes(lines[0][:-20])
    else:
        log.write_bytes(b"{}\n" + lines[0])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("report changed", "is not the one that was signed"),
        ("report gone", "is gone"),
        ("line cut off", "no line names the report"),
        ("torn", "was not written whole"),
        ("a line before", "line 1"),
    ],
)
def test_what_was_tampered_with_is_found_and_nothing_is_added(door, how, said):
    records.promote(door, READY, POLICY, ADA)
    tamper(records.log_path(door), how)
    assert any(said in problem for problem in records.read(door).problems)
    with pytest.raises(JournalError, match="not whole"):
        records.revoke(door, READY, POLICY, ADA)


def test_a_changed_word_breaks_the_next_line(door):
    records.promote(door, READY, POLICY, ADA)
    path = records.log_path(door)
    line = path.read_bytes()
    records.revoke(door, report(12, "blocking"), POLICY, ADA)
    path.write_bytes(path.read_bytes().replace(line, line.replace(b"two weeks", b"ten weeks")))
    assert any("does not follow from the line before" in problem for problem in records.read(door).problems)


def test_a_promotion_that_is_not_ready_is_no_line_at_all(door):
    """The schema refuses it too, so a hand-written line does not pass."""
    records.promote(door, READY, POLICY, ADA)
    path = records.log_path(door)
    path.write_bytes(path.read_bytes().replace(b'"state":"READY"', b'"state":"NOT_READY"'))
    assert records.read(door).problems
