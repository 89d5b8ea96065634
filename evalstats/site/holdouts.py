"""What is told of private suites: the aggregates that their keeper published, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import DocumentError
from evalstats.site.problems import Problem

SCHEMA = "holdout-aggregate.v1"


def read(folder: Path) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Return the aggregates of a folder, the newest first, and what is wrong; no such file is named.

    A file that is no aggregate may hold, or be named after, what is private.
    """
    found, faulty = [], 0
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            document, _ = contract.read_json(path)
            contract.validate(document, SCHEMA, path=path)
            found.append(document)
        except DocumentError:
            faulty += 1
    problem = (
        f"{faulty} file(s) among the published holdouts are no public aggregate; nothing of them is shown"
    )
    ordered = sorted(found, key=lambda one: (one["alias"], one["arm"], one["ran_on"], one["published_on"]))
    return ordered[::-1], [Problem(problem)] if faulty else []
