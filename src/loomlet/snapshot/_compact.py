"""Compact tuples, and the attributes of instances of subclasses.

Usual values at the end of a tuple are None and are cut off; reading puts them back.  Attributes are
those of `__dict__` and `__slots__`, as pickle sees them.
"""

from __future__ import annotations

from typing import Any

from loomlet.errors import ThawError

__all__ = ["cut", "grown", "own_attributes", "set_attributes"]


def cut(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tuple without the Nones at its end."""
    for end in range(len(parts), 0, -1):
        if parts[end - 1] is not None:
            return parts[:end]
    return ()


def grown(parts: object, size: int) -> tuple[Any, ...]:
    """The tuple with the Nones that cut() has cut off."""
    if type(parts) is not tuple or len(parts) > size:
        raise ThawError(f"expected a tuple of up to {size} parts")
    return parts + (None,) * (size - len(parts))


def own_attributes(value: Any) -> Any:
    """The attributes of an instance of a subclass: dict, (dict or None, dict of slots), or None."""
    return object.__getstate__(value) or None


def set_attributes(value: Any, own: Any) -> None:
    """Sets what own_attributes() has returned."""
    attributes, slots = own if type(own) is tuple else (own, None)
    if attributes:
        value.__dict__.update(attributes)
    for name, part in (slots or {}).items():
        setattr(value, name, part)
