"""freeze(), thaw() and clone()."""

from collections.abc import Callable
from typing import Any, assert_type

import loomlet
from loomlet import CodeChanged, FreezeError, Tasklet, ThawError


def renamed(module: str, name: str) -> Callable[..., object] | None:
    """A code map that is a function."""
    return renamed if (module, name) == ("old", "name") else None


def freezing(tasklet: Tasklet) -> None:
    """One or several, with partners and a key."""
    assert_type(loomlet.freeze(tasklet), bytes)
    assert_type(loomlet.freeze([tasklet, tasklet], with_partners=True, key=b"k"), bytes)
    assert_type(loomlet.why_not_freezable(tasklet), str | None)
    assert_type(loomlet.clone(tasklet), Tasklet)


def pausing(store: list[bytes]) -> str:
    """None where it goes on after it was thawed."""
    saved = loomlet.checkpoint(key=b"k")
    if saved is not None:
        store.append(saved)
    return "later"


def thawing(data: bytes) -> None:
    """The result is like the argument of freeze(): one or a list."""
    assert_type(loomlet.thaw(data), Any)
    assert_type(loomlet.thaw(data, key=b"k", code_map={"module.name": renamed}), Any)
    assert_type(loomlet.thaw(data, code_map={("module", "name"): renamed}), Any)
    assert_type(loomlet.thaw(data, code_map=renamed), Any)
    assert_type(loomlet.thaw(data, code_map=None), Any)


def errors(tasklet: Tasklet, data: bytes) -> None:
    """CodeChanged names the function."""
    try:
        loomlet.freeze(tasklet)
        loomlet.thaw(data)
    except FreezeError as error:
        not_possible: TypeError = error
        print(not_possible)
    except CodeChanged as error:
        assert_type(error.module, str)
        assert_type(error.qualname, str)
        refused: ThawError = error
        print(refused)
    except ThawError as error:
        damaged: ValueError = error
        print(damaged)
    raise loomlet.FreezeWarning("x")
