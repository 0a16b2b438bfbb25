"""The functions and classes that bytes name, and that are called while the bytes are read.

Each is marked by @named_in_bytes where it is written, and shows itself in this module.  Bytes name
this place: a builder may move to another file, but its name and the meaning of its arguments are
part of the format.
"""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["named_in_bytes"]

Builder = TypeVar("Builder", bound=Any)


def named_in_bytes(builder: Builder) -> Builder:
    """Marks a builder; its name never changes again."""
    name = builder.__qualname__
    if globals().setdefault(name, builder) is not builder:
        raise ValueError(f"expected one builder called {name!r}, found two")
    builder.__module__ = __name__
    return builder
