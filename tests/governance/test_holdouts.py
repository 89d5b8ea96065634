"""What is published of a private run: nothing but numbers of five and more, and words of closed lists."""

import itertools
import json
import os
import re
import stat
import sys

import pytest

from evalstats import contract
from evalstats.errors import JournalError, UsageError
from evalstats.governance.holdouts import SCHEMA, percent_band, publish, withheld

SCRIPT = "import sys; sys.exit(sys.argv[1] not in open('answers').read().split())"


class Keeper:
    """Keeps a private suite whose cases pass when their name stands among the answers."""

    def __init__(self, repository):
        self.repository = repository
        self.data, self.tree = repository.data, repository.data / "private"

    def run(self, run_id, cases, failing=(), **changes):
        """Run these cases, of which some fail; the suite is made of them."""
        names = [f"case{n}" for n in cases]
        self.repository.write(
            "hidden",
            id="hidden-suite",
            visibility="private_holdout",
            cases=[case(n) for n in names],
            **changes,
        )
        self.repository.answer(" ".join(n for n in names if n not in {f"case{i}" for i in failing}), "hidden")
        return self.repository.run(run_id, folder="hidden", role="evaluator", trials=1)

    def publish(self, run_id, alias="winter-set"):
        """Publish a run, and hold what comes of it against its schema."""
        document = publish(run_id, alias, self.data)
        contract.validate(document, SCHEMA)
        return document


def case(name):
    return {
        "id": name,
        "title": name,
        "kind": "command",
        "objective": "be among the answers",
        "inputs": {"argv": [sys.executable, "-S", "-E", "-c", SCRIPT, name]},
        "expectations": [{"type": "exit_code", "value": 0}],
        "dimensions": ["correctness"],
    }


@pytest.fixture
def keeper(repository):
    return Keeper(repository)


# --- the schema --------------------------------------------------------------------------------------


def leaves(node, place=""):
    """Yield (place, schema) for everything that is no object and no choice."""
    if "$ref" in node:
        owner, _, pointer = node["$ref"].partition("#")
        found = contract.schema("words.v1" if owner else SCHEMA)
        for step in pointer.strip("/").split("/"):
            found = found[step]
        yield from leaves(found, place)
    elif "anyOf" in node:
        for choice in node["anyOf"]:
            yield from leaves(choice, place)
    elif node.get("type") == "object":
        assert node["additionalProperties"] is False, place
        for name, below in node["properties"].items():
            yield from leaves(below, f"{place}/{name}")
    else:
        yield place, node


def test_no_field_takes_free_text():
    found = dict(leaves(contract.schema(SCHEMA)))
    assert len(found) > 15
    texts = {place for place, node in found.items() if node.get("type") in ("string", None, "array")}
    closed = {
        place
        for place in texts
        if {"enum", "const"} & found[place].keys() or found[place].get("type") == "null"
    }
    patterned = texts - closed
    assert patterned == {"/alias", "/published_on", "/ran_on", "/previous/published_on"}
    assert all("pattern" in found[place] for place in patterned)


def test_a_count_below_five_breaks_the_schema(keeper):
    keeper.run("r1", range(12), range(6))
    document = keeper.publish("r1")
    for name, value in itertools.product(("cases", "passed", "failed", "left_out"), range(5)):
        assert contract.problems({**document, name: value}, SCHEMA), (name, value)
    assert not contract.problems({**document, "left_out": 5}, SCHEMA)


# --- small cells -------------------------------------------------------------------------------------


def test_a_run_in_numbers(keeper):
    keeper.run("r1", range(12), range(5))
    document = keeper.publish("r1")
    assert {**document, "published_on": "", "ran_on": ""} == {
        "schema": "holdout-aggregate.v1",
        "alias": "winter-set",
        "published_on": "",
        "ran_on": "",
        "arm": "skill-on",
        "tier": "deterministic",
        "is_mock": False,
        "trials_per_case": 1,
        "cases": 12,
        "passed": 7,
        "failed": 5,
        "left_out": None,
        "pass_percent": 58,
        "pass_percent_band": {"from": 50, "to": 100},
        "previous": None,
    }


@pytest.mark.parametrize("failing", [*range(5), *range(8, 13)])
def test_small_counts_are_told_alike(keeper, failing):
    """Of 12 cases, 0 to 4 failures cannot be told apart, and no more can 0 to 4 passes."""
    keeper.run("r1", range(12), range(failing))
    document = keeper.publish("r1")
    band = {"from": 50, "to": 100} if failing < 5 else {"from": 0, "to": 50}
    told = {
        name: document[name] for name in ("cases", "passed", "failed", "pass_percent", "pass_percent_band")
    }
    assert told == {
        "cases": 12,
        "passed": None,
        "failed": None,
        "pass_percent": None,
        "pass_percent_band": band,
    }


@pytest.mark.parametrize("cases", [5, 9, 10, 19, 20, 25, 49, 50, 99, 100, 101, 1000])
def test_a_band_holds_at_least_five_counts(cases):
    bands = {}
    for passed in range(cases + 1):
        low, high = percent_band(passed, cases)
        assert low <= 100 * passed / cases <= high
        bands.setdefault((low, high), []).append(passed)
    assert min(map(len, bands.values())) >= 5
    assert len({tuple(percent_band(passed, cases)) for passed in range(5)}) == 1
    assert len({tuple(percent_band(cases - failed, cases)) for failed in range(5)}) == 1


@pytest.mark.parametrize("cases", [5, 10, 13, 18, 20, 24])
def test_a_withheld_cell_cannot_be_computed_from_what_is_told(cases):
    """Over all tables of so many cases: with all that is told, a withheld number could be another, too."""
    told = {}
    for a, b, c in itertools.product(range(cases + 1), repeat=3):
        if (d := cases - a - b - c) >= 0:
            margins = (a + c, b + d), (b + c, a + d)  # passed and failed, then and now
            seen = tuple((withheld(pair), percent_band(pair[0], cases)) for pair in margins)
            told.setdefault((seen, withheld((a, b, c, d))), []).append((a, b, c, d, *margins[0], *margins[1]))
    for ((then, now), cells), tables in told.items():
        numbers = (*cells, *then[0], *now[0])
        for position, number in enumerate(numbers):
            values = {table[position] for table in tables}
            assert values == {number} if number is not None else len(values) >= 5, (numbers, tables)


def test_fewer_than_five_cases_are_not_told_of(keeper):
    keeper.run("r1", range(4))
    with pytest.raises(UsageError, match="nothing can be told"):
        keeper.publish("r1")
    assert not (keeper.tree / "publications.jsonl").exists()


# --- what was published before ---------------------------------------------------------------------------


def test_changes_are_told_where_every_kind_has_five(keeper):
    keeper.run("r1", range(24), range(12))
    keeper.publish("r1")
    keeper.run("r2", range(24), [*range(6), *range(12, 18)])
    previous = keeper.publish("r2")["previous"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", previous.pop("published_on"))
    assert previous == {
        "same_cases": True,
        "verdict": "pass",
        "regressed": 6,
        "improved": 6,
        "still_passing": 6,
        "still_failing": 6,
    }


def test_one_small_kind_of_change_withholds_all_and_leaves_the_verdict(keeper):
    keeper.run("r1", range(24), range(8))
    keeper.publish("r1")
    keeper.run("r2", range(24), range(12))
    previous = keeper.publish("r2")["previous"]
    kinds = ("regressed", "improved", "still_passing", "still_failing")
    assert [previous[kind] for kind in kinds] == [None] * 4
    assert (previous["same_cases"], previous["verdict"]) == (True, "regression")


def test_with_few_cases_there_is_no_verdict(keeper):
    keeper.run("r1", range(9))
    keeper.publish("r1")
    keeper.run("r2", range(9), range(9))
    assert keeper.publish("r2")["previous"]["verdict"] is None


@pytest.mark.parametrize(
    ("cases", "differ"), [(range(11), 1), (range(16), 4), (range(2, 14), 4), (range(8), 4)]
)
def test_publications_that_differ_in_a_few_cases_are_refused(keeper, cases, differ):
    keeper.run("r1", range(12))
    keeper.publish("r1")
    assert len(set(cases) ^ set(range(12))) == differ
    keeper.run("r2", cases)
    with pytest.raises(UsageError, match="fewer than 5 counted cases differ"):
        keeper.publish("r2")


def test_other_cases_are_told_of_by_themselves(keeper):
    keeper.run("r1", range(12))
    keeper.publish("r1")
    keeper.run("r2", range(17))
    previous = keeper.publish("r2")["previous"]
    assert previous.pop("published_on")
    assert previous.pop("same_cases") is False
    assert set(previous.values()) == {None}


def test_a_case_that_asks_something_else_is_another_case(keeper):
    keeper.run("r1", range(12))
    keeper.publish("r1")
    asked = [
        {**case(f"case{n}"), "objective": "something else" if n < 2 else "be among the answers"}
        for n in range(12)
    ]
    keeper.repository.write("hidden", id="hidden-suite", visibility="private_holdout", cases=asked)
    keeper.repository.run("r2", folder="hidden", role="evaluator", trials=1)
    with pytest.raises(UsageError, match="fewer than 5 counted cases differ"):
        keeper.publish("r2")


def test_the_guard_looks_at_all_that_was_published_not_only_the_last(keeper):
    keeper.run("r1", range(12))
    keeper.publish("r1")
    keeper.run("r2", range(17))
    keeper.publish("r2")
    keeper.run("r3", range(11))
    with pytest.raises(UsageError, match="fewer than 5 counted cases differ"):
        keeper.publish("r3")


def test_a_run_is_published_once_and_then_said_again(keeper):
    keeper.run("r1", range(12))
    first = keeper.publish("r1")
    keeper.run("r2", range(12))
    keeper.publish("r2")
    assert keeper.publish("r1") == first
    assert len((keeper.tree / "publications.jsonl").read_text().splitlines()) == 2


def test_a_suite_has_one_alias_and_an_alias_one_suite(keeper):
    keeper.run("r1", range(12))
    keeper.publish("r1")
    keeper.run("r2", range(12))
    with pytest.raises(UsageError, match="one alias"):
        keeper.publish("r2", alias="summer-set")


# --- what must not be said, and who may ask --------------------------------------------------------------


@pytest.mark.parametrize(
    "alias", ["", "ab", "Winter", "winter set", "winter--set", "-winter", "winter/1", "a" * 41, "é" * 5]
)
def test_an_alias_of_another_form_is_refused(keeper, alias):
    keeper.run("r1", range(12))
    with pytest.raises(UsageError, match="an alias is 3 to 40"):
        keeper.publish("r1", alias=alias)


@pytest.mark.parametrize(
    "alias",
    [
        "hidden-suite",
        "our-hidden-suite",
        "hidden",
        "tiny",
        "case3",
        "the-case3-set",
        "test",
        "be-among-the-answers",
    ],
)
def test_an_alias_that_says_what_is_private_is_refused(keeper, alias):
    """Ids, folders, the domain, objectives: nothing that stands in the suite is a public name for it."""
    keeper.run("r1", range(12), name="Tiny")
    with pytest.raises(UsageError, match="says what is private") as caught:
        keeper.publish("r1", alias=alias)
    assert alias not in str(caught.value)


def test_a_public_run_has_reports_instead(keeper):
    keeper.repository.run("p1")
    with pytest.raises(UsageError, match="no run of a private suite"):
        keeper.publish("p1")
    with pytest.raises(UsageError, match="there is no run"):
        keeper.publish("p2")


def test_the_register_and_its_key_are_for_their_owner_and_name_nothing(keeper):
    before = os.umask(0)
    try:
        keeper.run("r1", range(12))
        keeper.publish("r1")
    finally:
        os.umask(before)
    register, key = keeper.tree / "publications.jsonl", keeper.tree / "publications.key"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (register, key, keeper.tree)] == [
        0o600,
        0o600,
        0o700,
    ]
    text = register.read_text()
    assert "hidden" not in text and "case1" not in text
    entry = json.loads(text)
    assert len(entry["cases"]) == 12
    guesses = {contract.digest(name.encode()) for name in ("hidden-suite", *(f"case{n}" for n in range(12)))}
    assert not guesses & {entry["suite"], *entry["cases"]}


def test_a_lost_key_or_a_changed_register_stops_everything(keeper):
    keeper.run("r1", range(12))
    keeper.publish("r1")
    key = keeper.tree / "publications.key"
    kept = key.read_bytes()
    key.unlink()
    with pytest.raises(JournalError, match="the key of the register is gone"):
        keeper.publish("r1")
    key.write_text("no key")
    with pytest.raises(JournalError, match="is not the key"):
        keeper.publish("r1")
    key.write_bytes(kept)
    register = keeper.tree / "publications.jsonl"
    register.write_text(register.read_text().replace('"passed":null', '"passed":7'))
    keeper.run("r2", range(12))
    keeper.publish("r2")  # the last line may be changed unseen: nothing follows it yet
    register.write_text(register.read_text().replace('"cases":12', '"cases":13', 1))
    with pytest.raises(JournalError, match="the register of publications is broken"):
        keeper.publish("r2")


def test_keys_differ_from_tree_to_tree(keeper, tmp_path):
    from evalstats.governance import holdout_register

    keys = []
    for name in ("one", "two"):
        with holdout_register.opened(tmp_path / name) as register:
            keys.append(register.keyed("case", "a", "b"))
            assert register.keyed("case", "ab") != register.keyed("case", "a", "b")
    assert keys[0] != keys[1]
