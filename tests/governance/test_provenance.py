"""Where a baseline comes from, and what is told when somebody changed it by hand."""

import pytest

from evalstats.governance.promotion import Request, promote
from evalstats.governance.provenance import broken, origin, origins
from evalstats.suite import load

REQUEST = Request(rationale="first measured run", promoter="ada")


@pytest.fixture
def promoted(ran):
    for run_id in ("r1", "r2"):
        promote(run_id, REQUEST, ran.places())
    return ran.root / "evals/tiny/baselines"


def told(ran):
    found = origins([load(ran.root / "evals/tiny")])
    return [*broken(found), *found[0].problems]


def test_a_baseline_that_was_promoted_is_explained(ran, promoted):
    assert told(ran) == []
    found = origin(load(ran.root / "evals/tiny"))
    assert (found.run_id, found.promotion["promoter"], found.mode) == ("r2", "ada", "promotable")


CHAIN, FILE, OTHER = "promotions.jsonl", "tiny.baseline.json", "not the file that was last promoted"


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (lambda f: (f / CHAIN).unlink(), "no promotion is on record"),
        (lambda f: edit(f / CHAIN, lambda s: s.replace("measured", "Measured", 1)), "line 2: does not follow"),
        (lambda f: edit(f / CHAIN, lambda s: s.splitlines(True)[0]), OTHER),
        (lambda f: edit(f / CHAIN, lambda s: s.splitlines(True)[1]), "line 1: does not follow"),
        (lambda f: edit(f / FILE, lambda s: s.replace('"pass"', '"fail"', 1)), OTHER),
        (lambda f: edit(f / FILE, lambda s: "{"), "cannot be read"),
        (lambda f: (f / FILE).unlink(), "the promoted baseline is gone"),
    ],
)  # fmt: skip
def test_tampering_is_told(ran, promoted, tamper, words):
    tamper(promoted)
    assert any(words in problem for problem in told(ran)), told(ran)


def edit(path, change):
    path.write_text(change(path.read_text()))
