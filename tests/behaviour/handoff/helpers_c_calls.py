"""C calls that wait until another tasklet ends the wait, with the GIL released."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, TypeVar

import loomlet

T = TypeVar("T")
SLICE = 0.001

libc = ctypes.CDLL(None)


class Gate:
    """A pipe that is read by the C library itself: nothing of loomlet sees the call."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.buffer = ctypes.create_string_buffer(1)

    def wait(self) -> int:
        """Returns when the gate is opened; each opening lets one call return."""
        return libc.read(self.reader, self.buffer, 1)

    def open(self) -> None:
        os.write(self.writer, b"x")

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self.reader)
        os.close(self.writer)


def run(main: Callable[..., T], *args: Any) -> T:
    """Inside run(), with handoff and short slices."""
    return loomlet.run(main, *args, slice=SLICE, handoff=True)


def sit(gate: Gate) -> int:
    """Returns the number of the thread in which it sat."""
    here = where()
    gate.wait()
    return here


def teach(function: Callable[[Gate], T], gate: Gate) -> T:
    """After this, tasklets of `function` sit apart from those that keep a stack."""
    task = loomlet.spawn(function, gate)
    loomlet.spawn(gate.open)
    return task.result()


def at_home(call: Callable[[], object]) -> None:
    """Calls it below C code in the thread of run(), which the tasklet cannot leave then."""
    home = loomlet.pinned()

    def key(value: int) -> int:
        home.__exit__(None, None, None)
        call()
        home.__enter__()
        return value

    with home:
        sorted([0], key=key)


def where() -> int:
    """The number of the system's thread that runs this."""
    return libc.gettid()
