"""pinned(): a tasklet stays in the thread that called run().

The `with` statement is native (bind/native/pinned.c); here is the decorator.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from loomlet import _core

__all__ = ["pinned"]

P = ParamSpec("P")
T = TypeVar("T")


class pinned(_core.Pinned):
    """`with pinned():` the running tasklet stays in the thread that called run().

    With handoff (see run()) a tasklet may run in several threads of the system, and a C call that
    waits runs beside those of other tasklets. Inside pinned() a tasklet runs in the thread of
    run() only, and nothing else of its scheduler runs while it is in a C call: as without
    handoff. It is for libraries that count on one thread: GUIs, contexts of a GPU, drivers that
    are not safe for threads. Time slices go on. Blocks nest; an object may be used again, and by
    several tasklets. Without handoff it changes nothing.

    `@pinned()` makes a function whose calls run so; TypeError for coroutine and generator
    functions, whose bodies do not run in the call.

    Entering waits until that thread is free. TaskletError when the tasklet is elsewhere and
    cannot leave, because Python code below a C function enters it: use it around that call. Blocks
    nest 255 times at most, else TaskletError too.
    SwitchTrapped inside a callback of the scheduler.
    """

    __slots__ = ()

    def __call__(self, function: Callable[P, T], /) -> Callable[P, T]:
        """The function, pinned while it runs."""
        import inspect  # takes as long as the rest of loomlet

        kinds = (
            inspect.iscoroutinefunction,
            inspect.isgeneratorfunction,
            inspect.isasyncgenfunction,
        )
        if not callable(function) or any(is_one(function) for is_one in kinds):
            raise TypeError(f"expected a plain function to run pinned, found {function!r}")

        @functools.wraps(function)
        def run_pinned(*args: P.args, **kwargs: P.kwargs) -> T:
            with self:
                return function(*args, **kwargs)

        return run_pinned

    def __reduce__(self) -> NoReturn:
        """TypeError: a tasklet inside it cannot be frozen."""
        raise TypeError("cannot pickle pinned(): it belongs to a thread")
