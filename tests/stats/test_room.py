"""What every name of `evalstats.stats` owes its reader, whoever wrote it.

A function needs a docstring with a question, an example and its assumptions; at least three numbers from
outside in `tests/reference/*.csv`; a row in `tests/calibration/`, or a reason why not; an entry for the bad days
of `test_degenerate.py`; and an `rng` that must be given if it draws random numbers. A calibration file says what
it covers in `CALIBRATED` and `EXEMPT`.
"""

import ast
import csv
import inspect
import runpy
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path

import numpy as np
import pytest

from evalstats import stats

TESTS = Path(__file__).parents[1]
ROOM = Path(stats.__file__).parent
RECORDS = [name for name in stats.__all__ if inspect.isclass(getattr(stats, name))]
FUNCTIONS = [name for name in stats.__all__ if name not in RECORDS]
HOUSE_WORDS = {"level", "alternative", "rng", "reps", "clusters"}
CASES = np.random.default_rng(7).random((12, 2)).round(2)
TRIALS = stats.CaseTrials(CASES.ravel(), np.repeat(range(6), 4))
ARMS = stats.Pairs(candidate=CASES[:, 0], baseline=CASES[:, 1] / 2, trials=3, graded=False)
WORLD = stats.World(cases=10, trials=3, mean=0.6, effect=0.2)
DRAWN = {  # every function that draws, asked with a generator
    "archetype_lifts": lambda rng: stats.archetype_lifts(ARMS, archetypes=["a"] * 12, rng=rng, reps=50),
    "bootstrap": lambda rng: stats.bootstrap(CASES, lambda m: m[..., 0] / m[..., 1], rng=rng, reps=50),
    "diagnose": lambda rng: stats.diagnose(
        lambda s, _: stats.case_mean(s.candidate), WORLD, rng=rng, reps=20
    ),
    "dp25": lambda rng: stats.dp25(*CASES.T, rng=rng, reps=50),
    "false_alarm_probability": lambda rng: stats.false_alarm_probability(8, 5.0, rng=rng, reps=200),
    "iqm": lambda rng: stats.iqm(TRIALS, rng=rng, reps=50),
    "legacy_operating_characteristic": lambda rng: stats.legacy_operating_characteristic(
        WORLD, rng=rng, reps=300
    ),
    "lift": lambda rng: stats.lift(ARMS, rng=rng, reps=50),
    "lift_of_medians": lambda rng: stats.lift_of_medians(
        CASES.reshape(8, 3), CASES[::-1].reshape(8, 3), rng=rng
    ),
    "lift_smoothed": lambda rng: stats.lift_smoothed(ARMS, rng=rng, reps=50),
    "paired_difference": lambda rng: stats.paired_difference(ARMS, rng=rng, reps=50),
    "performance_profile": lambda rng: stats.performance_profile(TRIALS, [0.3, 0.6], rng=rng, reps=50),
    "probability_of_improvement": lambda rng: stats.probability_of_improvement(
        TRIALS, TRIALS, rng=rng, reps=50
    ),
    "resampled_means": lambda rng: stats.resampled_means(CASES, rng=rng, reps=5),
    "sign_flip_test": lambda rng: stats.sign_flip_test(CASES[:, 0] - 0.4, rng=rng, reps=2_000),
    "simulated_limit": lambda rng: stats.simulated_limit(8, rng=rng, reps=200),
    "simulated_power": lambda rng: stats.simulated_power(WORLD, rng=rng, reps=50),
    "two_level_means": lambda rng: stats.two_level_means([3, 1, 2], [3, 3, 3], rng=rng, reps=5),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
every_name = pytest.mark.parametrize("name", stats.__all__)


@pytest.fixture(scope="module")
def referenced():
    """Return how many numbers from outside each function is held to."""
    found = {}
    for path in sorted((TESTS / "reference").glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                if "function" in row:
                    assert row["source"], f"{path.name}: a row of {row['function']} without a source"
                    found[row["function"]] = found.get(row["function"], 0) + 1
    return found


@pytest.fixture(scope="module")
def calibrated():
    """Return the functions with a calibration row, and those exempt with their reasons."""
    files = [runpy.run_path(str(path)) for path in sorted((TESTS / "calibration").glob("test_*.py"))]
    covered = set().union(*(file.get("CALIBRATED", ()) for file in files))
    exempt = {name: reason for file in files for name, reason in file.get("EXEMPT", {}).items()}
    return covered, exempt


def test_names_are_sorted_and_unique():
    assert stats.__all__ == sorted(set(stats.__all__))


@every_name
def test_index_lists_functions_by_question(name):
    assert name in RECORDS or f"`{name}`" in stats.__doc__


@every_name
def test_docstring_is_complete(name):
    text = inspect.getdoc(getattr(stats, name))
    assert text.splitlines()[0].count("?") == 1, "the first line is the question answered, in words"
    assert ">>>" in text.partition("Examples\n--------")[2]
    if name in FUNCTIONS:
        for section in ("Parameters", "Returns", "Notes", "References"):
            assert f"{section}\n{'-' * len(section)}" in text, section
        assert "shape" in text or not takes_arrays(getattr(stats, name))


def takes_arrays(function):
    return any("ArrayLike" in str(p.annotation) for p in inspect.signature(function).parameters.values())


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_closed(name):
    record = getattr(stats, name)
    if is_dataclass(record):
        assert record.__dataclass_params__.frozen and "__dict__" not in dir(record)
    else:
        assert issubclass(record, tuple)


@every_function
def test_has_a_number_from_outside(name, referenced):
    assert referenced.get(name, 0) >= 3, f"{name} has {referenced.get(name, 0)} of 3 reference rows"


@every_function
def test_is_calibrated_or_says_why_not(name, calibrated):
    covered, exempt = calibrated
    assert name in covered or exempt.get(name), f"{name} has neither a calibration row nor a reason"
    assert not (name in covered and name in exempt), f"{name} is calibrated and exempt"


def takes(name):
    return inspect.signature(getattr(stats, name)).parameters


@every_function
def test_randomness_is_an_argument(name):
    parameters = inspect.signature(getattr(stats, name)).parameters
    assert not {"seed", "random_state", "random_seed"} & set(parameters)
    if "rng" in parameters:
        assert parameters["rng"].default is inspect.Parameter.empty
        assert parameters["rng"].kind is inspect.Parameter.KEYWORD_ONLY
    else:
        assert "reps" not in parameters


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "rng" in takes(name)])
def test_same_rng_same_result_other_rng_another(name):
    one, same, other = (repr(DRAWN[name](np.random.default_rng(seed))) for seed in (1, 1, 2))
    assert one == same and one != other


@every_function
def test_shared_words_are_keyword_only(name):
    parameters = inspect.signature(getattr(stats, name)).parameters
    assert len(parameters) <= 6
    assert all(
        parameters[word].kind is inspect.Parameter.KEYWORD_ONLY for word in HOUSE_WORDS & set(parameters)
    )


@every_function
def test_module_and_function_never_share_a_name(name):
    assert not (ROOM / f"{name}.py").exists()


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_room_uses_only_itself(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imports += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    ours = [name for name in imports if name.startswith("evalstats")]
    assert all(name.startswith("evalstats.stats") for name in ours)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300
    assert (TESTS / "stats" / f"test_{path.stem}.py").exists() or path.stem == "__init__"


def test_import_is_light():
    heavy = "{'pandas', 'duckdb', 'altair', 'statsmodels', 'scipy.stats', 'scipy.optimize'}"
    code = f"import sys, evalstats.stats; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOM.parents[1]
    )
    assert found.stdout.strip() == "[]"
