"""The record of a night: which code counts, what is written is read, and what is no record is refused."""

import json

import pytest

from evalstats.errors import DocumentError
from evalstats.nightly import Night, Part
from evalstats.nightly.record import read, read_all, worst, write

RUN = {"group_id": "g", "n_trials": 3, "n_lost": 0}
PASSED = {"schema": "gate-result.v1", "exit_code": 0}


def run(*statuses):
    arms = ("skill-on", "skill-off")
    each = [
        {"run_id": f"g-{arm}", "arm": arm, "status": status, "aggregate_score": None}
        for arm, status in zip(arms, statuses, strict=False)
    ]
    return ({**RUN, "runs": each},)


def part(**told):
    return Part(**{"suite": "door", "tier": "headless", "gated": False, "blocks": True, **told})


@pytest.mark.parametrize(
    ("codes", "said"), [((), 0), ((0, 4), 4), ((4, 3, 0), 3), ((3, 1, 4), 1), ((0, 0), 0)]
)
def test_the_worst_code_is_a_regression_then_what_cannot_be_judged(codes, said):
    assert worst(iter(codes)) == said


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({}, 0),
        ({"runs": run("pass")}, 0),
        ({"runs": run("fail")}, 1),
        ({"runs": run("inconclusive")}, 4),
        ({"runs": run("error")}, 3),
        ({"runs": run("skipped")}, 3),
        ({"runs": run("fail", "error")}, 1),
        ({"runs": run("fail"), "gated": True}, 0),  # for the gate to weigh
        ({"runs": run("error"), "gated": True}, 3),
        ({"runs": run("fail"), "gated": True, "judged": PASSED}, 0),
        ({"judged": {**PASSED, "exit_code": 4}}, 4),
        ({"judged": PASSED, "error": "reports: no"}, 3),
        ({"runs": run("fail"), "blocks": False}, 0),
    ],
)
def test_what_a_suite_adds_to_the_exit_code(told, code):
    assert part(**told).exit_code == code


def test_what_is_written_is_read_and_listed_by_date(tmp_path):
    nights = [
        Night(
            date=day, simulated=True, began_at=f"{day}T02:00:00.000Z", parts={"door": part(runs=run("pass"))}
        )
        for day in ("2026-03-02", "2026-03-01")
    ]
    for night in nights:
        write(tmp_path, night)
    assert read(tmp_path, "2026-03-02") == nights[0] and read(tmp_path, "2026-03-03") is None
    assert [night.date for night in read_all(tmp_path)] == ["2026-03-01", "2026-03-02"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "night.v1"}',
        "\ud83e".encode("utf-8", "replace").decode(),
        json.dumps({"date": 1}),
    ],
)
def test_what_is_no_record_is_refused_by_name(tmp_path, text):
    (tmp_path / "2026-03-01.json").write_text(text)
    with pytest.raises(DocumentError) as refused:
        read_all(tmp_path)
    assert refused.value.path == tmp_path / "2026-03-01.json"
