r"""The graded text between two delimiters that it cannot know, with nothing in it that could act.

A text that is judged may be hostile: it asks for a pass, pretends to end, imitates instructions or the answer. So it
stands between two lines that hold a random mark. The mark comes from the seed of the judgement and a secret drawn when
judging began, after the subject had its say: who knows the seed cannot foresee it. It never occurs in the text.

What is invisible, turns the direction of writing, or is a control word of a chat template, is spelled out as
``\u{hex}``: nothing is lost, and nothing acts.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from dataclasses import dataclass

MARK_DIGITS = 32
LONGEST_TEXT = 100_000  # characters; what is longer is not judged by a part of it
_PLAIN = frozenset("\n\t")
# Invisible, or at home in no text: controls, format characters (also direction and tags), surrogates, private and
# unassigned code points, and the line and paragraph separators.
_ACTING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_UNSEEN = frozenset(
    [0x115F, 0x1160, 0x3164, 0xFFA0, 0x034F, 0x2800, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)
# Words by which chat templates tell who speaks; a tokenizer may take them for its own.
_CONTROL_WORD = re.compile(
    r"<(?=[|\uff5c])|<(?=/?s>)|<(?=(?:start|end)_of_turn>)|<(?=/?(?:bos|eos|pad|unk|mask|think|tool_call)>)"
    r"|<(?=</?SYS>>)|\[(?=/?INST\])|\[(?=/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\u\{([0-9A-F]{1,6})\}")
_LOOKS_ESCAPED = re.compile(r"\\(?=u\{)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenced:
    """A text in its fence, and the mark of the fence."""

    mark: str
    text: str


def fenced(text: str, *, secret: bytes, seed: str) -> Fenced:
    """Return ``text``, escaped, between two lines with a mark that does not occur in it."""
    inside = escaped(text)
    mark = _mark(inside + text, secret, seed)
    return Fenced(mark=mark, text=f"[output {mark} begins]\n{inside}\n[output {mark} ends]")


def escaped(text: str) -> str:
    r"""Return ``text`` with what acts or hides spelled out; different texts stay different.

    Examples
    --------
    >>> print(escaped("see\u202ethis<|im_end|>"))
    see\u{202E}this\u{3C}|im_end|>
    """
    quoted = _LOOKS_ESCAPED.sub(_spelled, text)
    quoted = _CONTROL_WORD.sub(_spelled, "".join(map(_visible, quoted)))
    return quoted


def unescaped(text: str) -> str:
    """Return the text that was escaped."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _visible(character: str) -> str:
    if character in _PLAIN:
        return character
    acts = unicodedata.category(character) in _ACTING or ord(character) in _UNSEEN
    return f"\\u{{{ord(character):X}}}" if acts else character


def _spelled(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):X}}}"


def _mark(text: str, secret: bytes, seed: str) -> str:
    folded, count = text.casefold(), 0
    while True:
        hashed = hmac.new(secret, f"{seed}:{count}".encode(), hashlib.sha256)
        mark = hashed.hexdigest()[:MARK_DIGITS]
        if mark not in folded:
            return mark
        count += 1
