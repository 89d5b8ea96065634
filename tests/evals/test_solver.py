"""Is the demo's subject what its README says: random but repeatable, truthful, and helped by its skill?"""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from evalstats import suite

SOLVER = Path(__file__).resolve().parents[2] / "evals" / "solver"
EASY_BOARD = ("puzzle=queens", "size=7", "instance=1", "flips=400")
LINES = (lambda r, c: r, lambda r, c: c, lambda r, c: r - c, lambda r, c: r + c)


@pytest.fixture(scope="module")
def solver() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bundled_solver", SOLVER / "solver.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(seed: int, *arguments: str, hooks: bool = True) -> subprocess.CompletedProcess[str]:
    env = {"EVALSTATS_SEED": str(seed)}
    if not hooks:
        env["AGENTOPS_HOOKS_DISABLED"] = "1"
    return subprocess.run(
        [sys.executable, "-S", "-E", "solver.py", *arguments],
        cwd=SOLVER,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def arguments_of(case: suite.Case) -> list[str]:
    return [argument for argument in case.inputs["args"] if "=" in argument]


def clauses_of(solver: ModuleType, arguments: list[str]) -> list[list[int]]:
    given = dict(argument.split("=") for argument in arguments)
    size, load = int(given["size"]), float(given.get("load", 0))
    rng = random.Random(f"{given['puzzle']} {size} {load} {given['instance']}")
    return list(solver.PUZZLES[given["puzzle"]](rng, size, load))


def pass_rate(solver: ModuleType, case: suite.Case, *, skilled: bool, seeds: range) -> float:
    """Return how often a case passes, from the flips used: all its expectations ask only for these."""
    arguments = arguments_of(case)
    flips = int(dict(argument.split("=") for argument in arguments)["flips"])
    spare = max((e.threshold for e in case.expectations if e.threshold is not None), default=0.0)
    settings = json.loads((SOLVER / "skill.json").read_text("utf-8")) if skilled else solver.PLAIN
    clauses = clauses_of(solver, arguments)
    passed = 0
    for seed in seeds:
        search, used = solver.solve(clauses, settings, flips, random.Random(str(seed)))
        passed += not search.broken and round(1 - used / flips, 4) >= spare
    return passed / len(seeds)


def case_of(case_id: str) -> suite.Case:
    return next(case for case in suite.load(SOLVER).cases if case.id == case_id)


def test_the_solver_suite_has_four_cases_in_each_of_six_archetypes() -> None:
    cases = suite.load(SOLVER).cases
    assert [case.archetype for case in cases] == [f"A{n}" for n in range(1, 7) for _ in range(4)]
    assert all(sum(e.required for e in case.expectations) >= 2 for case in cases)
    assert {len(case.expectations) for case in cases if case.archetype == "A3"} == {5}


def test_the_solver_is_small_and_needs_only_the_standard_library() -> None:
    text = (SOLVER / "solver.py").read_text("utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert names and names <= sys.stdlib_module_names
    assert text.count("\n") < 150


@pytest.mark.parametrize("hooks", [True, False])
def test_a_seed_repeats_the_answer_and_another_does_not(hooks: bool) -> None:
    first, again, other = (ask(seed, *EASY_BOARD, hooks=hooks).stdout for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert json.loads(first)["skill"] is hooks


def test_without_a_seed_every_answer_is_a_new_one(
    solver: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVALSTATS_SEED", raising=False)
    for _ in range(5):
        solver.main(list(EASY_BOARD))
    assert len(set(capsys.readouterr().out.splitlines())) > 1


def test_the_hook_decides_which_settings_are_used() -> None:
    arguments = arguments_of(case_of("parity-2"))
    pairs = [(ask(seed, *arguments), ask(seed, *arguments, hooks=False)) for seed in range(20)]
    solved_on, solved_off = (sum(done.returncode == 0 for done in arm) for arm in zip(*pairs, strict=True))
    assert (solved_on >= 17, solved_off <= 12) == (True, True), (solved_on, solved_off)


def test_the_skill_helps_much_on_parity_and_not_at_all_on_a_short_chain(solver: ModuleType) -> None:
    def rates(case_id: str) -> list[float]:
        case = case_of(case_id)
        return [pass_rate(solver, case, skilled=skilled, seeds=range(100)) for skilled in (True, False)]

    on, off = rates("parity-2")
    assert on - off > 0.4  # the true difference is 0.63; five standard errors of 0.054 leave 0.36
    on, off = rates("chain-1")
    assert on == off  # too short for a fresh start, and every choice on a chain is a coin toss anyway


@pytest.mark.parametrize("case", suite.load(SOLVER).cases, ids=lambda case: case.id)
def test_the_solver_checks_itself_truly(case: suite.Case, solver: ModuleType) -> None:
    arguments = arguments_of(case)
    clauses = clauses_of(solver, arguments)
    variables = sorted({abs(literal) for clause in clauses for literal in clause})
    for seed in range(2):
        done = ask(seed, *arguments)
        result = json.loads(done.stdout)
        answer = set(result["answer"])
        right = all(any(literal in answer for literal in clause) for clause in clauses)
        assert sorted(abs(literal) for literal in answer) == variables
        assert (result["solved"], result["checked"], done.returncode == 0) == (right, right, right)


def test_a_solved_board_holds_queens_that_leave_each_other_alone() -> None:
    result = json.loads(ask(1, "puzzle=queens", "size=8", "instance=1", "flips=5000").stdout)
    places = [divmod(literal - 1, 8) for literal in result["answer"] if literal > 0]
    rows, columns, rising, falling = ({f(r, c) for r, c in places} for f in LINES)
    assert result["checked"]
    assert [len(lines) for lines in (rows, columns, rising, falling)] == [8, 8, 8, 8]


def test_parity_puzzles_ask_for_sums_that_a_hidden_answer_has(solver: ModuleType) -> None:
    clauses = solver.parity(random.Random(5), 9, 1.0)
    triples = {tuple(sorted(map(abs, clause))) for clause in clauses}
    fits = 0
    for number in range(2**9):
        bits = [bool(number >> v & 1) for v in range(9)]
        fits += all(any(bits[abs(v) - 1] == (v > 0) for v in clause) for clause in clauses)
    assert len(clauses) == 4 * 9
    assert len(triples) <= 9
    assert fits >= 1 and (fits & (fits - 1)) == 0  # the answers of such sums are a power of two


def test_colourings_join_unlike_points_once(solver: ModuleType) -> None:
    clauses = solver.colouring(random.Random(5), 12, 2)
    edges = {((-a - 1) // 3, (-b - 1) // 3) for a, b in (c for c in clauses if len(c) == 2)}
    assert len(clauses) == 12 + 3 * 24
    assert len(edges) == 24
    assert all(a % 3 != b % 3 for a, b in edges)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["queens"],
        ["puzzle=riddle", "size=5", "instance=1", "flips=9"],
        ["puzzle=queens", "size=five", "instance=1", "flips=9"],
        ["puzzle=queens", "size=0", "instance=1", "flips=9"],
        ["puzzle=queens", "size=5", "instance=1", "flips=0"],
        ["puzzle=chain", "size=0", "instance=1", "flips=9"],
        ["puzzle=formula", "size=2", "load=3", "instance=1", "flips=9"],
        ["puzzle=formula", "size=9", "load=inf", "instance=1", "flips=9"],
        ["puzzle=colouring", "size=4", "load=9", "instance=1", "flips=9"],
    ],
)
def test_bad_arguments_end_in_one_line_and_status_2(arguments: list[str]) -> None:
    done = ask(1, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        r"solver: no puzzle in these arguments \(.+\); see the top of solver\.py\n", done.stderr
    )


def stated_rates() -> dict[str, tuple[float, float]]:
    """Return case id -> pass rate (off, on) as the table in the solver's README states them."""
    rows = re.findall(
        r"^\| ([a-z]+-\d) \|.*?\| (\d\.\d+) \| (\d\.\d+) \|", (SOLVER / "README.md").read_text("utf-8"), re.M
    )
    return {case_id: (float(off), float(on)) for case_id, off, on in rows}


def test_the_readme_states_a_rate_for_each_case() -> None:
    stated = stated_rates()
    assert list(stated) == [case.id for case in suite.load(SOLVER).cases]
    graded = [any(0.05 < rate < 0.95 for rate in rates) for rates in stated.values()]
    assert sum(graded) >= 22


@pytest.mark.slow
@pytest.mark.parametrize("case", suite.load(SOLVER).cases, ids=lambda case: case.id)
def test_the_stated_rates_are_the_true_ones(case: suite.Case, solver: ModuleType) -> None:
    for skilled, stated in zip((False, True), stated_rates()[case.id], strict=True):
        seen = pass_rate(solver, case, skilled=skilled, seeds=range(10_000, 10_400))
        spread = max(stated * (1 - stated), 0.01) * (1 / 400 + 1 / 1000)
        assert abs(seen - stated) <= 4.5 * spread**0.5
