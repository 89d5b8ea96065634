"""A lift suite, as others write it, becomes a suite of ours at the door.

The foreign document has ``evals``: prompts, each with an archetype and expectations of a ``kind``. It says
nothing about thresholds, tiers or baselines, so the converted suite asks for none: it is live, every case counts
alike, and no run can fail it. Ids are kept as they are, so that reports and suite can be joined.
"""

from __future__ import annotations

import re
from typing import Any

from evalstats.contract import CaseKind, ExpectationType, Tier, Visibility

SCHEMA = "lift-suite.v1"
EXPECTATION_IDS = "expectation_ids"  # the key under a case's inputs that keeps the source's own ids
_PROMPT_KEYS = {"id", "archetype", "title", "prompt", "expectations", "tags"}
_CITED = {"expected_cards": ExpectationType.CITES_CARD, "expected_recipes": ExpectationType.CITES_RECIPE}


def is_lift_suite(document: Any) -> bool:
    """Return whether a document has the keys of a lift suite; its file name does not matter."""
    return isinstance(document, dict) and isinstance(document.get("evals"), list) and "cases" not in document


def converted(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document that keeps ``lift-suite.v1`` as one that keeps ``eval-suite.v1``.

    What the source says beyond that comes along: about a prompt under its ``inputs``, about the suite under
    ``metadata``.
    """
    name = document["skill_name"]
    known = {"schema_version", "skill_name", "comment", "evals"}
    return {
        "schema_version": 1,
        "id": _id(name),
        "name": name,
        **({"description": document["comment"]} if "comment" in document else {}),
        "domain": "lift",
        "visibility": Visibility.PUBLIC_CANARY.value,
        "tier": Tier.LIVE.value,
        "metadata": {"shape": SCHEMA, **{key: document[key] for key in document if key not in known}},
        "scoring": {
            "aggregate_threshold": 0,
            "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0}],
        },
        "baseline_policy": {"mode": "none"},
        "cases": [_case(prompt) for prompt in document["evals"]],
    }


def source_pointer(pointer: str) -> str:
    """Return where in the source stands what ``pointer`` names in the converted document."""
    found = re.fullmatch(r"/cases(/\d+)?(?:/inputs(?=/))?(/.*)?", pointer)
    if found is None:
        return {"/id": "/skill_name", "/name": "/skill_name", "/description": "/comment"}.get(pointer, "")
    case, rest = found[1] or "", found[2] or ""
    rest = re.sub(r"^(/expectations/\d+)/type$", r"\1/kind", rest)
    rest = re.sub(r"^(/expectations/\d+)/target$", r"\1/resource", rest)
    return f"/evals{case}" + {"/objective": "/title", "/kind": ""}.get(rest, rest)


def _id(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._") or "lift-suite"


def _case(prompt: dict[str, Any]) -> dict[str, Any]:
    title = prompt.get("title", prompt["id"])
    expectations = prompt["expectations"]
    inputs = {key: prompt[key] for key in prompt if key not in _PROMPT_KEYS}
    if all("id" in e for e in expectations):
        inputs[EXPECTATION_IDS] = [e["id"] for e in expectations]
    cited = {key: [e["value"] for e in expectations if e["kind"] == kind] for key, kind in _CITED.items()}
    return {
        "id": prompt["id"],
        "title": title,
        "kind": CaseKind.RUNTIME_PROMPT.value,
        "objective": title,
        **{key: prompt[key] for key in ("archetype", "prompt", "tags") if key in prompt},
        "inputs": inputs,
        "dimensions": ["correctness"],
        **{key: values for key, values in cited.items() if values},
        "expectations": [_expectation(e) for e in expectations],
    }


def _expectation(entry: dict[str, Any]) -> dict[str, Any]:
    target = {"target": entry["resource"]} if "resource" in entry else {}
    return {"type": entry["kind"], "value": entry["value"], **target}
