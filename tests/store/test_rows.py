from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from evalstats.errors import JournalError
from evalstats.store import rows

LEAST = {"run_id": "r1", "suite": {"id": "s"}, "arm": "baseline", "created_at": "2026-01-01T02:00:00+02:00"}
PLACE = Path("r1/manifest.json")


def test_what_a_manifest_does_not_say_is_null() -> None:
    row = rows.run_row(LEAST, PLACE)
    assert {name: value for name, value in row.items() if value is not None} == {
        "run_id": "r1",
        "suite_id": "s",
        "arm": "baseline",
        "created_at": datetime(2026, 1, 1),
        "manifest": '{"arm":"baseline","created_at":"2026-01-01T02:00:00+02:00","run_id":"r1","suite":{"id":"s"}}',
    }


@pytest.mark.parametrize("field", ["/run_id", "/suite/id", "/arm", "/created_at"])
def test_what_a_run_needs_must_be_there(field: str) -> None:
    document: dict[str, Any] = {**LEAST, "suite": dict(LEAST["suite"])}  # type: ignore[call-overload]
    part = document["suite"] if field == "/suite/id" else document
    del part[field.rpartition("/")[2]]
    with pytest.raises(JournalError, match="is missing") as caught:
        rows.run_row(document, PLACE)
    assert (caught.value.path, caught.value.field) == (PLACE, field)


@pytest.mark.parametrize(
    ("field", "changes", "said"),
    [
        ("/arm", {"arm": "left"}, "must be one of skill-on, skill-off"),
        ("/arm", {"arm": ["skill-on"]}, "must be one of"),
        ("/created_at", {"created_at": "yesterday"}, "must be a UTC time"),
        ("/created_at", {"created_at": "2026-01-01T00:00:00"}, "must be a UTC time"),
        ("/created_at", {"created_at": 5}, "must be a UTC time"),
        ("/seed", {"seed": "7"}, "must be a whole number"),
        ("/seed", {"seed": True}, "must be a whole number"),
        ("/is_mock", {"is_mock": 1}, "must be true or false"),
        ("/model", {"model": {"name": "m"}}, "must be text"),
        ("/suite/tier", {"suite": {"id": "s", "tier": "slow"}}, "must be one of deterministic"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(field: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(JournalError, match=said) as caught:
        rows.run_row({**LEAST, **changes}, PLACE)
    assert caught.value.field == field


def test_case_hashes_must_be_digests() -> None:
    with pytest.raises(JournalError, match="/case_hashes: must map case ids to digests"):
        rows.case_table({"case_hashes": {"c1": 5}}, "r1", PLACE)
    assert rows.case_table({"case_hashes": None}, "r1", PLACE).num_rows == 0
