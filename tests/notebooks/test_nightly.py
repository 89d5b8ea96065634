"""The nightly notebook says what `evalstats monitor` says, and what to look at first, whatever happened last night."""

import json
import re

import pytest

from evalstats import contract, report
from evalstats.cli import run_command
from evalstats.errors import UsageError
from evalstats.report import page

PAYLOAD = "<img src=x onerror=alert(1)>"


def noisy(arm, night, case, index):
    """A score without a trend that differs from night to night; the skill passes more often."""
    return float((case * 5 + night * 3 + night * night + index * 7) % 11 < (7 if arm == "skill-on" else 5))


def broken_from(first):
    """Nothing passes with the skill from a night on."""
    return lambda arm, night, case, index: (
        0.0 if arm == "skill-on" and night >= first else noisy(arm, night, case, index)
    )


def lost_on(lost):
    return lambda arm, night, case, index: None if night == lost else noisy(arm, night, case, index)


@pytest.fixture
def morning(tmp_path, make_store, run_cells):
    """Return a function: what happened -> the names of the notebook that was run over it."""

    def run(happens=noisy, *, nights=20, asked=None, **made):
        place = make_store(tmp_path, happens, nights=nights, **made)
        return run_cells("nightly", suite="demo", store=str(place), **(asked or {}))

    return run


@pytest.fixture
def monitored(tmp_path, capsys):
    """Return a function that asks `evalstats monitor --json` of the same store."""

    def ask(*options):
        capsys.readouterr()
        code = run_command(["monitor", "demo", "--data", str(tmp_path / "data"), "--json", *options])
        return {**json.loads(capsys.readouterr().out), "code": code}

    return ask


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({}, ()),
        ({"unit": "run"}, ("--by-run",)),
        ({"since": "2026-11-05"}, ("--since", "2026-11-05")),
        ({"ref": "topic"}, ("--ref", "topic", "--ref", "none")),
        ({"seed": 7}, ("--seed", "7")),
    ],
)
def test_it_holds_the_numbers_of_the_monitor(morning, monitored, asked, options):
    names = morning(
        broken_from(19), asked=asked, unusual={3: {"git": {"candidate_ref": "topic"}}, 6: {"model": "m2"}}
    )
    told = monitored(*options)
    ours = json.loads(json.dumps(names.found.found.as_record()))
    assert {key: told[key] for key in ours} == ours and len(ours["charts"]) == 9
    said = names.draft.document()
    shown = next(t for s in said["sections"] for t in s["tables"] if t["name"] == "charts")
    by_name = {(c["watched"], c["chart"]): c for c in told["charts"]}
    assert len(shown["cells"]) == 9
    for cells in shown["cells"]:
        chart = by_name[cells[0], cells[1]]
        assert cells[2:4] == [str(chart["n_history"]), str(chart["n_new"])]
        assert cells[4] == f"{chart['centre']:.3f}" or chart["watched"] == "difference"


def test_a_confirmed_drop_is_what_to_look_at_first(morning):
    names = morning(broken_from(19))
    said = names.draft.document()
    assert said["finding"].startswith("Look at skill-on first: it has been below its limits since 2026-11-19")
    assert "nothing that identifies a run changed then" in said["finding"]
    assert (
        "Begin with c0, c1 and c2 of 8 cases that fell." in said["finding"] or "that fell" in said["finding"]
    )
    assert said["headline"][0]["value"] == "alarm"
    change = next(e for e in said["estimates"] if e["estimand"].startswith("difference from the history"))
    assert change["watched"] == "skill-on" and change["conf_high"] < 0 and change["n_cases"] == 10
    row = next(t for s in said["sections"] for t in s["tables"] if t["name"] == "last")["cells"][0]
    assert row[:2] == ["demo", "skill-on"] and row[-1] == "alarm" and row[2].startswith("0.00 [")
    assert "level of skill-on" in names.events.csv()


def test_a_drop_of_last_night_is_open(morning):
    said = morning(broken_from(20)).draft.document()
    assert said["finding"].startswith("Look at skill-on first: it was below its limits on 2026-11-20")
    assert said["finding"].endswith("The next night tells whether it stays.")
    assert said["headline"][0]["value"] == "unconfirmed"


def test_a_night_that_came_back_is_not_to_be_looked_at_first(morning):
    def once(arm, night, case, index):
        return 0.0 if arm == "skill-on" and night == 16 and case < 2 else noisy(arm, night, case, index)

    found = morning(once).draft.document()["finding"]
    assert found.startswith("Nothing is confirmed: skill-on was below its limits on 2026-11-16 (shewhart")


def test_who_changed_what_begins_anew_and_stands_on_the_axis(morning):
    names = morning(nights=14, unusual={n: {"model": PAYLOAD} for n in range(14, 15)})
    said = names.draft.document()
    assert said["finding"].startswith(f"Look at what changed first: model m1 -> {PAYLOAD}.")
    assert "Nothing could be charted, so nothing is claimed, over 1 night of one identity." in said["finding"]
    assert f"Changed: 14 Nov model m1 -> {PAYLOAD}." in names.nights.reading
    drawn = page.render(said, drawings(names), [])
    assert "<img" not in drawn and "&lt;img src=x" in drawn


def drawings(names):
    figures = {figure.name: figure for figure in (names.nights, names.moved)}
    return {
        f"{name}{end}": drawing.svg
        for name, figure in figures.items()
        for end, drawing in (("", figure.wide), ("-narrow", figure.narrow))
    }


def test_a_night_lost_to_infrastructure_is_no_drop(morning):
    names = morning(lost_on(20))
    said = names.draft.document()
    assert said["finding"].startswith(
        "Look at the machine first: of the last night 48 of 48 trials failed for infrastructure."
    )
    rows = next(t for s in said["sections"] for t in s["tables"] if t["name"] == "last")["cells"]
    assert {row[2] for row in rows} == {"n/a"} and {row[4] for row in rows} == {"n/a"}
    assert "Not charted: 20 Nov 48 of 48 trials failed for infrastructure." in names.nights.reading
    assert len(names.incidents.frame) == 1 and names.events.frame.empty


def test_few_nights_are_provisional_and_equal_ones_claim_nothing(morning, tmp_path, make_store, run_cells):
    said = morning(nights=5).draft.document()
    assert "provisional: 5 of the 8 runs needed" in json.dumps(said["sections"])
    assert said["headline"][0]["value"] == "unknown"
    assert said["finding"].startswith("Nothing can be told yet: ") and "over 5 nights" in said["finding"]
    place = make_store(tmp_path / "equal", nights=12)  # every night the same
    equal = run_cells("nightly", suite="demo", store=str(place))
    assert "degenerate: all runs agree" in equal.nights.reading
    assert equal.draft.document()["headline"][0]["value"] == "unknown"


def test_one_night_of_many_runs_is_charted_by_run(tmp_path, make_store, run_cells):
    day = {n: {"created_at": f"2026-11-01T02:{n:02d}:00.000Z"} for n in range(1, 13)}
    place = make_store(tmp_path, noisy, nights=12, unusual=day)
    names = run_cells("nightly", suite="demo", store=str(place))
    assert names.found.unit == "run" and len(names.found.found.nights) == 12
    assert "nothing is known of how nights differ" in " ".join(names.draft.document()["caveats"])
    night = run_cells("nightly", suite="demo", store=str(place), unit="night")
    assert len(night.found.found.nights) == 1


def test_one_arm_alone_has_no_difference(morning):
    names = morning(arms=("skill-off",))
    assert names.found.watched == ["skill-off"]
    assert names.draft.document()["headline"][1]["label"] == "skill-off, last night"


def test_a_wrong_unit_is_refused_in_a_line(morning):
    with pytest.raises(UsageError, match="unit: is neither night nor run"):
        morning(nights=2, asked={"unit": "day"})


@pytest.mark.slow
def test_the_same_inputs_give_the_same_report_and_a_branch_is_left_out(tmp_path, make_store, build):
    def drop(arm, night, case, index):
        return 0.0 if night == 11 else noisy(arm, night, case, index)

    one = make_store(tmp_path / "one", noisy, nights=10)
    branch = {11: {"git": {"candidate_ref": "topic"}}}
    two = make_store(tmp_path / "two", drop, nights=11, unusual=branch)
    first, second = build("nightly", one, suite="demo"), build("nightly", two, suite="demo")
    numbers = [contract.read_json(built.path / "report.json")[0] for built in (first, second)]
    assert numbers[0] == numbers[1] and report.verify(first.path) == []
    again, cold = make_store(tmp_path / "three", noisy, nights=10), report.Execution(cold=True)
    assert build("nightly", again, suite="demo").unchanged
    asked = {"store": again, "reports": tmp_path / "reports", "parameters": {"suite": "demo"}}
    assert report.build("nightly", **asked, execution=cold).unchanged
    every = build("nightly", two, suite="demo", ref="*")
    assert contract.read_json(every.path / "report.json")[0]["data"]["n_runs"] == 22
    named = {n: {"git": {"candidate_ref": "topic"}} for n in (1, 2)}
    three = make_store(tmp_path / "named", noisy, nights=2, unusual=named)
    with pytest.raises(UsageError, match="ref: no run of demo was made on nope"):
        build("nightly", three, suite="demo", ref="nope")


WORLDS = {
    "all lost": {"happens": lambda *key: None, "nights": 3},
    "one arm lost": {
        "happens": lambda arm, *key: None if arm == "skill-off" else noisy(arm, *key),
        "nights": 3,
    },
    "all pass": {"happens": lambda *key: 1.0, "nights": 10},
    "all fail": {"happens": lambda *key: 0.0, "nights": 2},
    "one night": {"nights": 1},
    "neither arm of the comparison": {"arms": ("baseline", "candidate"), "nights": 3},
    "first night lost": {"happens": lost_on(1), "nights": 10},
}


@pytest.mark.parametrize("world", WORLDS)
def test_there_is_always_a_page(morning, world):
    names = morning(**WORLDS[world])
    said = names.draft.document()
    drawn = page.render(said, drawings(names), [])
    assert "</html>" in drawn
    cards = [text for card in said["headline"] for text in card.values()]
    paragraphs = [text for section in said["sections"] for text in section["text"]]
    readings = [figure["reading"] for section in said["sections"] for figure in section["figures"]]
    for text in [said["finding"], *cards, *paragraphs, *readings]:
        assert text and not re.search(r"nan|None|\(\)|\b1 (runs|cases|nights|trials)\b|\.\.", text), text
