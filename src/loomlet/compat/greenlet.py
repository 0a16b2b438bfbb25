"""The module `greenlet`, on loomlet's core: greenlets that belong to a tasklet.

What a thread is to greenlet, a tasklet is here.  Each tasklet has a main greenlet and may make
others, which take turns in it: they share its identity, its locks and locals, its event loop, its
scopes, and when one of them waits, the tasklet waits.  So any number of tasklets may use greenlets
beside each other, wait in them and be interrupted in them.  A greenlet of another tasklet cannot be
switched to, as with greenlet one of another thread cannot: `error`.

All of greenlet's documented Python interface is here; its C interface is not, so extension modules
that use it (gevent) need the original, see `loomlet.compat.install`.

How.  A greenlet is a fiber of the core (a C stack).  This module has the rules: parents, what a
switch hands over, how a greenlet ends.  What is handed over waits in the receiver, in
`_fiber_received`.

A greenlet that nothing refers to is ended by GreenletExit, in the tasklet that dropped it; if that
belongs to another thread, at the next switch in its own.  If its tasklet has ended before it, any
tasklet of the thread may drop it, none may switch to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn

from loomlet import _core

__all__ = [
    "GreenletExit",
    "__version__",
    "error",
    "getcurrent",
    "gettrace",
    "greenlet",
    "settrace",
]

__version__ = "3.5.0"
"""The version of greenlet whose interface this is."""

GREENLET_USE_CONTEXT_VARS = True
GREENLET_USE_GC = True
GREENLET_USE_STANDARD_THREADING = True
GREENLET_USE_TRACING = True

Tracer = Callable[[str, "tuple[greenlet, greenlet]"], object]

_NEW, _RUNNING, _SUSPENDED, _ENDED = range(4)
_MISSING = object()


class error(Exception):
    """A switch or a parent that is not possible."""


class GreenletExit(BaseException):
    """Ends the greenlet in which it is raised; its parent receives it as the result."""


class _Handed:
    """What a switch hands over: arguments, or an exception to be raised."""

    __slots__ = ("args", "exception", "kwargs", "origin")

    def __init__(
        self,
        origin: greenlet,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        exception: BaseException | None,
    ) -> None:
        self.origin = origin
        self.args = args
        self.kwargs = kwargs
        self.exception = exception

    def result(self) -> Any:
        """What switch() returns."""
        if not self.kwargs:
            return self.args[0] if len(self.args) == 1 else self.args
        return (self.args, self.kwargs) if self.args else self.kwargs


class greenlet(_core.Fiber):
    """greenlet(run=None, parent=None): a function that runs on a stack of its own.

    It begins at the first switch(), which passes its arguments to `run`, and runs until it switches
    elsewhere.  When `run` has returned, its result is passed to the parent, by default the greenlet
    that made this one; an exception is raised there.
    """

    GreenletExit = GreenletExit
    error = error

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_fiber_body",  # what runs, between the first switch and the start
        "_fiber_discarded",  # it was ended by throw() before it began
        "_fiber_function",  # `run`, before the start
        "_fiber_parent",
        "_fiber_received",
        "_fiber_tracer",  # of a main greenlet
    )
    _fiber_body: Callable[..., Any] | None
    _fiber_discarded: bool
    _fiber_function: Any
    _fiber_parent: greenlet | None
    _fiber_received: _Handed | None
    _fiber_tracer: Tracer | None

    def __new__(cls, *args: Any, **kwargs: Any) -> greenlet:
        if _dropped_elsewhere:
            _end_dropped_elsewhere()
        return _make(cls, getcurrent())

    def __init__(self, run: Any = _MISSING, parent: Any = None) -> None:
        if run is not _MISSING:
            self.run = run
        if parent is not None:
            self.parent = parent

    def __del__(self) -> None:
        if self._fiber_state == _SUSPENDED and not sys.is_finalizing():
            _end_dropped(self)

    # ---- switching ----

    def switch(self, *args: Any, **kwargs: Any) -> Any:
        """Runs this greenlet; returns what is handed over when the caller runs again.

        Its own pending switch() returns the arguments: one alone, several as a tuple, keywords as a
        dictionary, both as a pair.  If it has ended, its parent receives them.
        """
        return _switch(self, args, kwargs, None)

    def throw(
        self,
        type: type[BaseException] | BaseException = GreenletExit,
        value: Any = None,
        traceback: TracebackType | None = None,
        /,
    ) -> Any:
        """Switches to it and raises an exception there, GreenletExit if none is given."""
        return _switch(self, (), {}, _exception(type, value, traceback))

    # ---- attributes ----

    @property
    def run(self) -> Any:
        """The function of a greenlet that has not begun."""
        if self._fiber_function is _MISSING:
            raise AttributeError("run")
        return self._fiber_function

    @run.setter
    def run(self, function: Any) -> None:
        if self._fiber_state != _NEW:
            raise AttributeError("run cannot be set after the start of the greenlet")
        self._fiber_function = function

    @run.deleter
    def run(self) -> None:
        if self._fiber_state != _NEW:
            raise AttributeError("run cannot be set after the start of the greenlet")
        if self._fiber_function is _MISSING:
            raise AttributeError("run")
        self._fiber_function = _MISSING

    @property
    def parent(self) -> Any:
        """Who receives what this greenlet returns or raises; None: it is a main greenlet."""
        return self._fiber_parent

    @parent.setter
    def parent(self, parent: Any) -> None:
        if not isinstance(parent, greenlet):
            raise TypeError(f"GreenletChecker: Expected any type of greenlet, not {_kind(parent)}")
        if self._fiber_parent is None:
            raise AttributeError("cannot set the parent of a main greenlet")
        above: greenlet | None = parent
        while above is not None:
            if above is self:
                raise ValueError("cyclic parent chain")
            last, above = above, above._fiber_parent
        if self._fiber_state == _SUSPENDED and last._fiber_tasklet_id != self._fiber_tasklet_id:
            raise ValueError("parent cannot be on a different thread")
        self._fiber_parent = parent

    @parent.deleter
    def parent(self) -> None:
        raise AttributeError("can't delete attribute")

    @property
    def dead(self) -> bool:
        """Whether it has ended."""
        return self._fiber_state == _ENDED or self._fiber_is_lost()

    @property
    def gr_frame(self) -> FrameType | None:
        """The frame in which it will resume; None unless it is suspended."""
        frame: FrameType | None = self._fiber_frame
        while frame is not None and frame.f_globals is globals():
            frame = frame.f_back
        return frame

    def __bool__(self) -> bool:
        return self._fiber_state in (_RUNNING, _SUSPENDED) and not self._fiber_is_lost()

    def __repr__(self) -> str:
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        words = " main" if self._fiber_parent is None else ""
        if self.dead:
            gone = self._fiber_tasklet_id and self._fiber_main()._fiber_state == _ENDED
            state = "(thread exited) dead" if gone else "dead"
        elif self._fiber_state == _NEW:
            state = "pending"
        else:
            current = self._fiber_state == _RUNNING and self is _core._fiber_running()
            state = f"{'current' if current else 'suspended'} active started{words}"
        return f"<{kind} object at 0x{id(self):x} (tasklet {self._fiber_tasklet_id}) {state}>"

    def __getstate__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {_kind(self)!r} object")

    def __copy__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {_kind(self)!r} object")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError(f"cannot pickle {_kind(self)!r} object")

    # ---- what switches use ----

    def _fiber_take(self) -> _Handed:
        handed = self._fiber_received
        assert handed is not None
        self._fiber_received = None
        return handed

    def _fiber_is_lost(self) -> bool:
        """Whether it can never run again, although it has not ended by itself."""
        if self._fiber_state == _SUSPENDED:
            return self._fiber_main()._fiber_state == _ENDED
        return self._fiber_discarded

    def _fiber_main(self) -> greenlet:
        """The main greenlet that it descends from."""
        above = self
        while above._fiber_parent is not None:
            above = above._fiber_parent
        return above


def getcurrent() -> Any:
    """The greenlet that runs: the main greenlet of the tasklet, if it has made no other."""
    running = _core._fiber_running()
    if running is None:
        running = _make(greenlet, None)
        _core._fiber_begin(running)
    return running


def _make(cls: type[greenlet], parent: greenlet | None) -> greenlet:
    made: greenlet = _core.Fiber.__new__(cls)
    made._fiber_parent = parent
    made._fiber_received = made._fiber_body = made._fiber_tracer = None
    made._fiber_function = _MISSING
    made._fiber_discarded = False
    return made


def settrace(callback: Tracer | None) -> Tracer | None:
    """Calls callback(event, (origin, target)) after each switch of this tasklet's greenlets.

    `event` is "switch" or "throw".  Returns the callback that was set before; None ends it.  If the
    callback raises an exception, tracing ends and `target` receives the exception.
    """
    main = getcurrent()._fiber_main()
    before: Tracer | None = main._fiber_tracer
    main._fiber_tracer = callback
    return before


def gettrace() -> Tracer | None:
    """The callback that settrace() has set in this tasklet."""
    tracer: Tracer | None = getcurrent()._fiber_main()._fiber_tracer
    return tracer


greenlet.getcurrent = staticmethod(getcurrent)  # type: ignore[attr-defined]
greenlet.settrace = staticmethod(settrace)  # type: ignore[attr-defined]
greenlet.gettrace = staticmethod(gettrace)  # type: ignore[attr-defined]


def __getattr__(name: str) -> NoReturn:
    if name == "_C_API":
        raise AttributeError(
            "loomlet.compat.greenlet has no interface in C, which an extension module asks for; "
            "LOOMLET_GREENLET=extension makes `python -m loomlet run` import the original greenlet"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _kind(value: object) -> str:
    return type(value).__name__


def _exception(
    kind: type[BaseException] | BaseException, value: Any, traceback: TracebackType | None
) -> BaseException:
    """The exception that the arguments of throw() describe, as `raise` would make it."""
    if traceback is not None and not isinstance(traceback, TracebackType):
        raise TypeError("throw() third argument must be a traceback object")
    if isinstance(kind, BaseException):
        if value is not None:
            raise TypeError("instance exception may not have a separate value")
        made = kind
    elif isinstance(kind, type) and issubclass(kind, BaseException):
        if isinstance(value, kind):
            made = value
        else:
            made = kind() if value is None else kind(*(value if _is_tuple(value) else (value,)))
    else:
        raise TypeError(
            f"exceptions must be classes, or instances, not {_kind(kind)}",
        )
    return made if traceback is None else made.with_traceback(traceback)


def _is_tuple(value: object) -> bool:
    return isinstance(value, tuple)


# ---- a switch --------------------------------------------------------------------------------


def _switch(
    target: greenlet,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    exception: BaseException | None,
) -> Any:
    if _dropped_elsewhere:
        _end_dropped_elsewhere()
    try:
        target = _hand_over(target, args, kwargs, exception)
    finally:
        exception = None
    # No variable of a suspended greenlet may refer to it: it ends when nothing else does.
    if target is not getcurrent():
        target._fiber_switch()
    return _receive(getcurrent())


def _hand_over(
    target: greenlet,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    exception: BaseException | None,
) -> greenlet:
    current: greenlet = getcurrent()
    handed = _Handed(current, args, kwargs, exception)
    found = _receiver(current._fiber_main(), target, handed)
    found._fiber_received = handed
    return found


def _live(me: greenlet) -> greenlet:
    """The whole life of a greenlet: the core calls it; returns the one that runs afterwards."""
    result: Any = None
    exception: BaseException | None = None
    handed = me._fiber_take()
    body: Any = me._fiber_body
    me._fiber_body = None
    args: Any = None
    kwargs: Any = None
    try:
        _trace(me, handed)
        args, kwargs = handed.args, handed.kwargs
        del me, handed
        result = body(*args, **kwargs)
    except GreenletExit as exit:
        result = exit
    except BaseException as failure:
        exception = failure
    try:
        return _successor(getcurrent(), result, exception)
    finally:
        # A traceback keeps this frame.
        body = args = kwargs = result = exception = None


_core._fiber_live(_live)


def _receive(current: greenlet) -> Any:
    handed = current._fiber_take()
    _trace(current, handed)
    if handed.exception is not None:
        _raise_and_forget(handed)
    return handed.result()


def _raise_and_forget(handed: _Handed) -> NoReturn:
    exception, handed.exception = handed.exception, None
    assert exception is not None
    try:
        _core._raise(exception)
    finally:
        del exception


def _trace(target: greenlet, handed: _Handed) -> None:
    """Reports the switch that has just been made."""
    main = _core._fiber_first()
    tracer = main._fiber_tracer if isinstance(main, greenlet) else None
    if tracer is None:
        return
    event = "switch" if handed.exception is None else "throw"
    try:
        tracer(event, (handed.origin, target))
    except BaseException:
        main._fiber_tracer = None
        raise


def _receiver(main: greenlet, target: greenlet, handed: _Handed) -> greenlet:
    """The greenlet that a switch to `target` runs, made ready to begin if it has not begun."""
    if target._fiber_main() is not main:
        _refuse(main, target)
    while True:
        if target._fiber_state in (_RUNNING, _SUSPENDED):
            if target._fiber_tasklet_id != main._fiber_tasklet_id:
                _refuse(main, target)
            return target
        if target._fiber_state == _NEW and not target._fiber_discarded:
            function = target.run
            target._fiber_function = _MISSING
            if handed.exception is None:
                target._fiber_body = function
                return target
            target._fiber_discarded = True
        if isinstance(handed.exception, GreenletExit):
            # What ends a greenlet is its result.
            handed.args, handed.exception = (handed.exception,), None
        assert target._fiber_parent is not None
        target = target._fiber_parent


def _successor(ended: greenlet, result: Any, exception: BaseException | None) -> greenlet:
    """Who receives what a greenlet that ends has returned or raised."""
    handed = _Handed(ended, (result,) if exception is None else (), {}, exception)
    main = _core._fiber_first()
    assert isinstance(main, greenlet) and ended._fiber_parent is not None
    try:
        found = _receiver(main, ended._fiber_parent, handed)
    except BaseException as refusal:
        found, handed.exception = main, refusal
    found._fiber_received = handed
    exception = None
    return found


def _refuse(main: greenlet, target: greenlet) -> NoReturn:
    expected = target._fiber_main()
    if expected.dead:
        raise error("cannot switch to a different thread (which happens to have exited)")
    raise error(
        "Cannot switch to a different thread: the greenlet belongs to another tasklet\n"
        f"\tCurrent:  {main!r}\n\tExpected: {expected!r}"
    )


# ---- greenlets that nothing refers to -----------------------------------------------------------

_dropped_elsewhere: list[greenlet] = []


def _end_dropped(dropped: greenlet) -> None:
    """Raises GreenletExit in a suspended greenlet, as one of the current tasklet."""
    current = getcurrent()
    adopted = dropped._fiber_adopt()
    if adopted:
        parent, dropped._fiber_parent = dropped._fiber_parent, current
        dropped.throw()
        dropped._fiber_parent = parent
    elif adopted is False:
        _dropped_elsewhere.append(dropped)


def _end_dropped_elsewhere() -> None:
    waiting = _dropped_elsewhere[:]
    del _dropped_elsewhere[: len(waiting)]
    for dropped in waiting:
        if dropped._fiber_state == _SUSPENDED:
            _end_dropped(dropped)
