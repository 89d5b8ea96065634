"""Published reports and decisions of gates, made without running anything: what a dashboard stands on."""

import json

import pandas as pd
import pytest

from evalstats import site
from evalstats.report import Column, Draft, Table, bundle, charts, page
from evalstats.stats import Estimate

IDENTITY = {
    "suite_scoring": "a" * 64, "model": "m1", "judge_model": None, "judge_rubric_sha256": None,
    "registry_version": "r9", "cli_version": "0.1.0",
}  # fmt: skip


def differences(names):
    rows = [
        Estimate(
            estimand="difference of mean scores", estimate=0.1, std_error=0.06, conf_low=0.02, conf_high=0.18,
            level=0.8, n_cases=4, n_trials=40, population="SUPER", method="paired t on cases",
        ).as_row() | {"archetype": name}
        for name in names
    ]  # fmt: skip
    return pd.DataFrame(rows)


def series(nights):
    rows = []
    for night in range(nights):
        for arm, passed in (("skill-on", 3), ("skill-off", 1)):
            day = f"2026-{1 + night // 28:02d}-{1 + night % 28:02d}"
            rows.append(
                {
                    "run_id": f"r{night}-{arm}", "group_id": f"r{night}", "arm": arm, "started_at": f"{day}T02:00:00Z",
                    "score": passed / 5 + night % 7 / 50, "seed": night, "n_cases": 12, "n_trials": 60, "usable": 60,
                    "infrastructure": 0, "is_mock": False, "identity": IDENTITY,
                    "cases": {f"secret-name-{c}": {"usable": 5, "passed": min(c, 5), "score": min(c / 5, 1),
                                                   "median_score": 1.0} for c in range(12)},
                }
            )  # fmt: skip
    return rows


def draft_of(notebook, suite, *, text="", nights=3, archetypes=12, mock=False):
    """Return a document like that of a notebook; ``text`` stands in every field that a notebook can fill."""
    said = Draft(notebook, suite, f"{text}Lift", f"{text}How much?")
    said.finding(f"{text}It helps.")
    said.headline(f"{text}Lift, share of the failures taken away", "0.34", f"{text}80% interval [0.21, 0.45]")
    names = [f"{text}A{n}" for n in range(1, archetypes + 1)]
    rows = differences(names)
    bars = charts.archetype_bars(rows, title=f"{text}Bars")
    table = Table(
        "archetypes", f"{text}Every archetype", rows, [Column("archetype", f"{text}Archetype"), "estimate"]
    )
    said.section("archetypes", f"{text}Where?", f"{text}Here.", figures=[bars], tables=[table])
    frame = pd.DataFrame(series(nights))
    bands = pd.DataFrame(columns=["arm"])
    runs = charts.run_chart(frame, bands, title=f"{text}Runs")
    said.section("runs", "Runs", figures=[runs])
    said.data(
        suite_id=suite, n_runs=2 * nights, n_cases=12, n_trials=60, usable=60, excluded={}, case_ids=["c"],
        input_sha256="b" * 64, contains_mock=mock,
    )  # fmt: skip
    return said


@pytest.fixture
def publish(tmp_path):
    """Return a function that publishes a report without running its notebook."""

    def make(notebook="lift", suite="demo", *, status="ok", **how):
        work = tmp_path / "work" / f"{notebook}-{suite}-{len(list(tmp_path.glob('work/*')))}"
        said = draft_of(notebook, suite, **how)
        said.write(work)
        document = json.loads((work / "report.json").read_text())
        document["series"] = series(how.get("nights", 3))
        (work / "report.json").write_text(json.dumps(document))
        files = {str(p.relative_to(work)): p.read_bytes() for p in work.rglob("*") if p.is_file()}
        drawings = {p.stem: p.read_text() for p in (work / "figures").glob("*.svg")}
        files["report.html"] = page.render(document, drawings, [("Notebook", notebook)]).encode()
        sealed = bundle.seal({"schema": "report-manifest.v1", "status": status, "subject": suite}, files)
        return bundle.publish(tmp_path / "reports" / notebook / suite, sealed, files, {"host": "h"})[0]

    return make


@pytest.fixture
def decide(tmp_path):
    """Return a function that adds a decision of a gate to the ledger."""

    def make(suite="demo", verdict="pass", *, report=None, reason="as before", day=1):
        code = {"pass": 0, "regression": 1, "cannot_gate": 3, "inconclusive": 4}[verdict]
        decision = {
            "decided_at": f"2026-11-{day:02d}T03:00:00.000Z", "schema": "gate-result.v1", "verdict": verdict,
            "exit_code": code, "reasons": [reason], "suite": suite, "rule": "three-verdict", "statistic": "difference",
            "margin": 0.1, "alpha": 0.05, "drop": 0.02, "false_block": 0.013, "power": 0.36, "mde": 0.166,
            "runs_needed": 0, "history": ["a"], "candidate": [f"r{day}"], "checks": [], "report": report,
            "manifest_sha256": None, "policy_sha256": None,
        }  # fmt: skip
        path = tmp_path / "gates" / f"{suite}.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(decision) + "\n")

    return make


@pytest.fixture
def build(tmp_path):
    """Return a function that makes the dashboard."""

    def make(out="site", suites="evals"):
        places = {"gates": tmp_path / "gates", "suites": tmp_path / suites}
        return site.build(tmp_path / "reports", tmp_path / out, **places)

    return make
