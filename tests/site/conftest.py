"""Published reports and decisions of gates, made without running anything: what a dashboard stands on."""

import html
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from evalstats import site
from evalstats.report import Column, Draft, Table, bundle, charts, page
from evalstats.stats import Estimate

EVALS = Path(__file__).parents[2] / "evals"

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


def lifts(value):
    """Return the lift over cases and the difference, as the lift notebook puts them into its report."""
    told = {"level": 0.8, "n_cases": 12, "n_trials": 120, "population": "SUPER", "std_error": 0.1}
    lift = Estimate(
        estimand="lift",
        estimate=value,
        conf_low=value - 0.1,
        conf_high=value + 0.1,
        method="bootstrap",
        **told,
    )
    added = Estimate(
        estimand="difference of mean scores", estimate=0.1, conf_low=0.02, conf_high=0.18, method="t", **told
    )
    return pd.DataFrame([lift.as_row() | {"over": "cases"}]), pd.DataFrame([added.as_row()])


def citations(level=0.8):
    rows = [
        Estimate(
            estimand="expected card cited", estimate=0.7, std_error=0.1, conf_low=0.55, conf_high=0.82, level=level,
            n_cases=6, n_trials=60, population="SUPER", method="smoothed Beta",
        ).as_row() | {"arm": "skill-on"}
    ]  # fmt: skip
    return pd.DataFrame(rows)


def series(nights, **unusual):
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
                } | unusual
            )  # fmt: skip
    return rows


def nights_chart(nights, text):
    """Return the control chart of the nightly notebook: both arms and their difference."""
    points = [tuple((n + 1, 0.6 - shift + n % 7 / 50) for n in range(nights)) for shift in (0, 0.2, 0.4)]
    tracks = [
        charts.Track(
            watched=name, points=each, centre=each[0][1], limits=(each[0][1] - 0.2, each[0][1] + 0.2), begins=1,
            charted=max(nights // 2, 1), average=each[nights // 2 :], average_limits=(0.1, 0.9),
        )
        for name, each in zip(("skill-on", "skill-off", "difference"), points, strict=True)
    ]  # fmt: skip
    return charts.control_chart(
        charts.Timeline(labels=tuple(f"n{n}" for n in range(nights))), tracks, title=f"{text}Nights"
    )


def draft_of(notebook, suite, *, text="", nights=3, archetypes=12, mock=False, lift=0.34, **data):
    """Return a document like that of a notebook; ``text`` stands in every field that a notebook can fill."""
    said = Draft(notebook, suite, f"{text}Lift", f"{text}How much?")
    said.finding(f"{text}It helps.")
    said.headline(f"{text}Lift, share of the failures taken away", "0.34", f"{text}80% interval [0.21, 0.45]")
    said.caveat(f"{text}Few cases")
    if notebook == "lift":
        said.estimates(*lifts(lift), citations())
        cited = citations().assign(what=f"{text}expected card cited")
        columns = [Column("what", f"{text}What"), "arm", "estimate"]
        said.section("citations", "Cited?", tables=[Table("citations", f"{text}Citations", cited, columns)])
    names = [f"{text}A{n}" for n in range(1, archetypes + 1)]
    rows = differences(names)
    bars = charts.archetype_bars(rows, title=f"{text}Bars")
    table = Table(
        "archetypes", f"{text}Every archetype", rows, [Column("archetype", f"{text}Archetype"), "estimate"]
    )
    said.section("archetypes", f"{text}Where?", f"{text}Here.", figures=[bars], tables=[table])
    if notebook == "nightly":
        said.section("nights", "Nights", figures=[nights_chart(nights, text)])
    else:
        runs = charts.run_chart(
            pd.DataFrame(series(nights)), pd.DataFrame(columns=["arm"]), title=f"{text}Runs"
        )
        said.section("runs", "Runs", figures=[runs])
    said.data(
        suite_id=suite, n_runs=2 * nights, n_cases=12, n_trials=60, usable=60, excluded={}, case_ids=["c"],
        input_sha256="b" * 64, contains_mock=mock, **data,
    )  # fmt: skip
    return said


@pytest.fixture(scope="session")
def drawn(tmp_path_factory):
    """Return a function that returns document and files of a draft; drawing takes long, so it is done once for each."""
    known = {}

    def make(*names, **how):
        key = json.dumps([names, how], sort_keys=True)
        if key not in known:
            work = tmp_path_factory.mktemp("work")
            draft_of(*names, **how).write(work)
            files = {str(p.relative_to(work)): p.read_bytes() for p in work.rglob("*") if p.is_file()}
            known[key] = (work / "report.json").read_text(), files
        text, files = known[key]
        return json.loads(text), dict(files)

    return make


@pytest.fixture
def publish(tmp_path, drawn):
    """Return a function that publishes a report without running its notebook."""

    def make(notebook="lift", suite="demo", *, status="ok", change=None, rows=None, **how):
        document, files = drawn(notebook, suite, **how)
        document["series"] = series(how.get("nights", 3), **(rows or {}))
        files["report.json"] = json.dumps(document).encode()
        drawings = {Path(name).stem: svg.decode() for name, svg in files.items() if name.endswith(".svg")}
        files["report.html"] = page.render(document, drawings, [("Notebook", notebook)]).encode()
        files |= change(files) if change is not None else {}
        sealed = bundle.seal({"schema": "report-manifest.v1", "status": status, "subject": suite}, files)
        return bundle.publish(tmp_path / "reports" / notebook / suite, sealed, files, {"host": "h"})[0]

    return make


@pytest.fixture
def write_public(tmp_path):
    """Return a function that writes a suite under ``evals``, like a bundled one but for some fields."""

    def make(name, **fields):
        document = json.loads((EVALS / "ab-demo/suite.json").read_text("utf-8"))
        folder = tmp_path / "evals" / name
        folder.mkdir(parents=True)
        (tmp_path / "evalstats.toml").touch()
        (folder / "suite.json").write_text(json.dumps({**document, "id": name, **fields}))
        return folder

    return make


@pytest.fixture
def decide(tmp_path):
    """Return a function that adds a decision of a gate to the ledger."""

    def make(suite="demo", verdict="pass", *, report=None, reason="as before", day=1, **fields):
        code = {"pass": 0, "regression": 1, "cannot_gate": 3, "inconclusive": 4}[verdict]
        decision = {
            "decided_at": f"2026-11-{day:02d}T03:00:00.000Z", "schema": "gate-result.v1", "verdict": verdict,
            "exit_code": code, "reasons": [reason], "suite": suite, "rule": "three-verdict", "statistic": "difference",
            "margin": 0.1, "alpha": 0.05, "drop": 0.02, "false_block": 0.013, "power": 0.36, "mde": 0.166,
            "runs_needed": 0, "history": ["a"], "candidate": [f"r{day}"], "checks": [], "report": report,
            "manifest_sha256": None, "policy_sha256": None, **fields,
        }  # fmt: skip
        path = tmp_path / "gates" / f"{suite}.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(decision) + "\n")

    return make


@pytest.fixture
def build(tmp_path):
    """Return a function that makes the dashboard."""

    def make(out="site"):
        named = ("reports", "gates", "holdouts")
        places = site.Places(suites=tmp_path / "evals", **{name: tmp_path / name for name in named})
        return site.build(places, tmp_path / out)

    return make


@pytest.fixture
def read():
    """Return a function that returns the words of a page, as a reader sees them."""

    def words(path):
        return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", path.read_text("utf-8"))))

    return words


@pytest.fixture
def every_page():
    """Return a function that returns the text of all pages of a dashboard, and of the reports it copied."""

    def texts(built):
        return "".join(path.read_text("utf-8") for path in sorted(built.path.rglob("*.html")))

    return texts
