"""What a process says of its tasklets, as plain values.

A stack is a tuple of frames, the outermost first; equal stacks are one object, so that a hundred
thousand tasklets can be sorted by them quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

STATES = ("new", "runnable", "running", "blocked", "paused", "done")


class Frame(NamedTuple):
    """A place in a function; `omitted` more frames lie outside of it."""

    function: str
    filename: str
    lineno: int
    omitted: int = 0


Stack = tuple[Frame, ...]


class Target(NamedTuple):
    """A thing that is waited for; `holder` is the id of the tasklet that can end the wait, or 0,
    `thread` the ident of an OS thread that can, or 0."""

    address: int
    type: str
    name: str
    holder: int
    thread: int


class Task(NamedTuple):
    """A tasklet: for how many seconds it has run or not run, what it waits for, and where it is.

    `waiting_in` is "" unless it is blocked; `deadline` are the seconds to its timeout, or None.
    """

    id: int
    name: str
    state: str
    seconds: float
    waiting_in: str
    deadline: float | None
    targets: tuple[Target, ...]
    stack: tuple[Frame, ...]


class Hold(NamedTuple):
    """Who has held the core for how many seconds at one go, and where it left it.

    `function` is "" for one that ended there.
    """

    id: int
    name: str
    seconds: float
    function: str
    filename: str
    lineno: int


@dataclass
class Thread:
    """An OS thread with its tasklets, the main one first; `current` is the id of the one that runs
    or, while the thread sleeps (`running` is False), has run last."""

    ident: int
    current: int
    running: bool
    seconds: float
    ready: int
    longest: Hold | None
    tasks: list[Task] = field(default_factory=list)


@dataclass
class Dump:
    """A process; it stood still for `copied` seconds at most.  `damaged`: how many tasklets could
    not be read, being changed at that moment; `whole` is False when the rest is missing too."""

    pid: int
    copied: float
    threads: list[Thread] = field(default_factory=list)
    damaged: int = 0
    whole: bool = False

    def tasks(self) -> Iterator[Task]:
        """Those of all threads."""
        for thread in self.threads:
            yield from thread.tasks
