"""A realistic draft with invented numbers, and notebooks small enough to build in a second or two."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ARMS = (("skill-on", 0.65), ("skill-off", 0.54))
DATA = {
    "suite_id": "terraform-50",
    "tier": "live",
    "visibility": "public_canary",
    "n_runs": 28,
    "n_cases": 50,
    "n_trials": 4200,
    "usable": 4188,
    "excluded": {"infrastructure": 12},
    "case_ids": [f"case-{i}" for i in range(50)],
    "input_sha256": "a" * 64,
    "contains_mock": False,
}
ARCHETYPES = (
    ("A12 deprecations", 0.38, 3),
    ("A3 import", 0.29, 4),
    ("A1 scaffold", 0.24, 6),
    ("A7 topology", 0.13, 5),
    ("A5 companions", 0.11, 5),
    ("A6 multi-resource", 0.08, 5),
    ("A10 GitOps", 0.07, 4),
    ("A2 argument lookup", 0.06, 4),
    ("A11 day-2", 0.04, 3),
    ("A4 migrate", 0.02, 4),
    ("A8 compliance", 0.0, 4),
    ("A9 cost", -0.05, 3),
)


def estimate(value, half, **fields):
    known = not np.isnan(value)
    return {
        "estimand": "mean score",
        "population": "SUPER",
        "estimate": value,
        "std_error": half / 1.2816 if known else np.nan,
        "conf_low": value - half if known else np.nan,
        "conf_high": value + half if known else np.nan,
        "level": 0.8,
        "n_cases": 50,
        "n_clusters": None,
        "n_trials": 150,
        "method": "t on case means",
        "caveats": (),
        **fields,
    }


def make_by_archetype():
    rows = [
        {"archetype": name, **estimate(d, 0.36 / n**0.5, n_cases=n, estimand="difference of mean scores")}
        for name, d, n in ARCHETYPES
    ]
    gap = estimate(
        np.nan, np.nan, n_cases=1, estimand="difference of mean scores", caveats=("one case: no spread",)
    )
    return pd.DataFrame([*rows, {"archetype": "A13 policy", **gap}])


def make_total():
    return estimate(0.11, 0.035, estimand="difference of mean scores", method="paired t on cases")


def make_series():
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "run_id": f"eval-202611{night + 3:02d}T021500Z-terraform-50-{arm}",
            "group_id": f"eval-202611{night + 3:02d}T021500Z-terraform-50",
            "arm": arm,
            "started_at": pd.Timestamp(2026, 11, night + 3, 2, 15),
            "seed": 1000 + night,
            "n_cases": 50,
            "n_trials": 150,
            "usable": 149,
            "infrastructure": 1,
            "pass_rate": mean - 0.1 + float(rng.normal()) * 0.03,
            "score": mean + float(rng.normal()) * 0.03,
            "within_variance": 0.0009,
            "is_mock": False,
            "suite_scoring": "9c" * 32,
            "model": "subject-4",
            "judge_model": "judge-2",
            "judge_rubric_sha256": None,
            "registry_version": "4.12",
            "cli_version": "1.8.0",
        }
        for night in range(14)
        for arm, mean in ARMS
    )


def make_bands():
    return pd.DataFrame(
        {
            "arm": arm,
            "band": "observed",
            **estimate(mean, 0.055, population="FIXED", n_cases=14, method="prediction"),
        }
        for arm, mean in ARMS
    )


def make_cases():
    rng = np.random.default_rng(3)
    rows = []
    for arm, shift in (("skill-on", 0.2), ("skill-off", 0.0)):
        for i in range(50):
            score = float(np.clip(rng.beta(0.8, 0.6) + shift, 0, 1))
            score = float(round(score)) if score > 0.93 or score < 0.07 else score
            rows.append(
                {
                    "arm": arm,
                    "archetype": ARCHETYPES[i % 12][0].split()[0],
                    "case_id": f"{('import-s3-bucket', 'vpc-peering', 'cloud-run-v2')[i % 3]}-{i}",
                    "n_runs": 14,
                    "n_trials": 42,
                    "pass_rate": score,
                    "score": score,
                    "run_sd": (score * (1 - score) / 3) ** 0.5,
                    "verdict_flips": 2 * score * (1 - score),
                }
            )
    return pd.DataFrame(rows)


def make_draft():
    from evalstats.report import Column, Draft, Table, charts

    by_archetype, series, bands, cases = make_by_archetype(), make_series(), make_bands(), make_cases()
    said = Draft(
        "variance_bands",
        "terraform-50",
        "Variance of terraform-50",
        "How far does terraform-50 move when nothing changes?",
        {"suite": "terraform-50", "level": 0.8, "seed": 20261130},
    )
    said.finding(
        "An unchanged night of skill-on lands between 0.60 and 0.70, four times in five. Both arms vary as much as"
        " their trials explain, and no day stands out."
    )
    said.headline("Where the next skill-on run lands", "0.60 to 0.70", "80% prediction band, 14 runs")
    said.headline("What the skill adds", "+0.11", "80% interval [+0.08, +0.15], 50 cases")
    said.headline("Standard deviation of a run", "0.041", "trials alone would give 0.039")
    said.headline("Smallest visible drop", "15pp", "three runs, 80% power")
    said.section(
        "runs",
        "Is the latest run unusual?",
        "The band is for the next run of these very cases. An unchanged suite falls outside it one night in five.",
        figures=[charts.run_chart(series, bands)],
        tables=[Table("bands", "Bands for the next run", bands)],
    )
    said.section(
        "archetypes",
        "Where does the skill help?",
        "With three to six cases an archetype, a single interval is weak evidence.",
        figures=[charts.archetype_bars(by_archetype, total=make_total())],
    )
    said.section(
        "cases",
        "Which cases are settled?",
        figures=[charts.case_strip(cases)],
        tables=[
            Table(
                "cases",
                "Every case",
                cases,
                [
                    Column("case_id", "Case"),
                    Column("archetype", "Archetype"),
                    Column("arm", "Arm"),
                    Column("n_trials", "Trials"),
                    Column("score", "Score", "rate"),
                    Column("run_sd", "Spread between runs", "rate"),
                    Column("verdict_flips", "Flips", "percent"),
                ],
            )
        ],
    )
    said.method(
        "What was estimated, and for whom it holds",
        "FIXED: these very cases, run again. Trials are averaged.",
    )
    said.method("What would change the conclusion", "A drop of 15pp, seen in three runs, would be called.")
    said.estimates(bands)
    said.estimates(by_archetype)
    said.series(series)
    said.data(**DATA)
    return said


@pytest.fixture
def by_archetype():
    return make_by_archetype()


@pytest.fixture
def total():
    return make_total()


@pytest.fixture
def series():
    return make_series()


@pytest.fixture
def bands():
    return make_bands()


@pytest.fixture
def cases():
    return make_cases()


@pytest.fixture
def draft():
    return make_draft()


ORIGIN = [("Notebook", "variance_bands"), ("Runs", [f"run-{i}" for i in range(9)]), ("Parameters", ["a = 1"])]


def page_of(draft, folder: Path) -> str:
    """Write a draft and return its page, as a build would make it."""
    from evalstats.report import page

    draft.write(folder)
    document = json.loads((folder / "report.json").read_text("utf-8"))
    drawings = {path.stem: path.read_text("utf-8") for path in (folder / "figures").glob("*.svg")}
    return page.render(document, drawings, ORIGIN)


@pytest.fixture(scope="session")
def rendered(tmp_path_factory) -> str:
    """The page of the draft, drawn once."""
    return page_of(make_draft(), tmp_path_factory.mktemp("rendered"))


@pytest.fixture
def render(tmp_path):
    """Return a function that gives the page of a draft."""
    return lambda draft, name="written": page_of(draft, tmp_path / name)


CELLS = {
    "parameters": 'subject = "demo"  # what it is about\nlevel = 0.8\nseed = 7\nloud = False\n',
    "work": "values = [seed, seed + 1]\nprint('from the notebook', level)",
    "save": """from evalstats.report import Draft, Table
import pandas as pd
draft = Draft("small", subject, "Small", "Does it work?", {"level": level, "seed": seed, "loud": loud})
draft.finding(f"The seed is {seed}.")
draft.headline("Seed", str(seed))
draft.section("one", "One", "A paragraph.", tables=[Table("t", "A table", pd.DataFrame({"a": values}))])
draft.data(suite_id="demo", n_runs=1, n_cases=1, n_trials=1, usable=1, excluded={}, case_ids=["c"],
           input_sha256="b" * 64, contains_mock=False)
draft.save()""",
}


def save_notebook(folder, name="small", /, **cells) -> Path:
    """Write a notebook of the cells given in place of the usual ones."""
    sources = {key: source for key, source in {**CELLS, **cells}.items() if source is not None}
    path = folder / f"{name}.ipynb"
    document = {
        "cells": [
            {
                "cell_type": "code",
                "id": key,
                "metadata": {"tags": ["parameters"]} if key == "parameters" else {},
                "execution_count": None,
                "outputs": [],
                "source": source,
            }
            for key, source in sources.items()
        ],
        "metadata": {},  # says nothing of a kernel: the build brings its own
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(document), "utf-8")
    return path


@pytest.fixture(scope="session")
def save_notebook_in():
    """Return a function that writes a notebook into a folder: folder, name, cells."""
    return save_notebook


@pytest.fixture
def write_notebook(tmp_path):
    """Return a function that writes a notebook of the cells given in place of the usual ones."""
    return lambda name="small", **cells: save_notebook(tmp_path, name, **cells)


def make_nights(text: str, *, watched: str, label: str, note: str = ""):
    """A control chart of three nights; the text says what happened in the last two."""
    from evalstats.report import charts

    points = tuple((night, 0.1 * night) for night in range(1, 4))
    track = charts.Track(
        watched=watched, points=points, centre=0.2, limits=(0.1, 0.25), begins=1, charted=3, note=note,
        average=points[2:], average_limits=(0.1, 0.2), changes=((3, 0.15, 0.3),),
    )  # fmt: skip
    happened = ((2, text), (3, text))
    timeline = charts.Timeline(labels=(label,) * 3, changes=happened, lost=happened)
    return charts.control_chart(timeline, [track], title=text)


@pytest.fixture
def nights_figure():
    """A control chart whose words are as long as those of real nights."""
    said = (
        "registry 2026.11.30-nightly -> 2026.12.01-nightly, model subject-4-large -> subject-5-large-preview"
    )
    return make_nights(said, watched="difference", label="12 Nov")


@pytest.fixture
def hostile(bands, series, cases, by_archetype):
    """Return a function that puts one text into every text field of a draft."""
    from evalstats.report import Column, Draft, Table, charts

    def make(text: str) -> Draft:
        said = Draft("small", "demo", text, text, {"suite": text})
        said.finding(text)
        for _ in range(2):
            said.headline(text, text, text)
        cases.loc[:3, "case_id"] = text
        cases.loc[:3, "verdict_flips"] = 1.0
        by_archetype.loc[0, "archetype"] = text
        by_archetype.loc[:, "estimand"] = f"difference {text}"
        renamed = cases.rename(columns={"archetype": text})
        said.section(
            "one",
            text,
            text,
            text,
            figures=[
                charts.case_strip(cases, title=text),
                charts.archetype_bars(by_archetype, title=text),
                charts.run_chart(series, bands, title=text),
                make_nights(text, watched=text, label=text, note=text),
            ],
            tables=[Table("t", text, renamed.head(5), [Column("case_id", text), text, "score"])],
        )
        said.method(text, text)
        said.caveat(text)
        said.data(**{**DATA, "suite_id": text, "case_ids": [text], "excluded": {text: 1}})
        return said

    return make


@pytest.fixture
def publish(tmp_path):
    """Return a function that publishes a small version without running a notebook."""
    from evalstats.report import bundle

    def make(text: str = "hello", *, status: str = "ok", subject: str = "demo", root: Path | None = None):
        files = {"report.html": b"<p>" + text.encode(), "report.json": b"{}\n", "tables/t.csv": b"a,b\n1,2\n"}
        sealed = bundle.seal({"schema": "report-manifest.v1", "status": status, "subject": subject}, files)
        place = (root or tmp_path / "reports") / "small" / subject
        return bundle.publish(place, sealed, files, {"host": "here", "duration_s": 1.5})

    return make


# --- a store of invented runs ----------------------------------------------------------------------

BOTH = ("skill-on", "skill-off")


def passes_often(arm, night, case, index):
    return "ok", float((case * 5 + night * 3 + index * 7) % 11 < (7 if arm == "skill-on" else 5))


@pytest.fixture
def fill_store(tmp_path):
    """Return a function that runs an invented suite on so many nights and returns the store it fills.

    ``happens`` says how a trial ends: (arm, night, case, index) -> outcome and score.
    """
    from evalstats import store

    def fill(happens=passes_often, *, nights=1, arms=BOTH, cases=8, visibility="public_canary"):
        runs = tmp_path / "data" / "runs"
        for night in range(1, nights + 1):
            for arm in arms:
                write_run(runs, night, arm, cases=cases, visibility=visibility, happens=happens)
        private = visibility == "private_holdout"
        store.ingest(tmp_path / "data" / "evalstats.duckdb", runs, private=private)
        return tmp_path / "data" / "evalstats.duckdb"

    return fill


def write_run(runs, night, arm, *, cases, visibility, happens):
    from evalstats.journal import encode

    run_id = f"eval-{night:02d}-{arm}"
    digests = {
        name: str(i) * 64 for i, name in enumerate(("raw", "canonical", "scoring", "policy", "metadata"), 1)
    }
    suite = {"id": "demo", "path": "evals/demo/suite.json", "tier": "headless", "visibility": visibility}
    manifest = {
        "run_id": run_id, "group_id": f"eval-{night:02d}", "suite": {**suite, "sha256": "1" * 64, "hashes": digests},
        "case_hashes": {f"c{i}": "6" * 64 for i in range(cases)}, "seed": night, "arm": arm, "axis": "skill",
        "mode": "both", "created_at": f"2026-11-{night:02d}T02:15:00.000Z", "registry_version": "r9",
        "cli_version": "0.1.0", "model": "m1", "judge_model": None, "is_mock": False,
        "runtime": {"name": "shell"}, "trials_per_case": 3,
    }  # fmt: skip
    journal = runs / run_id / "journal" / "host-1-1.jsonl"
    journal.parent.mkdir(parents=True)
    (runs / run_id / "manifest.json").write_text(json.dumps(manifest))
    keys = [(case, index) for case in range(cases) for index in (1, 2, 3)]
    with journal.open("wb") as file:
        file.writelines(
            encode(make_trial(run_id, key, arm, night, happens(arm, night, *key)).as_record()) for key in keys
        )


def make_trial(run_id, key, arm, night, ending):
    from evalstats.contract import Outcome, Status
    from evalstats.trials import Trial

    (case, index), (outcome, score) = key, ending
    return Trial(
        run_id=run_id, suite_id="demo", case_id=f"c{case}", archetype=f"A{case % 2 + 1}", arm=arm, trial_index=index,
        status={1.0: Status.PASS, 0.0: Status.FAIL, None: Status.ERROR}[score], outcome=Outcome(outcome),
        started_at=f"2026-11-{night:02d}T02:16:00.000Z", score=score, passed=None if score is None else score == 1,
        reason="it was not to be" if score is None else None,
    )  # fmt: skip
