"""Reports of a known series of runs, and the policy that judges them."""

import pytest

IDENTITY = {"suite_scoring": "a" * 64, "model": "m-1", "judge_model": None, "cli_version": "0.1.0"}


@pytest.fixture
def make_run():
    """Return a function that returns the series rows of one run group: arm -> score, and what is unusual."""

    def run(number, scores, /, identity=(), **unusual):
        row = {
            "group_id": f"run-{number:02}",
            "started_at": f"2026-01-{number:02}T02:00:00Z",
            "seed": number,
            "n_cases": 10,
            "n_trials": 30,
            "usable": 30,
            "infrastructure": 0,
            "is_mock": False,
            "identity": {**IDENTITY, **dict(identity)},
            **unusual,
        }
        return [
            {"run_id": f"{row['group_id']}-{arm}", "arm": arm, "score": s, **row} for arm, s in scores.items()
        ]

    return run


@pytest.fixture
def make_policy():
    """Return a function that returns a valid policy with the given changes."""

    def policy(**changes):
        fields = {
            "schema_version": 1,
            "suite": "door",
            "rule": "three-verdict",
            "statistic": "pass_rate",
            "margin": 0.10,
            "alpha": 0.05,
            "history": {"minimum": 8, "window": 28},
        }
        return {**fields, **changes}

    return policy


@pytest.fixture
def make_report():
    """Return a function that returns a valid report of a series (a list of lists of rows)."""

    def report(runs, suite="door", cases=10):
        series = [row for run in runs for row in run]
        words = {name: "" for name in ("title", "question")}
        lists = {name: [] for name in ("headline", "sections", "methods", "caveats", "estimates", "tests")}
        return {
            "schema": "report.v1",
            "notebook": "variance_bands",
            "subject": suite,
            "finding": "as before",
            "parameters": {},
            **words,
            **lists,
            "series": series,
            "data": {
                "suite_id": suite,
                "n_runs": len(series),
                "n_cases": cases,
                "n_trials": sum(row["n_trials"] for row in series),
                "usable": sum(row["usable"] for row in series),
                "excluded": {},
                "case_ids": [f"case-{number}" for number in range(cases)],
                "input_sha256": "0" * 64,
                "contains_mock": any(row["is_mock"] for row in series),
            },
        }

    return report
