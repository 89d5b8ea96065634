"""The statements of the store: plain files, one question each, read by name."""

from __future__ import annotations

import functools
from importlib import resources


@functools.cache
def statement(name: str) -> str:
    """Return the SQL called ``name``: ``queries/case_runs``, or ``lake/trials``."""
    return resources.files(__name__).joinpath(f"{name}.sql").read_text("utf-8")


@functools.cache
def names(folder: str) -> tuple[str, ...]:
    """Return what lies in ``queries``, ``lake`` or ``schema``, in order and without ``.sql``."""
    files = (entry.name for entry in resources.files(__name__).joinpath(folder).iterdir())
    return tuple(sorted(name.removesuffix(".sql") for name in files if name.endswith(".sql")))
