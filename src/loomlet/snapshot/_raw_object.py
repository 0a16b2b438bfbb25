"""The words of an object's own memory, for iterators that show nothing of their state.

Words are compared with the addresses of the objects that the garbage collector finds in it, so no
word is dereferenced.  The size of the type is checked before anything is read; a type of an unknown
size is refused.  Any thread that may touch the object.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from loomlet.errors import FreezeError

__all__ = ["WORD", "Held", "numbers", "raw_words", "words_of"]

WORD = 8
HEAD = object.__basicsize__ // WORD


class Held:
    """A reference to an object, in a word."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _integers(address: int, count: int) -> list[int]:
    import ctypes

    raw = ctypes.string_at(address, count * WORD)
    return [
        int.from_bytes(raw[at : at + WORD], sys.byteorder, signed=True)
        for at in range(0, count * WORD, WORD)
    ]


def raw_words(value: Any, offset: int, size: int) -> list[Any]:
    """Words of an object's memory: Held for references, else numbers."""
    known = {id(found): found for found in gc.get_referents(value)}
    found = _integers(id(value) + offset, size)
    return [Held(known[number]) if number in known else number for number in found]


def words_of(value: Any, least: int, most: int) -> list[Any]:
    """The words after the header; FreezeError if the type has another size than the known ones."""
    size = type(value).__basicsize__ // WORD - HEAD
    if not least <= size <= most:
        raise FreezeError(f"{type(value).__name__} objects of this Python have an unknown layout")
    return raw_words(value, HEAD * WORD, size)


def numbers(address: int, count: int) -> list[int]:
    """An array of numbers that an object owns."""
    return _integers(address, count) if count else []
