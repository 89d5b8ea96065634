"""The register only grows, refuses nonsense, and keeps who, why, until when and on what evidence."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

import pytest

from evalstats import contract
from evalstats import suite as suites
from evalstats.errors import DocumentError, JournalError, UsageError
from evalstats.governance import quarantine
from evalstats.governance.quarantine import Reason

MARCH = datetime(2026, 3, 1, 12, tzinfo=UTC)
FLAKE = {
    "arm": "skill-on",
    "run_ids": ["r1", "r2"],
    "n_runs": 2,
    "n_trials": 8,
    "n_against": 2,
    "flake_rate": 0.25,
    "conf_low": 0.0319,
    "conf_high": 0.6509,
    "level": 0.95,
    "verdict_flips": None,
}
WAY_BACK = {
    "arm": "skill-on",
    "run_ids": [],
    "n_runs": 0,
    "n_failed": 0,
    "failure_rate_high": None,
    "max_flake": 0.05,
    "level": 0.95,
    "earned": False,
    "more_runs": 59,
}


@pytest.fixture
def suite(tmp_path, write_suite):
    return suites.load(write_suite(tmp_path))


def reason(**changes):
    return Reason(
        **{"by": "ada", "why": "races its server", "until": date(2026, 4, 1), "at": MARCH, **changes}
    )


def test_a_case_goes_in_and_comes_back_and_every_line_stays(suite):
    entry = quarantine.add(suite, "open", reason(), FLAKE)
    assert quarantine.inside(suite) == {"open": entry}
    quarantine.release(suite, "open", reason(by="eve", why="fixed"), WAY_BACK)
    assert quarantine.inside(suite) == {}
    again = quarantine.add(suite, "open", reason(why="not fixed"), FLAKE)
    assert quarantine.inside(suite) == {"open": again}
    assert [(e.action, e.by, e.until) for e in quarantine.lines(suite)] == [
        ("add", "ada", "2026-04-01"),
        ("release", "eve", None),
        ("add", "ada", "2026-04-01"),
    ]


def test_a_line_tells_where_it_comes_from(suite):
    quarantine.add(suite, "open", reason(), FLAKE)
    (line,) = (suite.folder / "quarantine.jsonl").read_text("utf-8").splitlines()
    document = json.loads(line)
    contract.validate(document, "quarantine.v1")
    hashes = suites.hashes(suite)
    assert (document["suite_sha256"], document["suite_scoring"]) == (hashes["raw"], hashes["scoring"])
    assert (document["at"], document["by"], document["why"]) == (
        "2026-03-01T12:00:00.000Z",
        "ada",
        "races its server",
    )
    assert document["evidence"] == FLAKE
    assert document["cli_version"]


def test_adding_twice_and_releasing_what_is_not_in_are_refused_and_write_nothing(suite):
    with pytest.raises(UsageError, match="not in quarantine"):
        quarantine.release(suite, "open", reason(), WAY_BACK)
    assert not quarantine.register_path(suite).exists()
    quarantine.add(suite, "open", reason(), FLAKE)
    before = quarantine.register_path(suite).read_bytes()
    with pytest.raises(UsageError, match="already in quarantine"):
        quarantine.add(suite, "open", reason(), FLAKE)
    with pytest.raises(UsageError, match="not in quarantine"):
        quarantine.release(suite, "refuse", reason(), WAY_BACK)
    assert quarantine.register_path(suite).read_bytes() == before


@pytest.mark.parametrize(
    ("case_id", "changes", "field"),
    [
        ("nobody", {}, "--case"),
        ("open", {"by": " "}, "--by"),
        ("open", {"why": "\n"}, "--why"),
        ("open", {"until": None}, "--until"),
        ("open", {"until": date(2026, 2, 28)}, "--until"),
    ],
)
def test_an_incomplete_reason_is_refused(suite, case_id, changes, field):
    with pytest.raises(UsageError) as caught:
        quarantine.add(suite, case_id, reason(**changes), FLAKE)
    assert caught.value.field == field
    assert not quarantine.register_path(suite).exists()


def test_evidence_of_another_kind_is_refused(suite):
    with pytest.raises(DocumentError):
        quarantine.add(suite, "open", reason(), WAY_BACK)
    with pytest.raises(DocumentError):
        quarantine.add(suite, "open", reason(), {**FLAKE, "conf_low": float("nan")})
    assert not quarantine.register_path(suite).exists()


def test_the_last_day_still_counts(suite):
    entry = quarantine.add(suite, "open", reason(until=date(2026, 3, 1)), FLAKE)
    assert [entry.overdue(date(2026, 3, day)) for day in (1, 2)] == [False, True]


def test_suites_in_one_folder_share_a_register_and_keep_apart(suite, suite_document):
    other = suite.folder / "other.json"
    other.write_text(json.dumps({**suite_document(), "id": "window"}))
    window = suites.load(other)
    quarantine.add(suite, "open", reason(), FLAKE)
    assert quarantine.inside(window) == {}
    quarantine.add(window, "open", reason(), FLAKE)
    assert (len(quarantine.lines(suite)), len(quarantine.lines(window))) == (1, 1)


def test_of_two_at_once_one_is_refused(suite):
    def attempt(_):
        try:
            return quarantine.add(suite, "open", reason(), FLAKE).action
        except UsageError:
            return "refused"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(8)))
    assert sorted(outcomes) == ["add", *["refused"] * 7]
    assert len(quarantine.lines(suite)) == 1


def damaged(suite, change):
    quarantine.add(suite, "open", reason(), FLAKE)
    path = quarantine.register_path(suite)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(JournalError) as caught:
        quarantine.inside(suite)
    return caught.value


def edited(**changes):
    return lambda line: json.dumps({**json.loads(line), **changes}).encode() + b"\n"


@pytest.mark.parametrize(
    ("change", "line", "field"),
    [
        (lambda raw: raw[:-1], 1, None),
        (lambda raw: raw + raw, 2, None),
        (lambda raw: raw + b"\n", 2, None),
        (lambda raw: raw + b"\xff\n", 2, None),
        (lambda raw: raw + b"{}\n", 2, None),
        (edited(until="2026-02-31"), 1, "/until"),
        (edited(at="2026-03-01T99:00:00Z"), 1, "/at"),
        (edited(until=None), 1, "/until"),
        (edited(action="forget"), 1, "/action"),
        (edited(action="release", until=None, evidence=WAY_BACK), 1, None),
    ],
    ids=["torn", "twice", "blank", "binary", "empty", "no day", "no hour", "no end", "no action", "never in"],
)
def test_a_damaged_register_is_refused_with_its_line(suite, change, line, field):
    error = damaged(suite, change)
    assert (error.path, error.line) == (quarantine.register_path(suite), line)
    if field:
        assert error.field == field


def test_any_text_can_be_a_reason(suite):
    why = 'tabs\tand "quotes", 日本 and \x1b[31m'
    quarantine.add(suite, "open", reason(why=why), FLAKE)
    assert quarantine.inside(suite)["open"].why == why
