"""Tries each form of call softly, once, at import.

The native core proves for each call that abandoning the C stack loses nothing; what it cannot see
is an interpreter that handles the operands of a call in a new way.  So each form of call is
suspended and resumed with an object whose reference count is known, and the result and the counts
must be right.  If one is wrong, soft switching is turned off for the process, with a warning:
everything still works, with hard switches.  LOOMLET_SOFT=0 does the same by hand.

Takes about two milliseconds.  Runs on the importing thread, before any tasklet.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator

from loomlet import _core

__all__ = ["check"]

_ROUNDS = 3


class _Probe:
    """An object whose references are counted."""


def _plain(ch: _core.Channel, probe: _Probe) -> object:
    return ch.receive()


def _bound(ch: _core.Channel, probe: _Probe) -> object:
    receive = ch.receive
    return receive()


def _keyword(ch: _core.Channel, probe: _Probe) -> object:
    return _core.select([ch], timeout=None)[1]


def _star(ch: _core.Channel, probe: _Probe) -> object:
    nothing = ()
    return ch.receive(*nothing)


def _iterate(ch: _core.Channel, probe: _Probe) -> object:
    for value in ch:
        return value
    return None


def _operand(ch: _core.Channel, probe: _Probe) -> object:
    out = _core.Channel()
    tasklet = _core.spawn(out.receive)
    out.send((probe,)[0])  # blocks, with an operand that the value stack owns
    tasklet.join()
    return ch.receive()


def _generate(ch: _core.Channel) -> Iterator[object]:
    yield ch.receive()


def _generator(ch: _core.Channel, probe: _Probe) -> object:
    for value in _generate(ch):
        return value
    return None


class _Read:
    def __init__(self, ch: _core.Channel) -> None:
        self.ch = ch

    @property
    def read(self) -> object:
        return self.ch.receive()


class _Hooked(_Read):
    def __init__(self, ch: _core.Channel) -> None:
        self.made = ch.receive()

    def __getitem__(self, key: object) -> object:
        return self.ch.receive()

    def __getattr__(self, name: str) -> object:
        return vars(self)["ch"].receive()


def _new(ch: _core.Channel, probe: _Probe) -> object:
    return _Hooked(ch).made


def _property(ch: _core.Channel, probe: _Probe) -> object:
    return _Read(ch).read


def _hooked(ch: _core.Channel) -> _Hooked:
    hooked = _Hooked.__new__(_Hooked)
    hooked.ch = ch
    return hooked


def _item(ch: _core.Channel, probe: _Probe) -> object:
    return _hooked(ch)[probe]


def _fallback(ch: _core.Channel, probe: _Probe) -> object:
    return _hooked(ch).anything


def _next(ch: _core.Channel, probe: _Probe) -> object:
    generator = _generate(ch)
    return next(generator)


def _send(ch: _core.Channel, probe: _Probe) -> object:
    generator = _generate(ch)
    return generator.send(None)  # type: ignore[attr-defined]


def _partial(ch: _core.Channel, probe: _Probe) -> object:
    partial = functools.partial(_plain, ch, probe)
    return partial()


def _lock(ch: _core.Channel, probe: _Probe) -> object:
    lock = _core.Lock()
    lock.acquire()
    _core.spawn(lock.release)
    with lock:
        return ch.receive()


_FORMS: tuple[Callable[[_core.Channel, _Probe], object], ...] = (
    _plain,
    _bound,
    _keyword,
    _star,
    _iterate,
    _operand,
    _generator,
    _new,
    _property,
    _item,
    _fallback,
    _next,
    _send,
    _partial,
    _lock,
)
# Objects that the interpreter's C code refers to while one of the forms runs.
_HELD = (
    _Hooked,
    _Hooked.__init__,
    vars(_Read)["read"],
    vars(_Read)["read"].fget,
    _Hooked.__getitem__,
    _Hooked.__getattr__,
)


def _once(form: Callable[[_core.Channel, _Probe], object], probe: _Probe) -> bool:
    ch = _core.Channel()
    tasklet = _core.spawn(form, ch, probe)
    while not ch.balance:
        _core.schedule()
    ch.send(probe)
    return tasklet.result() is probe


def _wrong(form: Callable[[_core.Channel, _Probe], object]) -> str | None:
    probe = _Probe()
    counts = []
    for _ in range(_ROUNDS):
        if not _once(form, probe):
            return "result"
        counts.append([sys.getrefcount(each) for each in (probe, *_HELD)])
    return "reference count" if counts[0] != counts[-1] else None


def check() -> None:
    """Turns soft switching off if LOOMLET_SOFT=0 or if one of the forms fails."""
    if os.environ.get("LOOMLET_SOFT") == "0":
        _core.soft(False)
    if not _core.soft():
        return
    for form in _FORMS:
        wrong = _wrong(form)
        if wrong is not None:
            _core.soft(False)
            warnings.warn(
                f"loomlet: soft switching is off: the {wrong} is wrong after a {form.__name__[1:]} "
                f"call on {sys.version.split()[0]}; everything works, but slower and not freezable",
                RuntimeWarning,
                stacklevel=2,
            )
            return
