"""Reports of a known series of runs, and the policy that judges them."""

from datetime import UTC, datetime, timedelta

import pytest

from evalstats.trials import timestamp

IDENTITY = {"suite_scoring": "a" * 64, "model": "m-1", "judge_model": None, "cli_version": "0.1.0"}


@pytest.fixture
def make_run():
    """Return a function that returns the series rows of one run group: arm -> score, and what is unusual."""

    def run(number, scores, /, identity=(), **unusual):
        row = {
            "group_id": f"run-{number:02}",
            "started_at": timestamp(datetime(2026, 1, 1, 2, tzinfo=UTC) + timedelta(days=number - 1)),
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
def tell(make_run):
    """Return a function: number of the run, arm -> case -> (passed, usable trials) -> rows that tell of each case."""

    def told(number, arms, /, **unusual):
        rows = []
        for arm, cases in arms.items():
            each = {
                case: {"usable": n, "passed": k, "score": k / n, "median_score": float(2 * k > n)}
                for case, (k, n) in cases.items()
            }
            score = sum(case["score"] for case in each.values()) / len(each)
            usable = sum(n for _, n in cases.values())
            given = {"n_cases": len(each), "n_trials": usable, "usable": usable, "cases": each, **unusual}
            rows += make_run(number, {arm: score}, **given)
        return rows

    return told


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

    def report(runs, suite="door", cases=10, facts=None):
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
                "case_ids": sorted(facts) if facts else [f"case-{number}" for number in range(cases)],
                **({"cases": facts} if facts else {}),
                "input_sha256": "0" * 64,
                "contains_mock": any(row["is_mock"] for row in series),
            },
        }

    return report
