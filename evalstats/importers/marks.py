"""A map that stays small when a log has millions of rows: what was told of each trial, in 27 bytes."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable

_WORD = 2**64 - 1
_MANY = 200_000  # entries from which memory matters more than speed


class Marks:
    """From a key to a number of 64 bits.

    Of a key only 64 bits are kept: among ten million keys two are taken for one with probability 3e-6.
    """

    def __init__(self) -> None:
        self._few: dict[int, int] = {}
        self._keys, self._marks, self._mask, self._count = array("Q"), array("Q"), 0, 0

    def __len__(self) -> int:
        return len(self._few) + self._count

    def get(self, key: Hashable) -> int | None:
        """Return the number of a key, None where it has none."""
        word = hash(key)
        if not self._mask:
            return self._few.get(word)
        place = self._place(_unsigned(word))
        return self._marks[place] if self._keys[place] else None

    def set(self, key: Hashable, mark: int) -> None:
        """Give a key its number."""
        word = hash(key)
        if not self._mask:
            self._few[word] = mark
            if len(self._few) > _MANY:
                few, self._few = self._few, {}
                self._rebuild(4 * _MANY, ((_unsigned(known), told) for known, told in few.items()))
        else:
            self._put(_unsigned(word), mark)
            if self._count * 3 > len(self._keys) * 2:
                self._rebuild(2 * len(self._keys), zip(self._keys, self._marks, strict=True))

    def add(self, key: Hashable, mark: int) -> int | None:
        """Give a key its number unless it has one; return the one it had."""
        few, held = self._few, len(self._few)
        if not self._mask and held < _MANY:
            known: int | None = few.setdefault(hash(key), mark)
            return None if len(few) > held else known
        known = self.get(key)
        if known is None:
            self.set(key, mark)
        return known

    def _place(self, word: int) -> int:
        keys, mask = self._keys, self._mask
        place = word & mask
        while keys[place] != word and keys[place]:
            place = (place + 1) & mask
        return place

    def _put(self, word: int, mark: int) -> None:
        place = self._place(word)
        self._count += not self._keys[place]
        self._keys[place], self._marks[place] = word, mark

    def _rebuild(self, size: int, entries: Iterable[tuple[int, int]]) -> None:
        size = 1 << (size - 1).bit_length()
        self._keys, self._marks = array("Q", bytes(8 * size)), array("Q", bytes(8 * size))
        self._mask, self._count = size - 1, 0
        for word, mark in entries:
            if word:
                self._put(word, mark)


def _unsigned(word: int) -> int:
    """Return a hash as the table keeps it, where 0 is an empty place."""
    return word & _WORD or 1
