"""Methods of C in a subclass, as if the subclass had defined them.

The interpreter calls a method of C by a short way if the type of the object is that of the method.
An inherited method is called by a longer way each time. So a class of ours that only adds something
to one in C gets method objects of its own: the same functions, called by the short way.

Names with two underscores at both ends are left alone: the interpreter has slots for them.
"""

from __future__ import annotations

from types import MethodDescriptorType
from typing import TypeVar

from loomlet import _core

__all__ = ["with_own_methods"]

_Class = TypeVar("_Class", bound=type)


def with_own_methods(cls: _Class) -> _Class:
    """A decorator: the class, with a method of its own for each method of C that it inherits."""
    known = set(vars(cls))
    for base in cls.__mro__[1:-1]:
        for name, found in vars(base).items():
            inherits = name not in known and isinstance(found, MethodDescriptorType)
            if inherits and not name.endswith("__"):
                type.__setattr__(cls, name, _core._own_method(cls, found))
            known.add(name)
    return cls
