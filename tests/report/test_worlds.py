"""The variance notebook in thin worlds: it says what is unknown and why, and never breaks.

Its own cells are executed here in this process; test_builder.py builds it for real, kernel and all.
"""

import json
import re

import pytest

from evalstats import contract, gate, report
from evalstats.errors import UsageError

POLICY = {
    "schema_version": 1,
    "suite": "demo",
    "rule": "three-verdict",
    "statistic": "pass_rate",
    "margin": 0.10,
    "alpha": 0.05,
    "history": {"minimum": 8, "window": 28},
}


def always(outcome, score=None):
    return lambda arm, night, case, index: (outcome, score)


def one_arm_lost(arm, night, case, index):
    return ("ok", float(case > 3)) if arm == "skill-on" else ("infrastructure", None)


def last_night_lost(arm, night, case, index):
    return ("ok", float((case + index + night) % 3 > 0)) if night < 3 else ("infrastructure", None)


WORLDS = {
    "all lost": {"happens": always("infrastructure")},
    "all skipped": {"happens": always("skipped"), "nights": 2},
    "all unscored": {"happens": always("unscored")},
    "one arm lost": {"happens": one_arm_lost},
    "last night lost": {"happens": last_night_lost, "nights": 3},
    "one arm": {"arms": ("skill-on",), "nights": 2},
    "only the off arm": {"arms": ("skill-off",)},
    "neither arm of the comparison": {"arms": ("baseline", "candidate"), "nights": 2},
    "one case": {"cases": 1, "nights": 3},
    "one run": {"arms": ("skill-on",), "cases": 1},
    "one night": {},
    "all pass": {"happens": always("ok", 1.0), "nights": 5},
    "all fail": {"happens": always("ok", 0.0), "nights": 2},
}


DRAWN = ("all lost", "one run")  # also drawn and written, which takes a second each


@pytest.fixture
def say(fill_store, tmp_path, monkeypatch):
    """Return a function: what happened -> the document that the notebook's own cells make of it."""

    def said(draw, **world):
        if draw:
            monkeypatch.setenv("EVALSTATS_BUNDLE", str(tmp_path / "bundle"))
        names = {"suite": "demo", "store": str(fill_store(**world)), "lock": "", "level": 0.8, "seed": 7}
        notebook = json.loads((contract.packaged("notebooks") / "variance_bands.ipynb").read_text("utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code" and "parameters" not in cell["metadata"].get("tags", []):
                exec("".join(cell["source"]), names)
        return names["draft"].document()

    return said


def words_of(document):
    """Return every sentence of ours in a document."""
    cards = [text for card in document["headline"] for text in card.values()]
    paragraphs = [text for section in document["sections"] for text in section["text"]]
    readings = [figure["reading"] for section in document["sections"] for figure in section["figures"]]
    return [document["finding"], *cards, *paragraphs, *readings]


@pytest.mark.parametrize("world", WORLDS)
def test_there_is_always_a_report(say, tmp_path, world):
    given = WORLDS[world]
    document = say(world in DRAWN, **given)
    runs = given.get("nights", 1) * len(given.get("arms", ("skill-on", "skill-off")))
    assert len(document["series"]) == document["data"]["n_runs"] == runs
    assert (tmp_path / "bundle" / "report.json").exists() is (world in DRAWN)
    for text in words_of(document):
        assert text and not re.search(r"nan|None|\(\)|\b1 (runs|cases|days|trials)\b|n/a [^—]", text), text
    result = gate.decide(document, POLICY)
    assert (result.verdict, result.exit_code) == ("cannot_gate", 3)


def test_nothing_usable_is_said_in_the_first_sentence(say):
    document = say(False, **WORLDS["all lost"])
    reason = "of 24 trials none carries a score, 24 failed for infrastructure"
    assert document["finding"].startswith(
        f"Nothing is known of skill-off: {reason}. Nothing is known of skill-on:"
    )
    assert {card["value"] for card in document["headline"]} == {"n/a"}
    assert {run["usable"] for run in document["series"]} == {0}


def test_a_suite_whose_runs_recorded_nothing_is_refused_in_a_line(fill_store):
    with pytest.raises(UsageError, match="suite: no run of demo has recorded a trial"):
        report.case_runs(str(fill_store(cases=0)), "demo")
