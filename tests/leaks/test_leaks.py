"""Nothing of a private suite comes out: not by any command, on no path, in no file, in no form."""

from __future__ import annotations

import json
import os
import signal
import stat
import time

import pytest
import typer

from evalstats.cli.app import build_app
from evalstats.cli.holdouts import SHOWING

EVALUATOR = ["--role", "evaluator"]
DATA = "../../data"
TREE = f"{DATA}/private"
OUT = "../../../out"


def leaves(command, place=()):
    """Yield (words, command) for every command there is, also those that nobody thought of here."""
    for name, below in getattr(command, "commands", {}).items():
        if getattr(below, "commands", None):
            yield from leaves(below, (*place, name))
        else:
            yield (*place, name), below


SERVERS = {"lab", "serve"}  # they run until they are stopped
COMMANDS = dict(leaves(typer.main.get_command(build_app())))

# What a command is given: for each kind of argument something private, or something beside it.
WITHIN = {"--suites": "..", "--data": DATA}
GIVEN = {
    "the suite": {"": ".", **WITHIN},
    "the suite, as an evaluator": {"": ".", **WITHIN, "--role": "evaluator"},
    "a private run": {"": "h1", **WITHIN},
    "a private run, as an evaluator": {"": "h1", **WITHIN, "--role": "evaluator"},
    "the private tree": {"": f"{TREE}/runs/h1", "--data": TREE, "--store": f"{TREE}/evalstats.duckdb"},
    "the private tree, as an evaluator": {"": f"{TREE}/runs/h1", "--data": TREE, "--role": "evaluator"},
    "a private file": {"": f"{TREE}/runs/h1/record.json", "--suites": "..", "--policy": "suite.json"},
    "the suite file": {"": "suite.json", "--policy": "suite.json", "--report": "suite.json", **WITHIN},
    "a public suite beside it": {"": "door", **WITHIN},
}
# The short version: the suite, and the run in the role where there is one, by its place where there is none.
FAST = {True: ("the suite", "a private run, as an evaluator"), False: ("the suite", "the private tree")}
NEEDED = {  # what an option is given where a command insists on it
    "--policy": "suite.json",
    "--parquet": f"{OUT}/lake",
    "--by": "me",
    "--why": "why",
    "--until": "2030-01-01",
    "--case": "none",
    "--alias": "winter-set",
    "--out": f"{OUT}/public.json",
    "--looked-at": "cases",
}


def command_line(words, command, given, *, as_json):
    """Return a command with everything it insists on."""
    line, options = [], []
    for parameter in command.params:
        name = parameter.opts[0]
        if parameter.param_type_name == "argument":
            line += [given[""]] if parameter.required or not line else []
        elif name in given:
            options += [name, given[name]]
        elif parameter.required:
            options += [name, NEEDED.get(name, "x")]
        elif as_json and name == "--json":
            options.append(name)
    return [*words, *line, *options]


def every_command(kinds=None):
    """Return each command with each kind of thing, as a table and as JSON; or a short list, by turns."""
    lines = []
    for number, (words, command) in enumerate(COMMANDS.items()):
        if words[-1] in SERVERS or words == ("run",):  # of which more below
            continue
        has_role = "role" in {parameter.name for parameter in command.params}
        for turn, kind in enumerate(kinds or FAST[has_role]):
            for as_json in (False, True) if kinds else ((number + turn) % 2 == 0,):
                lines.append(command_line(words, command, GIVEN[kind], as_json=as_json))
    return lines


def run(*more, role=EVALUATOR):
    return ["run", ".", "--data", DATA, *more, *role]


def publish(run_id, name):
    return [
        *("holdout", "publish", run_id, "--alias", "winter-set", "--out", f"{OUT}/{name}", "--data", DATA),
        *EVALUATOR,
    ]


RUNS = [  # (command, exit code)
    (["run", "door", "--suites", "..", "--data", DATA, "--run-id", "p1"], 0),
    (run(role=[]), 2),
    (run("--dry-run"), 0),
    (run("--dry-run", "--json"), 0),
    (run("--run-id", "h1"), 3),
    (run("--run-id", "h2", "--progress", "jsonl"), 3),
    (run("--run-id", "h3", "--mode", "both", "--progress", "rich", "--debug"), 3),
    (run("--json"), 2),
    (run("--out", f"{OUT}/record.json"), 2),
    (run("--store", f"{OUT}/other.duckdb"), 2),
    (run("--case", "none", "--debug"), 1),
    (run("--archetype", "none"), 2),
    (run("--candidate", "HEAD", "--debug"), 1),
    (["run", "--resume", "h1", "--data", DATA], 2),
    (["run", "--resume", "h1", "--data", DATA, *EVALUATOR], 3),
    (publish("h1", "1.json"), 0),
    (publish("h2", "2.json"), 0),
    (["gate", "suite.json", "--minimum-delta", "0", "--data", DATA], 2),
    (["import", "../..", "--data", DATA], 2),
    (["import", "../..", "--data", f"{OUT}/data"], 1),
    (["import", f"{TREE}/runs/h1/journal", "--data", f"{OUT}/data"], 1),
    (["import", f"{TREE}/runs/h1/record.json", "--data", f"{OUT}/data"], 2),
    (["import", "suite.json", "--format", "table", "--data", f"{OUT}/data"], 2),
]


SHOWN = [
    ["suite", "show", ".", *EVALUATOR, "--json"],
    ["suite", "hash", ".", *EVALUATOR, "--json"],
    ["runs", *EVALUATOR, "--json", "--data", DATA],
    ["holdout", "show", "h1", *EVALUATOR, "--json", "--data", DATA],
    ["baseline", "compare", "h1", "h2", *EVALUATOR, "--json", "--suites", "..", "--data", DATA],
]


@pytest.fixture(scope="module")
def said(world):
    """Run everything once; the tests look at what came of it."""
    return world.drive([*(line for line, _ in RUNS), *every_command(), *SHOWN])


def of(said, *words):
    return [one for one in said if tuple(one.argv[: len(words)]) == words]


def test_every_command_is_tried_and_understood(said):
    for words in COMMANDS:
        tried = of(said, *words)
        assert tried or words[-1] in SERVERS, words
        for one in tried:
            assert b"Missing " not in one.err and b"No such option" not in one.err, one
    assert {one.code for one in said} <= {0, 1, 2, 3, 4}


def test_the_runs_ended_in_every_way(world, said):
    assert [one.code for one in said[: len(RUNS)]] == [code for _, code in RUNS]
    document = json.loads((world.data / "private/runs/h1/record.json").read_text())
    statuses = [case["status"] for case in document["case_results"]]
    assert statuses == ["pass", "fail", "error", "fail", "inconclusive", *["pass"] * 8]


def test_nothing_private_comes_out(world, said):
    assert world.leaks(said, SHOWING) == []


def test_what_may_show_an_evaluator_does(world, said):
    planted = {"suite show": "a: case id", "suite hash": "a: case id", "holdout show": "a: case id"}
    planted |= {"runs": "suite id", "baseline compare": "dimension"}
    assert planted.keys() == SHOWING
    for one in said[-len(SHOWN) :]:
        (words,) = (words for words in SHOWING if " ".join(one.argv).startswith(f"{words} "))
        assert world.plant.secrets[planted[words]][0].encode() in one.out, words


def test_the_private_tree_is_its_owners_alone(world, said):
    tree = world.data / "private"
    places = [tree, *tree.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in places if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in places if path.is_dir()} == {0o700}
    assert (tree / "evalstats.duckdb").is_file() and (tree / "publications.jsonl").is_file()


# --- suites that are broken --------------------------------------------------------------------------

BROKEN = {
    "not JSON": lambda text, plant: text[: len(text) // 2],
    "a key twice": lambda text, plant: f'{{"{plant("twice")}": 1, "{plant("twice")}": 2, {text[1:]}',
    "unknown keys": lambda text, plant: f'{{"{plant("unknown key")}": 1, {text[1:]}',
    "wrong visibility": lambda text, plant: text.replace("private_holdout", plant("visibility")),
    "a missing file": lambda text, plant: text.replace(plant("fixture name"), plant("missing file")),
    "UTF-16": lambda text, plant: text.encode("utf-16").decode("latin-1"),
    "no visibility": lambda text, plant: text.replace('"visibility": "private_holdout", ', ""),
    "a bad id": lambda text, plant: text.replace('"id": "', f'"id": "{plant("bad id")} '),
    "a bad variable": lambda text, plant: text.replace('"env": {"', f'"env": {{"{plant("bad name")}-'),
    "an id twice": lambda text, plant: text.replace(plant("a: case id"), plant("b: case id")),
    "a path outside": lambda text, plant: text.replace(plant("fixture folder"), f"../{plant('outside')}"),
    "a bad baseline path": lambda text, plant: text.replace(
        '"mode": "promotable"', f'"mode": "compare", "baseline_path": "../{plant("away")}"'
    ),
    "a bad pattern": lambda text, plant: text.replace('"regex", "value": "', '"regex", "value": "('),
    "a bad kind": lambda text, plant: text.replace('"kind": "command"', f'"kind": "{plant("kind")}"'),
}
FAST_FAULTS = list(BROKEN)[:5]
ASKED = """
suite validate .
suite lint . --json
suite show . --role evaluator --debug
run . --role evaluator --debug
coverage --suites .. --json
baseline audit --suites .. --json
lock create q --suites ..
baseline compare h1 --suites .. --role evaluator
"""
ASKED_TOO = """
suite lint .
suite hash . --role evaluator
suite show .
run . --debug
run --resume h1 --role evaluator
coverage --suites ..
baseline audit --suites ..
baseline list --suites ..
baseline promote h1 --suites .. --role evaluator --by me --rationale why
lock create q --suites .. --role evaluator --json
lock verify --suites ..
readiness --suites ..
quarantine list .
headroom .
holdout publish h1 --alias winter-set --out ../../../out/3.json --role evaluator
gate suite.json --policy suite.json
"""


def told(world, faults, asked):
    """Return fault -> what the commands said when the suite had it."""
    whole = (world.hidden / "suite.json").read_text()
    text = json.dumps(json.loads(whole))
    lines = [line.split() for line in asked.strip().splitlines()]
    lines = [[*line, "--data", DATA] if takes_data(line) else line for line in lines]
    steps = [(line, BROKEN[fault](text, world.plant)) for fault in faults for line in lines]
    try:
        found = world.drive([line for line, _ in steps], [text for _, text in steps])
    finally:
        (world.hidden / "suite.json").write_text(whole)
    return {fault: found[i * len(lines) : (i + 1) * len(lines)] for i, fault in enumerate(faults)}


def takes_data(line):
    names = [words for words in COMMANDS if tuple(line[: len(words)]) == words] or [("gate", "decide")]
    return "--data" in {parameter.opts[0] for parameter in COMMANDS[names[0]].params}


def test_a_broken_suite_is_told_without_its_words(world, said):
    for fault, found in told(world, FAST_FAULTS, ASKED).items():
        assert found[0].code == 2, fault
        assert b"suite.json:" in found[0].out, fault
        assert world.leaks(found, SHOWING) == [], fault


@pytest.mark.slow
def test_any_broken_suite_is_told_without_its_words(world, said):
    for fault, found in told(world, BROKEN, ASKED + ASKED_TOO).items():
        assert world.leaks(found, SHOWING) == [], fault


# --- runs that are stopped ---------------------------------------------------------------------------


def stopped(world, ending, signals):
    """Stop a run in its sixth case, resume it, and return what was said."""
    waiting, path = world.hidden / "wait", world.hidden / "suite.json"
    run_id = "stopped-" + "-".join(map(str, signals))
    whole = path.read_text()
    document = json.loads(whole)
    document["cases"][5]["inputs"]["shell"] += "; test ! -e wait || sleep 3"
    try:
        waiting.touch()
        path.write_text(json.dumps(document))
        line = run("--run-id", run_id, "--jobs", "1")
        process = world.start(*line)
        await_trials(world.data / "private/runs" / run_id, 3)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.3)
        first = ending(process, line)
        waiting.unlink()
        again = world.finish("run", "--resume", run_id, "--data", DATA, *EVALUATOR)
    finally:
        path.write_text(whole)
    return first, again


def await_trials(folder, count):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if sum(path.read_bytes().count(b"\n") for path in folder.glob("journal/*.jsonl")) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("the run did not begin")


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGKILL], -9),
        ([signal.SIGINT], 130),
        pytest.param([signal.SIGINT] * 2, 130, marks=pytest.mark.slow),
        pytest.param([signal.SIGTERM], 143, marks=pytest.mark.slow),
    ],
    ids=["kill -9", "Ctrl-C", "Ctrl-C twice", "TERM"],
)
def test_a_run_that_is_stopped_leaves_nothing_outside(world, said, ending, signals, code):
    first, again = stopped(world, ending, signals)
    assert (first.code, again.code) == (code, 3)
    assert world.leaks([first, again], SHOWING) == []


# --- everything else, which takes a while ----------------------------------------------------------------


@pytest.mark.slow
def test_nothing_private_comes_out_whatever_a_command_is_given(world, said):
    found = world.drive(
        [*every_command(GIVEN), ["report", "variance_bands", "-p", "suite=door", "--data", DATA]]
    )
    assert world.leaks(found, SHOWING) == []
    assert os.listdir(world.root / "tmp") == []
