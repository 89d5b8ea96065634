"""A repository with small real suites, and nights made of them."""

import json
from datetime import UTC, datetime

import pytest

from evalstats import suite
from evalstats.nightly import Asked, Places, run
from evalstats.report import bundle


@pytest.fixture
def today():
    return datetime.now(UTC).date().isoformat()


@pytest.fixture
def make_suite(tmp_path):
    """Return a function that writes a suite whose one case runs a shell command and must print ok."""

    def make(name, shell="echo ok", *, tier="headless", policy=None, cases=1):
        (tmp_path / "evalstats.toml").touch()
        folder = tmp_path / "evals" / name
        folder.mkdir(parents=True, exist_ok=True)
        case = {
            "kind": "command", "objective": "Say ok", "archetype": "A1", "dimensions": ["correctness"],
            "inputs": {"shell": shell}, "expectations": [{"type": "stdout_contains", "value": "ok"}],
        }  # fmt: skip
        document = {
            "schema_version": 1, "id": name, "name": name, "domain": "demonstration", "tier": tier,
            "visibility": "public_canary", "baseline_policy": {"mode": "none"},
            "environment": {"timeout_seconds": 20},
            "scoring": {
                "aggregate_threshold": 0.6,
                "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0.6}],
            },
            "cases": [{"id": f"c{n}", "title": f"case {n}", **case} for n in range(cases)],
        }  # fmt: skip
        (folder / "suite.json").write_text(json.dumps(document))
        if policy is not None:
            (folder / "policy.json").write_text(json.dumps(policy))
        return suite.load(folder)

    return make


@pytest.fixture
def policy():
    """Return a policy of the suite ``door``, which counts nights."""
    return {
        "schema_version": 1, "suite": "door", "rule": "three-verdict", "statistic": "pass_rate", "margin": 0.1,
        "alpha": 0.05, "history": {"minimum": 8, "window": 28, "refs": ["*", None]},
    }  # fmt: skip


@pytest.fixture
def places(tmp_path):
    data = tmp_path / "data"
    return Places(data=data, store=data / "evalstats.duckdb", reports=data / "reports")


@pytest.fixture
def make_night(places):
    """Return a function that makes a night of some suites."""

    def make(*suites, at=places, **asked):
        return run(Asked(suites=suites, **asked), at)

    return make


@pytest.fixture
def publish(places):
    """Return a function that publishes a report of the suite ``door``: group -> (date, score)."""

    def published(groups, **unusual):
        rows = [
            {
                "run_id": group, "group_id": group, "arm": "skill-on", "score": score, "seed": number,
                "started_at": f"{date}T02:00:00Z", "n_cases": 1, "n_trials": 80, "usable": 80, "infrastructure": 0,
                "is_mock": False, "identity": {"suite_scoring": "a" * 64}, **unusual,
            }
            for number, (group, (date, score)) in enumerate(groups.items(), 1)
        ]  # fmt: skip
        empty = ("headline", "sections", "methods", "caveats", "estimates", "tests")
        document = {
            "schema": "report.v1", "notebook": "variance_bands", "subject": "door", "title": "", "question": "",
            "finding": "as before", "parameters": {}, **{name: [] for name in empty}, "series": rows,
            "data": {
                "suite_id": "door", "n_runs": len(rows), "n_cases": 1, "n_trials": 0, "usable": 0, "excluded": {},
                "case_ids": ["c0"], "input_sha256": "0" * 64, "contains_mock": False,
            },
        }  # fmt: skip
        files = {"report.json": json.dumps(document).encode(), "report.html": b"<p>"}
        folder = places.reports / "variance_bands/door"
        bundle.publish(folder, bundle.seal({"status": "ok"}, files), files, {})

    return published
