"""The digests of a suite: what changed, layer by layer."""

from __future__ import annotations

from typing import Any

from evalstats import contract
from evalstats.suite.fixtures import (
    arm_files,
    file_digest,
    fixtures_of,
    is_inside_path,
    named_files,
    tree_digest,
)
from evalstats.suite.model import Suite

# Policy and scoring keys of the document; whatever is in neither is metadata.
SCORING_KEYS = ("cases", "scoring", "environment", "trials", "judge", "arms")
POLICY_KEYS = ("baseline_policy",)


def hashes(suite: Suite) -> dict[str, str]:
    """Return the five digests: ``raw``, ``canonical``, ``scoring``, ``policy``, ``metadata``."""
    document = suite.document
    scoring = {key: document[key] for key in SCORING_KEYS if key in document}
    scoring["content"] = {**_contents(suite, named_files(document)), **_arm_contents(suite)}
    rest = {key: value for key, value in document.items() if key not in (*SCORING_KEYS, *POLICY_KEYS)}
    return {
        "raw": contract.digest(suite.raw),
        "canonical": contract.canonical_digest(document),
        "scoring": contract.canonical_digest(scoring),
        "policy": contract.canonical_digest({key: document[key] for key in POLICY_KEYS}),
        "metadata": contract.canonical_digest(rest),
    }


def case_hashes(suite: Suite) -> dict[str, str]:
    """Return case id -> digest of the case and the content of its own fixtures."""
    result = {}
    for index, case in enumerate(suite.document["cases"]):
        content = _contents(suite, fixtures_of(case, f"/cases/{index}"))
        result[case["id"]] = contract.canonical_digest({"case": case, "content": content})
    return result


def _contents(suite: Suite, files: list[tuple[str, dict[str, Any]]]) -> dict[str, str | None]:
    return {file["path"]: file_digest(suite.root / file["path"]) for _, file in files}


def _arm_contents(suite: Suite) -> dict[str, str | None]:
    names = [name for _, name in arm_files(suite.document) if is_inside_path(name)]
    return {name: tree_digest(suite.root / name) for name in names}
