"""A dump as plain values: the process, its threads, their tasklets, and where these are.

A stack is a tuple of frames, the outermost first; equal stacks are one object, so that a hundred
thousand tasklets can be grouped by stack quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

STATES = ("new", "runnable", "running", "blocked", "paused", "done")


class Frame(NamedTuple):
    """A line in a function; `omitted` more frames lie outside of it."""

    function: str
    filename: str
    lineno: int
    omitted: int = 0


Stack = tuple[Frame, ...]


class Target(NamedTuple):
    """An object that is waited for; `holder` is the id of the tasklet that can end the wait, or 0,
    `thread` the ident of an OS thread that can, or 0."""

    address: int
    type: str
    name: str
    holder: int
    thread: int


class Task(NamedTuple):
    """A tasklet: for how many seconds it has run or not run, what it waits for, and where it is.

    `waiting_in` is "" unless it is blocked; `deadline` is in how many seconds it times out, or
    None.
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
    """A tasklet that held its thread without a switch, for how many seconds, and where that ended.

    `function` is "" if the tasklet ended there.
    """

    id: int
    name: str
    seconds: float
    function: str
    filename: str
    lineno: int


class Sitter(NamedTuple):
    """A tasklet that sits in a C call in the thread of that number of the system, while the others
    of its Thread go on (handoff): how many of them can run only there, and whether a signal cannot
    be handled before the call returns."""

    id: int
    thread: int
    aside: int
    signal: bool


@dataclass
class Thread:
    """An OS thread with its tasklets, the main one first; `current` is the id of the running one,
    or of the one that ran last if the thread sleeps (`running` is False)."""

    ident: int
    current: int
    running: bool
    seconds: float
    ready: int
    longest: Hold | None
    tasks: list[Task] = field(default_factory=list)
    sitters: list[Sitter] = field(default_factory=list)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Dumps that were pickled or frozen before there were sitters load, too."""
        self.__dict__.update({"sitters": [], **state})


@dataclass
class Dump:
    """A process; it was stopped for `copied` seconds at most.  `damaged`: how many tasklets could
    not be read because they were changing; `whole` is False if the rest is missing too."""

    pid: int
    copied: float
    threads: list[Thread] = field(default_factory=list)
    damaged: int = 0
    whole: bool = False

    def tasks(self) -> Iterator[Task]:
        """Those of all threads."""
        for thread in self.threads:
            yield from thread.tasks
