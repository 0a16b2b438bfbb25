"""Primitives of threads, those of the standard library or ours, and a thread that hands over.

One thread hands numbers over to another one, through a slot that holds one of them at a time. Two
locks guard it, or one condition. The receiver makes sure that no number is missing.

The measured process imports `loomlet` for our primitives only.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

END = 0


class Primitives(NamedTuple):
    """The classes that a program of threads uses, by the names of the standard library."""

    Lock: Callable[[], Any]
    Condition: Callable[[], Any]
    Queue: Callable[[], Any]


def primitives(ours: bool) -> Primitives:
    """Those of `loomlet.sync`, or of `threading` and `queue`."""
    if ours:
        from loomlet import sync

        return Primitives(sync.Lock, sync.Condition, sync.Queue)
    return Primitives(threading.Lock, threading.Condition, queue.Queue)


class Slot(Protocol):
    """Holds one number at a time."""

    def put(self, number: int) -> None:
        """Waits until the slot is empty."""

    def get(self) -> int:
        """Waits until it is full."""


class LockSlot:
    """By two locks: the holder of `free` may put, the holder of `full` may get."""

    def __init__(self, names: Primitives) -> None:
        self.free, self.full = names.Lock(), names.Lock()
        self.full.acquire()
        self.number = END

    def put(self, number: int) -> None:
        """One number in."""
        self.free.acquire()
        self.number = number
        self.full.release()

    def get(self) -> int:
        """One number out."""
        self.full.acquire()
        number = self.number
        self.free.release()
        return number


class ConditionSlot:
    """By one condition, for both sides."""

    def __init__(self, names: Primitives) -> None:
        self.changed = names.Condition()
        self.numbers: list[int] = []

    def put(self, number: int) -> None:
        """One number in."""
        with self.changed:
            while self.numbers:
                self.changed.wait()
            self.numbers.append(number)
            self.changed.notify()

    def get(self) -> int:
        """One number out."""
        with self.changed:
            while not self.numbers:
                self.changed.wait()
            number = self.numbers.pop()
            self.changed.notify()
            return number


SLOTS: dict[str, Callable[[Primitives], Slot]] = {"lock": LockSlot, "condition": ConditionSlot}


def put_all(slot: Slot, seconds: float) -> None:
    """Numbers from 1 on, for so long."""
    number, end = 1, time.perf_counter() + seconds
    while time.perf_counter() < end:
        slot.put(number)
        number += 1
    slot.put(END)


def get_all(slot: Slot) -> int:
    """How many have come."""
    expected = 1
    while (number := slot.get()) != END:
        if number != expected:
            raise SystemExit(f"expected the number {expected}, got {number}")
        expected += 1
    return expected - 1


def hand_over(slot: Slot, seconds: float) -> dict[str, float]:
    """Numbers handed over in a second, from a new thread to this one."""
    producer = threading.Thread(target=put_all, args=(slot, seconds))
    began = time.perf_counter()
    producer.start()
    count = get_all(slot)
    passed = time.perf_counter() - began
    producer.join()
    return {"done": count / passed}


def measure(
    gil: Any, *, mode: str, kind: str, computing: int, seconds: float, ours: bool
) -> dict[str, float]:
    """One case of one system; `gil` is the program `gil_echo`."""
    if kind not in SLOTS:
        found: dict[str, float]
        known = {"mode": mode, "computing": computing, "seconds": seconds}
        found = gil.measure(kind=kind, **known)
        return found
    gil.set_mode(mode)
    slot = SLOTS[kind](primitives(ours))
    found = gil.beside(computing, lambda: hand_over(slot, seconds))
    return found
