"""JSON that may be hostile, broken or larger than memory: read strictly, or a piece at a time.

NaN and infinities, which some tools write, are let in; a key that stands twice in one object is not.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

MAX_DEPTH = 200
MAX_DIGITS = 4000  # of an integer: what an answer to a sum may have, and well below what is slow to read
MAX_PIECE = 1 << 26  # bytes of one value that is held in memory while the document around it is walked
_CHUNK = 1 << 18
_LITERAL = 12  # characters of the longest word of JSON, -Infinity, that a chunk may cut
_SPACE = " \t\n\r"


class Malformed(ValueError):
    """The text is not the JSON it should be; ``line`` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("a key stands twice in one object; which one counts?")
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Malformed(f"an integer of more than {MAX_DIGITS} digits is no measurement")
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_integer)


def loads(text: str) -> Any:
    """Return the document that ``text`` is. Raises Malformed."""
    try:
        document = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"is not JSON: {error.msg} (column {error.colno})", error.lineno) from None
    except RecursionError:
        raise Malformed(f"is nested deeper than {MAX_DEPTH}") from None
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(document)
    return document


def _check_depth(document: Any) -> None:
    layer = [document] if isinstance(document, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        layer = [
            child
            for node in layer
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
    if layer:
        raise Malformed(f"is nested deeper than {MAX_DEPTH}")


class Window:
    """The part of a JSON document that is being looked at; it moves forward through the file."""

    def __init__(self, file: BinaryIO, limit: int = MAX_PIECE, errors: str = "strict") -> None:
        self._file, self._limit = file, limit
        self._decode = codecs.getincrementaldecoder("utf-8")(errors).decode
        self._text, self._at, self._ended, self._lines = "", 0, False, 1

    def peek(self) -> str:
        """Return the next character that is not space, or nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def skip(self, *allowed: str) -> str:
        """Step over the next character and return it. Raises Malformed when it is none of ``allowed``."""
        found = self.peek()
        if found not in allowed or not found:
            raise self.malformed(f"expecting {' or '.join(allowed)}")
        self._at += 1
        return found

    def take(self) -> Any:
        """Step over the next value and return it. Raises Malformed."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _LITERAL
                if not cut or not self._more():
                    raise self.malformed(error.msg, error.pos) from None
                continue
            except RecursionError:
                raise Malformed(f"is nested deeper than {MAX_DEPTH}", self._lines) from None
            if end > len(self._text) - _LITERAL and self._more():  # a number may go on
                continue
            if self._text.count("[", self._at, end) + self._text.count("{", self._at, end) > MAX_DEPTH:
                _check_depth(value)
            self._at = end
            return value

    def malformed(self, message: str, at: int | None = None) -> Malformed:
        """Return the error to raise here."""
        line = self._lines + self._text.count("\n", 0, self._at if at is None else at)
        return Malformed(f"is not JSON: {message}", line)

    def _more(self) -> bool:
        """Bring more of the file in, as much as is held, so that a long value costs no more than its length."""
        held = len(self._text) - self._at
        if self._ended:
            return False
        if held > self._limit:
            raise Malformed(f"holds one value of more than {self._limit >> 20} MiB", self._lines)
        self._lines += self._text.count("\n", 0, self._at)
        chunk = self._file.read(max(_CHUNK, held))
        self._ended = not chunk
        self._text, self._at = self._text[self._at :] + self._decode(chunk, final=self._ended), 0
        return True


def walk(window: Window, arrays: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield (JSON pointer, value) for each element of the named arrays, and for what lies beside the way there.

    ``arrays`` are pointers; that of a document which is itself an array is "". Raises Malformed.
    """
    yield from _walked(window, "", arrays)
    if window.peek():
        raise window.malformed("something stands behind the document")


def _walked(window: Window, pointer: str, arrays: Collection[str]) -> Iterator[tuple[str, Any]]:
    opening = window.peek()
    if opening == "[" and pointer in arrays:
        yield from ((f"{pointer}/{index}", window.take()) for index in _elements(window))
    elif opening == "{" and any(array.startswith(f"{pointer}/") for array in arrays):
        for key in keys(window):
            yield from _walked(window, f"{pointer}/{key}", arrays)
    else:
        yield pointer, window.take()


def _elements(window: Window) -> Iterator[int]:
    """Yield the index of each element of an array, with the window at its value."""
    window.skip("[")
    index = 0
    if window.peek() != "]":
        yield index
        while window.skip(",", "]") == ",":
            index += 1
            yield index
    else:
        window.skip("]")


def keys(window: Window) -> Iterator[str]:
    """Yield each key of an object, with the window at its value, which has to be taken."""
    window.skip("{")
    seen: set[str] = set()
    going = window.peek() != "}" or not window.skip("}")
    while going:
        if window.peek() != '"':
            raise window.malformed("expecting a key")
        key = window.take()
        if key in seen:
            raise Malformed("a key stands twice in one object; which one counts?")
        seen.add(key)
        window.skip(":")
        yield key
        going = window.skip(",", "}") == ","
