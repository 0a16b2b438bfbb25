"""Records made short, and the attributes that instances of subclasses have of their own.

What is usual is left out of a record and what follows is cut; reading puts it back.  Attributes are
those of `__dict__` and `__slots__`, as pickle sees them.
"""

from __future__ import annotations

from typing import Any

from loomlet.errors import ThawError

__all__ = ["cut", "grown", "own_attributes", "set_attributes"]


def cut(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the Nones at the end."""
    for end in range(len(parts), 0, -1):
        if parts[end - 1] is not None:
            return parts[:end]
    return ()


def grown(parts: object, size: int) -> tuple[Any, ...]:
    """What cut() has cut is put back."""
    if type(parts) is not tuple or len(parts) > size:
        raise ThawError(f"expected a record of up to {size} parts")
    return parts + (None,) * (size - len(parts))


def own_attributes(value: Any) -> Any:
    """Those of an instance of a subclass: a dict, or (dict or None, dict of slots); or None."""
    return object.__getstate__(value) or None


def set_attributes(value: Any, own: Any) -> None:
    """The other way round."""
    attributes, slots = own if type(own) is tuple else (own, None)
    if attributes:
        value.__dict__.update(attributes)
    for name, part in (slots or {}).items():
        setattr(value, name, part)
