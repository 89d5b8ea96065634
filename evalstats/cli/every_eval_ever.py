"""Runs as documents of Every Eval Ever, the format of the EvalEval Coalition, version 0.3.0 of its schema.

What maps: one document a run, holding one result, the mean over cases of the score, with its standard error
and interval, the model, the tool, the judge, and the times. What does not: single answers, for their records need
the prompt and the text of the answer, which trials do not keep; and who made the model, who ran the evaluation and
whether weights are open, which a store does not know and which is said to be unknown.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstats.store import Store

SCHEMA_VERSION = "0.3.0"
LEVEL = 0.95
UNKNOWN = "unknown"


def documents(store: Store, suite: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (path below the folder of the data store, document) for each run that has a score."""
    for suite_id in [suite] if suite is not None else store.suites():
        rates = _rates(store, suite_id)
        for run in _records(store.runs(suite_id)):
            found = rates.get(run["run_id"])
            if found is not None:
                yield _path(run), _document(run, found)


def _rates(store: Store, suite_id: str) -> dict[str, dict[str, Any]]:
    """Return the estimate of each run whose mean is known."""
    from evalstats import estimates

    table = estimates.rate(store.case_runs(suite_id), level=LEVEL, by=("run_id",))
    return {row["run_id"]: row for row in _records(table) if row["estimate"] == row["estimate"]}


def _records(frame: Any) -> list[dict[str, Any]]:
    return list(frame.to_dict("records"))


def _document(run: Mapping[str, Any], rate: Mapping[str, Any]) -> dict[str, Any]:
    model = _text(run["model"]) or UNKNOWN
    now = datetime.now(UTC).timestamp()
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{run['suite_id']}/{model}/{run['run_id']}",
        "evaluation_timestamp": _time(run["created_at"]),
        "retrieved_timestamp": f"{now:.3f}",
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": UNKNOWN,
            "evaluator_relationship": "other",
            "additional_details": {"exported_by": "evalstats", "run_id": run["run_id"], "arm": run["arm"]},
        },
        "eval_library": {"name": _text(run["runtime"]) or UNKNOWN, "version": UNKNOWN},
        "model_info": _model(model),
        "evaluation_results": [_result(run, rate)],
    }


def _model(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "id": name if "/" in name else f"{UNKNOWN}/{name}",
        "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN},
    }


def _result(run: Mapping[str, Any], rate: Mapping[str, Any]) -> dict[str, Any]:
    metric: dict[str, Any] = {
        "evaluation_description": "mean over cases of the mean score of a case's trials",
        "metric_id": "mean_case_score",
        "metric_unit": "proportion",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0,
        "max_score": 1,
    }
    if _text(run["judge_model"]):
        metric["additional_details"] = {"judge_model": run["judge_model"]}
    return {
        "evaluation_result_id": f"{run['run_id']}/mean_case_score",
        "evaluation_name": run["suite_id"],
        "evaluation_timestamp": _time(run["created_at"]),
        "source_data": {
            "dataset_name": run["suite_id"],
            "source_type": "other",
            "additional_details": {"cases_sha256": _text(run["suite_scoring"]) or UNKNOWN},
        },
        "metric_config": metric,
        "score_details": {
            "score": rate["estimate"],
            "details": {
                "cases": str(run["n_cases"]),
                "trials": str(run["n_trials"]),
                "trials_with_a_score": str(run["n_usable"]),
                "caveats": "; ".join(rate["caveats"]),
            },
            "uncertainty": _uncertainty(rate),
        },
    }


def _uncertainty(rate: Mapping[str, Any]) -> dict[str, Any]:
    """Return standard error and interval, each only where it is known."""
    found: dict[str, Any] = {"num_samples": int(rate["n_cases"])}
    if rate["std_error"] == rate["std_error"]:
        found["standard_error"] = {"value": rate["std_error"], "method": rate["method"]}
    if rate["conf_low"] == rate["conf_low"]:
        found["confidence_interval"] = {
            "lower": rate["conf_low"],
            "upper": rate["conf_high"],
            "confidence_level": rate["level"],
            "method": rate["method"],
        }
    return found


def _path(run: Mapping[str, Any]) -> str:
    """Return where the data store keeps a document: benchmark, developer, model and a name made from the run."""
    developer, _, model = (_text(run["model"]) or UNKNOWN).rpartition("/")
    name = uuid.UUID(bytes=hashlib.sha256(run["run_id"].encode()).digest()[:16], version=4)
    folders = (run["suite_id"], developer or UNKNOWN, model)
    clean = [re.sub(r"[^A-Za-z0-9._-]+", "-", part).strip(".") or "-" for part in folders]
    return "/".join(["data", *clean, f"{name}.json"])


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _time(value: Any) -> str:
    return f"{value.isoformat()}Z"
