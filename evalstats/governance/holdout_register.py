"""What has been published about private suites so far, and would one more publication give cases away?

The register lies in the private tree and is only added to. Suites and cases stand in it under a key that is made
once and never leaves the tree, so that not even a stolen register can be searched for a guessed name.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstats import contract
from evalstats.errors import JournalError, UsageError
from evalstats.governance import chain
from evalstats.journal import make_private, owners_only, write_synced

SCHEMA = "holdout-register.v1"
FEWEST = 5  # cases behind a number that is published, and between two publications that differ
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One run about to be published: under which alias, and which of its counted cases passed, by their keys."""

    alias: str
    suite: str
    run: str
    run_id: str
    cases: Mapping[str, bool]


class Register:
    """The publications of one private tree; to be used as :func:`opened` yields it."""

    def __init__(self, path: Path, key: bytes, entries: tuple[dict[str, Any], ...]) -> None:
        self.path = path
        self.entries = entries
        self._key = key

    def keyed(self, *words: str) -> str:
        """Return the name of something private in the register."""
        return hmac.new(self._key, contract.canonical(list(words)), hashlib.sha256).hexdigest()

    def same(self, publication: Publication) -> dict[str, Any] | None:
        """Return what was published of this very run before."""
        found = (e for e in self.entries if e["run"] == publication.run and e["alias"] == publication.alias)
        return next((entry["published"] for entry in found), None)

    def check(self, publication: Publication) -> None:
        """Raise UsageError where the publication, held against all before it, would tell of single cases."""
        for entry in self.entries:
            if (entry["alias"] == publication.alias) != (entry["suite"] == publication.suite):
                raise UsageError("a private suite has one alias, and an alias one suite", field="--alias")
            day = entry["published"]["published_on"]
            if 0 < len(entry["cases"].keys() ^ publication.cases.keys()) < FEWEST:
                raise UsageError(
                    f"fewer than {FEWEST} counted cases differ from those published on {day}, so the difference would "
                    "tell of them; run the same cases again, or change more of them"
                )

    def last(self, publication: Publication, arm: str) -> dict[str, Any] | None:
        """Return the last entry of the same alias and arm."""
        found = [e for e in self.entries if (e["alias"], e["published"]["arm"]) == (publication.alias, arm)]
        return found[-1] if found else None

    def add(self, publication: Publication, published: Mapping[str, Any]) -> None:
        """Record a publication, on disk when this returns."""
        entry = {
            "schema": SCHEMA,
            "alias": publication.alias,
            "suite": publication.suite,
            "run": publication.run,
            "run_id": publication.run_id,
            "cases": dict(publication.cases),
            "published": published,
        }
        chain.append(self.path, entry, SCHEMA, private=True)


@contextlib.contextmanager
def opened(tree: Path) -> Iterator[Register]:
    """Yield the register of a private tree, and keep others from publishing meanwhile. Raises JournalError."""
    path = make_private(tree) / "publications.jsonl"
    with chain.alone(path):
        found = chain.read(path, SCHEMA)
        if found.problems:
            raise JournalError(f"the register of publications is broken: {found.problems[0]}", path=path)
        yield Register(path, _key(tree / "publications.key", is_new=not found.entries), found.entries)


def _key(path: Path, *, is_new: bool) -> bytes:
    if not path.exists():
        if not is_new:
            raise JournalError("the key of the register is gone; put it back from a copy", path=path)
        with owners_only():
            write_synced(path, secrets.token_hex(_KEY_BYTES).encode() + b"\n")
    os.chmod(path, 0o600)
    try:
        key = bytes.fromhex(path.read_text("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise JournalError("is not the key of the register; put it back from a copy", path=path)
    return key
