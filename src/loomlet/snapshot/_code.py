"""Digests of code objects, which show a change, and the path to nested code.

A code object that belongs to an importable function is saved as a name and a digest of eight bytes.
The first half covers the layout: bytecode, variables, exception table; a frame can resume in any
code of the same layout.  The second half covers the meaning: names, constants, nested code.  File
names and line numbers are in neither, so a function may move.  Digests are cached by the identity
of the code object for as long as it lives; comparing code objects would be slow.

Code that was compiled inside a function is found through that function: by its qualified name among
the constants, and by its index among those of the same name.  Any thread: the caches are plain
dicts and at worst computed twice.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterator
from types import CodeType
from typing import Any

__all__ = ["DIGESTS", "LAYOUT", "digest", "nested", "nested_index", "same_layout"]

LAYOUT = 4
"""The number of bytes of a digest that cover the layout."""

DIGESTS: dict[int, tuple[weakref.ref[CodeType], bytes]] = {}
"""By id of a code object: itself and its digest."""


def digest(code: CodeType) -> bytes:
    """Eight bytes that change when the behaviour of the code may have changed."""
    known = DIGESTS.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    return _computed(code)


def _computed(code: CodeType) -> bytes:
    key = id(code)
    found = _short(_layout(code)) + _short(_meaning(code))
    DIGESTS[key] = (weakref.ref(code, lambda gone: _forget(key, gone)), found)
    return found


def _forget(key: int, gone: weakref.ref[CodeType]) -> None:
    known = DIGESTS.get(key)
    if known is not None and known[0] is gone:
        DIGESTS.pop(key, None)


def _short(parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=4).digest()


def _layout(code: CodeType) -> tuple[Any, ...]:
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    variables = (code.co_varnames, code.co_cellvars, code.co_freevars)
    return code.co_code, counts, variables, code.co_exceptiontable


def _meaning(code: CodeType) -> tuple[Any, ...]:
    return code.co_names, [_constant(value) for value in code.co_consts]


def _constant(value: object) -> object:
    """Something whose repr distinguishes a constant from every other."""
    if isinstance(value, CodeType):
        return digest(value)
    if isinstance(value, tuple):
        return tuple(_constant(item) for item in value)
    if isinstance(value, frozenset):
        return "frozenset", sorted(repr(_constant(item)) for item in value)
    return type(value).__name__, value


def same_layout(one: bytes, other: bytes) -> bool:
    """Whether a frame of the code with one digest can resume in code with the other."""
    return one[:LAYOUT] == other[:LAYOUT]


def _walk(code: CodeType) -> Iterator[CodeType]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield value
            yield from _walk(value)


def nested(outer: CodeType, qualname: str, index: int) -> CodeType | None:
    """The index-th code of that name compiled inside `outer`, or None."""
    found = [code for code in _walk(outer) if code.co_qualname == qualname]
    return found[index] if 0 <= index < len(found) else None


def nested_index(outer: CodeType, inner: CodeType) -> int | None:
    """The index under which nested() finds `inner`, or None."""
    same = [code for code in _walk(outer) if code.co_qualname == inner.co_qualname]
    return next((index for index, code in enumerate(same) if code is inner), None)
