"""Credentials out of anything that leaves.

Two rules: the exact *values* of variables whose names look like credentials, and the shapes of
well-known tokens. The whole text of a stream is redacted at once, so no secret hides on a chunk boundary.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Mapping

CREDENTIAL_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|AUTH|CREDENTIAL", re.IGNORECASE)
SHORTEST_SECRET = 8  # shorter values are words like "on", and redacting them would eat ordinary text

_TOKEN_SHAPES = re.compile(
    rb"sk-ant-[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    rb"|hf_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}|AKIA[A-Z0-9]{16}|xox[abprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}"
    rb"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)


def credential_names(names: list[str] | Mapping[str, str]) -> list[str]:
    """Return the names that look like credentials, sorted."""
    return sorted(name for name in names if CREDENTIAL_NAME.search(name))


class Redactor:
    """Replaces secrets in bytes. Made once per run, from the environment the run was started in."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        values = {name: secrets[name] for name in credential_names(secrets)}
        forms = {form: name for name, value in values.items() for form in _forms(value)}
        self._names = forms
        longest_first = sorted(forms, key=len, reverse=True)
        self._exact = re.compile(b"|".join(re.escape(form) for form in longest_first)) if forms else None

    def __call__(self, data: bytes) -> bytes:
        """Return ``data`` without the secrets; each is replaced by its name, never by its length."""
        if self._exact is not None:
            data = self._exact.sub(lambda m: b"[redacted:" + self._names[m.group()].encode() + b"]", data)
        return _TOKEN_SHAPES.sub(b"[redacted:token]", data)


def _forms(value: str) -> set[bytes]:
    if len(value) < SHORTEST_SECRET:
        return set()
    raw = value.encode("utf-8", "surrogateescape")
    quoted = json.dumps(value)[1:-1].encode()
    return {raw, quoted, base64.b64encode(raw), urllib.parse.quote(value, errors="surrogateescape").encode()}
