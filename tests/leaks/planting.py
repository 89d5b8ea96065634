"""A private suite in which every text is a secret, and places for it to leak from."""

from __future__ import annotations

import hashlib
import json
import random
import secrets
from pathlib import Path
from typing import Any

CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxz", "aeiouy"
SECONDS = 0.4


class Planter:
    """Makes one secret a field; the same field asked for twice is the same secret."""

    def __init__(self) -> None:
        self.secrets: dict[str, tuple[str, str]] = {}
        self._random = random.SystemRandom()

    def __call__(self, field: str) -> str:
        """Return the text to plant in a field: its word and its canary, fit for ids, names and paths."""
        if field not in self.secrets:
            letters = [self._random.choice(kind) for _ in range(5) for kind in (CONSONANTS, VOWELS)]
            self.secrets[field] = secrets.token_hex(16), "".join(letters)
        canary, word = self.secrets[field]
        return f"{word}-{canary}"

    def name(self, field: str) -> str:
        """Return a secret that is fit for the name of a variable."""
        return self(field).replace("-", "_")


def suite_document(plant: Planter) -> dict[str, Any]:
    """Return a private suite whose cases pass, fail, break, take too long and cannot be decided."""
    fixture = plant("fixture content")
    return {
        "schema_version": 1,
        "id": plant("suite id"),
        "name": plant("suite name"),
        "description": plant("description"),
        "domain": plant("domain"),
        "visibility": "private_holdout",
        "tier": "headless",
        "owners": [plant("owner")],
        "tags": [plant("suite tag")],
        "practices": [plant("practice")],
        "metadata": {plant("metadata key"): plant("metadata value"), "registry_version": plant("registry")},
        "environment": {"scrub_env_prefixes": [plant.name("scrub prefix")]},
        "fixtures": [
            {
                "path": f"{plant('fixture folder')}/{plant('fixture name')}.txt",
                "purpose": plant("fixture purpose"),
                "sha256": hashlib.sha256(fixture.encode()).hexdigest(),
            }
        ],
        "scoring": {
            "aggregate_threshold": 0.5,
            "dimensions": [
                {"name": plant("dimension"), "weight": 1, "threshold": 0.5},
                {"name": "safety", "weight": 1, "threshold": 0.5, "critical": True},
            ],
        },
        "arms": {
            "skill-on": {
                "env": {plant.name("arm env name"): plant("arm env value")},
                "inputs": {plant("arm input key"): plant("arm input value")},
                "prompt_suffix": plant("prompt suffix"),
                "model": plant("arm model"),
            }
        },
        "baseline_policy": {
            "mode": "promotable",
            "baseline_ref": plant("baseline ref"),
            "promotion_requires": ["critical_canaries_pass"],
        },
        "judge": {
            "model": plant("judge model"),
            "family": plant("judge family"),
            "rubric": plant("rubric name"),
        },
        "cases": [
            _case(plant, kind) for kind in ("passes", "fails", "breaks", "slow", "undecided", *"abcdefgh")
        ],
    }


def _case(plant: Planter, kind: str) -> dict[str, Any]:
    def field(name: str) -> str:
        return plant(f"{kind}: {name}")

    said = f"echo {field('stdout')}; echo {field('stderr')} >&2; echo {field('file')} > $TMPDIR/left"
    ends = {"fails": "exit 7", "slow": "sleep 30"}
    shell = {"shell": f"{said}; {ends.get(kind, ':')}"}
    inputs: dict[str, Any] = {"argv": [f"/{field('program')}", field("argv")]} if kind == "breaks" else shell
    wanted: list[dict[str, Any]] = [
        {"type": "exit_code", "value": 0},
        {"type": "stdout_contains", "value": field("stdout")},
        {"type": "not_contains", "value": field("unwanted")},
        {"type": "file_absent", "target": field("absent file")},
        {"type": "regex", "value": f"{field('pattern')}|{field('stdout')}"},
        {"type": "cites_card", "value": field("card"), "required": False},
        {
            "type": "json_path",
            "target": f"$.{plant.name(f'{kind}: json path')}",
            "value": 1,
            "required": False,
        },
    ]
    if kind == "fails":
        wanted.append(
            {"type": "artifact_contains", "target": field("artifact"), "value": field("artifact text")}
        )
    if kind == "undecided":
        wanted.append({"type": "manual_review", "value": field("review")})
    return {
        "id": field("case id"),
        "title": field("title"),
        "kind": "command",
        "objective": field("objective"),
        "archetype": field("archetype"),
        "prompt": field("prompt"),
        "timeout_seconds": SECONDS if kind == "slow" else 20,
        "inputs": {
            **inputs,
            "stdin": field("stdin"),
            "env": {plant.name(f"{kind}: env name"): field("env value")},
            field("input key"): field("input value"),
        },
        "dimensions": [plant("dimension"), "safety"],
        "critical": kind in ("passes", "fails"),
        "tags": [field("tag")],
        "expected_cards": [field("card")],
        "expected_recipes": [field("recipe")],
        "expectations": wanted,
    }


def write_suite(folder: Path, plant: Planter, document: Any = None) -> Path:
    """Write the suite and its files into ``folder``, a repository of its own; return the suite file."""
    document = suite_document(plant) if document is None else document
    files = {
        f"{plant('fixture folder')}/{plant('fixture name')}.txt": plant("fixture content"),
        plant("rubric name"): plant("rubric content"),
        "evalstats.toml": "",
        "suite.json": document if isinstance(document, str) else json.dumps(document, indent=1),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "suite.json"


def public_document() -> dict[str, Any]:
    """Return a public suite, so that there is something to export."""
    case = {"kind": "command", "objective": "is open", "inputs": {"shell": "echo open"}}
    return {
        "schema_version": 1,
        "id": "door",
        "name": "Door",
        "domain": "test",
        "visibility": "public_canary",
        "tier": "deterministic",
        "scoring": {
            "aggregate_threshold": 0.5,
            "dimensions": [{"name": "correctness", "weight": 1, "threshold": 0}],
        },
        "baseline_policy": {"mode": "none"},
        "cases": [
            {
                "id": name,
                "title": name,
                **case,
                "dimensions": ["correctness"],
                "expectations": [{"type": "exit_code", "value": 0}],
            }
            for name in ("front", "back")
        ],
    }
