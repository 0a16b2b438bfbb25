"""The steps of asynchronous generators: what `asend()`, `athrow()`, `aclose()` and `__anext__()`
return, in each of their states.  `async for` holds one while it waits.

A step holds its generator, what is sent or thrown, and whether it has begun or ended; all three are
read from its own memory (_raw_object.py).  Any thread that may touch the generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loomlet import _core
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._progress import Saving
from loomlet.snapshot._raw_object import Held, words_of

__all__ = ["HANDLERS", "TYPES", "step_type"]

Handler = Callable[[Saving, Any], Any]


@named_in_bytes
def async_step(generator: Any, method: str, args: tuple[Any, ...], state: int) -> Any:
    """What that method of an asynchronous generator returns: 0 not begun, 1 begun, 2 ended."""
    return _core._async_step(generator, method, args, state)


def _sent(saving: Saving, step: Any) -> Any:
    generator, value, state = words_of(step, 3, 3)
    if isinstance(value, Held):
        return async_step, (generator.value, "asend", (value.value,), state & 3)
    return async_step, (generator.value, "__anext__", (), state & 3)


def _thrown(saving: Saving, step: Any) -> Any:
    generator, args, state = words_of(step, 3, 3)
    if isinstance(args, Held):
        return async_step, (generator.value, "athrow", args.value, state & 3)
    return async_step, (generator.value, "aclose", (), state & 3)


async def _nothing() -> Any:
    yield


def _handlers() -> dict[type, Handler]:
    generator = _nothing()
    made = _core._async_step(generator, "asend", (None,), 2)
    thrown = _core._async_step(generator, "aclose", (), 2)
    return {type(made): _sent, type(thrown): _thrown}


HANDLERS: dict[type, Handler] = _handlers()
TYPES: dict[type, str] = {kind: kind.__name__ for kind in HANDLERS}
"""What no module holds; each has methods, which a frame refers to while it calls one."""


@named_in_bytes
def step_type(name: str) -> type:
    """The type of that name."""
    return next(kind for kind, known in TYPES.items() if known == name)
