"""Text checks of lift suites: what an answer declares, assigns, imports and cites.

They read an answer as text, prose around it included; nothing is parsed as a program.
"""

from __future__ import annotations

import re

_WORD = r"[A-Za-z0-9_-]"


def has_resource(text: str, address: str) -> bool:
    """Return whether the text declares or addresses a resource.

    ``address`` is a type or ``type.name``; it is met as ``resource "type" "name"`` or as ``type.name``.
    A data source (``data.type.name``) and a longer type (``type_v2``) do not count.
    """
    kind, _, name = address.partition(".")
    quoted = re.escape(name) if name else '[^"]+'
    block = rf'\bresource\s+"{re.escape(kind)}"\s+"{quoted}"'
    named = re.escape(name) + r"(?![A-Za-z0-9_-])" if name else r"[A-Za-z_]"
    dotted = rf"(?:^|[^A-Za-z0-9_./-]){re.escape(kind)}\.{named}"
    return re.search(f"{block}|{dotted}", text, re.MULTILINE) is not None


def cites(text: str, name: str) -> bool:
    """Return whether the text names a card, a recipe or a path, not as part of a longer name."""
    return re.search(rf"(?<!{_WORD}){re.escape(name)}(?!{_WORD})", text) is not None


def has_argument(text: str, name: str, resource: str | None = None) -> bool:
    """Return whether an argument is assigned (``name = ...``) or opened as a block (``name {``).

    With ``resource``, a type, only the bodies of its ``resource`` blocks are looked at.
    """
    places = [text] if resource is None else _bodies(text, resource)
    pattern = re.compile(rf"(?<![A-Za-z0-9_.-]){re.escape(name)}\s*(?:=(?![=>])|\{{)")
    return any(pattern.search(place) for place in places)


def has_import(text: str, resource: str) -> bool:
    """Return whether a resource is imported: by ``terraform import type.name id``, or an ``import`` block."""
    rest = r"(?![A-Za-z0-9_-])\S*" if "." in resource else r"\.[A-Za-z_]\S*"
    address = re.escape(resource) + rest
    line = rf"\bterraform\s+import\s+(?:-\S+\s+)*['\"]?{address}[ \t]+\S"
    block = rf"\bimport\s*\{{[^}}]*\bto\s*=\s*{address}"
    return re.search(f"{line}|{block}", text) is not None


def _bodies(text: str, resource: str) -> list[str]:
    """Return the bodies of the blocks of one resource type; an unclosed one reaches to the end."""
    bodies = []
    for found in re.finditer(rf'\bresource\s+"{re.escape(resource)}"\s+"[^"]*"\s*\{{', text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        bodies.append(text[found.end() : end])
    return bodies
