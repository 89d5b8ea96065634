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
    # two letters before "sk-" make a word of it, such as "task-"; one is the end of a colour code
    rb"sk-ant-[A-Za-z0-9_-]{16,}|(?<![A-Za-z]{2})sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    rb"|hf_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}|AKIA[A-Z0-9]{16}|xox[abprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}"
    rb"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)


def credential_names(names: list[str] | Mapping[str, str]) -> list[str]:
    """Return the names that look like credentials, sorted."""
    return sorted(name for name in names if CREDENTIAL_NAME.search(name))


class Redactor:
    """Replaces secrets in bytes. Made once per run, from the environment the run was started in.

    A secret is known as it is, inside JSON, inside a URL, and inside base64 at any offset. Hashed, encrypted,
    compressed or cut into pieces it is not.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._marks = {
            form: f"[redacted:{name}]".encode("utf-8", "replace")
            for name in credential_names(secrets)
            for form in _forms(secrets[name])
        }
        longest_first = sorted(self._marks, key=len, reverse=True)
        self._exact = re.compile(b"|".join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, data: bytes) -> bytes:
        """Return ``data`` without the secrets; each is replaced by its name, never by its length."""
        if self._exact is not None:
            data = self._exact.sub(lambda match: self._marks[match.group()], data)
        return _TOKEN_SHAPES.sub(b"[redacted:token]", data)


def _forms(value: str) -> set[bytes]:
    if len(value) < SHORTEST_SECRET:
        return set()
    raw = value.encode("utf-8", "surrogateescape")
    json_texts = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    urls = {urllib.parse.quote(raw, safe=safe) for safe in ("", "/")} | {urllib.parse.quote_plus(raw)}
    texts = {text.encode("utf-8", "surrogateescape") for text in json_texts | urls}
    # Base64 writes three bytes at a time: these are the whole triples, wherever the secret begins.
    triples = [raw[start:][: (len(raw) - start) // 3 * 3] for start in range(3)]
    coded = {encode(part) for part in triples for encode in (base64.b64encode, base64.urlsafe_b64encode)}
    return {raw} | texts | coded
