"""The variance notebook in thin worlds: it says what is unknown and why, and never breaks.

Its own cells are executed here in this process; test_builder.py builds it for real, kernel and all.
"""

import json

import pytest

from evalstats import contract, gate

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
    "all lost": {"happens": always("infrastructure"), "nights": 2},
    "all skipped": {"happens": always("skipped"), "nights": 6},
    "all unscored": {"happens": always("unscored")},
    "one arm lost": {"happens": one_arm_lost},
    "last night lost": {"happens": last_night_lost, "nights": 3},
    "one arm": {"arms": ("skill-on",), "nights": 2},
    "only the off arm": {"arms": ("skill-off",)},
    "neither arm of the comparison": {"arms": ("baseline", "candidate"), "nights": 2},
    "one case": {"cases": 1, "nights": 6},
    "one run": {"arms": ("skill-on",), "cases": 1},
    "one night": {},
    "all pass": {"happens": always("ok", 1.0), "nights": 6},
    "all fail": {"happens": always("ok", 0.0), "nights": 2},
}


@pytest.fixture
def say(fill_store, tmp_path, monkeypatch):
    """Return a function: what happened -> the report.json that the notebook's own cells write of it."""

    def said(**world):
        path = fill_store(**world)
        monkeypatch.setenv("EVALSTATS_BUNDLE", str(tmp_path / "bundle"))
        notebook = json.loads((contract.packaged("notebooks") / "variance_bands.ipynb").read_text("utf-8"))
        names = {}
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
                if "parameters" in cell["metadata"].get("tags", []):
                    names |= {"suite": "demo", "store": str(path)}
        return json.loads((tmp_path / "bundle" / "report.json").read_text("utf-8"))

    return said


@pytest.mark.parametrize("world", WORLDS)
def test_there_is_always_a_report(say, world):
    document = say(**WORLDS[world])
    runs = WORLDS[world].get("nights", 1) * len(WORLDS[world].get("arms", ("skill-on", "skill-off")))
    assert len(document["series"]) == document["data"]["n_runs"] == runs
    assert document["finding"] and document["headline"]
    text = json.dumps(document, ensure_ascii=False)
    for broken in ("nan", "None", " 1 runs", " 1 cases", " 1 days", "n/a.", "()"):
        assert broken not in text, text[max(text.find(broken) - 80, 0) : text.find(broken) + 40]
    result = gate.decide(document, POLICY)
    assert (result.verdict, result.exit_code) == ("cannot_gate", 3)
