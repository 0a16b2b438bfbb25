"""What functions of agents and services hold, and stand in, while they pause: a case for each.

Each is a function of a pause, which is called where the function is frozen.  HOLDS and STANDS_IN
are frozen there and go on; REFUSED has the words of the error that names the reason.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import io
import itertools
import json
import logging
import os
import pathlib
import queue
import random
import re
import socket
import sqlite3
import sys
import tempfile
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import loomlet

Pause = Callable[[], object]
Case = Callable[[Pause], Any]
logger = logging.getLogger("agents")


class Colour(enum.Enum):
    """An enumeration."""

    RED = 1


class Point(NamedTuple):
    """A named tuple."""

    x: int
    y: int


@dataclasses.dataclass
class Order:
    """A dataclass."""

    name: str
    items: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Checked:
    """One that pauses while it is made."""

    n: int
    pause: Any = dataclasses.field(repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.pause is not None:
            self.pause()
        self.n += 1


class Agent:
    """An object with state, properties and methods that wait."""

    def __init__(self, client: Any = None) -> None:
        self.client = client
        self.seen: list[int] = []

    @property
    def count(self) -> int:
        """How much it has seen."""
        return len(self.seen)

    def step(self, pause: Pause, n: int) -> int:
        """A method that pauses."""
        self.seen.append(n)
        pause()
        return n + self.count

    @classmethod
    def made(cls, pause: Pause) -> int:
        """A class method that pauses."""
        pause()
        return cls().count

    @staticmethod
    def plain(pause: Pause) -> int:
        """A static method that pauses."""
        pause()
        return 1


class Tool:
    """An object that is called."""

    def __init__(self, pause: Pause) -> None:
        self.pause = pause

    def __call__(self, n: int, **more: int) -> int:
        self.pause()
        return n + sum(more.values())


class Name:
    """One whose text takes time."""

    def __init__(self, pause: Pause) -> None:
        self.pause = pause

    def __str__(self) -> str:
        self.pause()
        return "name"


def holding(make: Callable[[], Any], use: Callable[[Any], Any] = lambda value: value) -> Case:
    """A local variable with that value, over the pause."""

    def case(pause: Pause) -> Any:
        value = make()
        pause()
        return use(value)

    return case


def in_an_object(make: Callable[[], Any], use: Callable[[Any], Any] = lambda value: value) -> Case:
    """The same as an attribute of an object."""

    def case(pause: Pause) -> Any:
        agent = Agent(make())
        pause()
        return use(agent.client)

    return case


@contextlib.contextmanager
def session(log: list[str]) -> Iterator[str]:
    """A context manager that is a generator."""
    log.append("open")
    try:
        yield "session"
    finally:
        log.append("closed")


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@logged
def decorated(pause: Pause) -> str:
    """A function behind a decorator."""
    pause()
    return "decorated"


def in_a_context_manager(pause: Pause) -> list[str]:
    log: list[str] = []
    with session(log) as name:
        pause()
        log.append(name)
    return log


def in_an_exit_stack(pause: Pause) -> list[str]:
    log: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(session(log))
        pause()
    return log


def in_suppress(pause: Pause) -> str:
    with contextlib.suppress(KeyError):
        pause()
        raise KeyError
    return "suppressed"


def in_except(pause: Pause) -> str:
    try:
        raise ValueError("first")
    except ValueError as error:
        pause()
        return str(error)


def in_finally(pause: Pause) -> list[str]:
    log = []
    try:
        log.append("body")
    finally:
        pause()
        log.append("finally")
    return log


def in_a_retry_loop(pause: Pause) -> list[int]:
    tries = []
    for attempt in range(3):
        try:
            tries.append(attempt)
            pause()
            if attempt < 1:
                raise OSError
            break
        except OSError:
            continue
    return tries


def in_a_while_loop(pause: Pause) -> int:
    n = 0
    while n < 3:
        n += 1
        pause()
    return n


def in_a_comprehension(pause: Pause) -> list[int]:
    return [(pause(), n)[1] for n in range(2)]


def in_a_closure(pause: Pause) -> int:
    n = 1

    def inner() -> int:
        nonlocal n
        n += 1
        pause()
        return n

    return inner() + n


def in_a_method(pause: Pause) -> int:
    return Agent().step(pause, 2)


def in_a_generator(pause: Pause) -> list[int]:
    def numbers() -> Iterator[int]:
        for n in range(3):
            pause()
            yield n

    return [n for n in numbers()]


def in_a_table_of_tools(pause: Pause) -> int:
    def add(a: int, b: int) -> int:
        pause()
        return a + b

    tools = {"add": add}
    call = {"name": "add", "arguments": {"a": 1, "b": 2}}
    return tools[str(call["name"])](**call["arguments"])  # type: ignore[arg-type]


def in_a_time_limit(pause: Pause) -> str:
    with loomlet.timeout(60):
        pause()
    return "in time"


def in_a_scope(pause: Pause) -> bool:
    with loomlet.CancelScope() as scope:
        pause()
    return scope.cancelled_caught


def in_recursion(pause: Pause) -> int:
    def deep(n: int) -> int:
        if n == 0:
            pause()
            return 0
        return 1 + deep(n - 1)

    return deep(20)


def in_match(pause: Pause) -> str:
    match {"kind": "tool", "name": "add"}:
        case {"kind": "tool", "name": name}:
            pause()
            return str(name)
    return ""


def in_a_lambda(pause: Pause) -> Any:
    name = lambda: (pause(), "lambda")[1]  # noqa: E731
    return name()


def in_a_call_of_an_object(pause: Pause) -> int:
    tool = Tool(pause)
    return tool(1)


def in_a_call_of_an_object_of_a_table(pause: Pause) -> int:
    tools = {"add": Tool(pause)}
    return tools["add"](1)


def in_a_call_of_an_object_with_keywords(pause: Pause) -> int:
    tool = Tool(pause)
    return tool(1, more=2)


def in_a_class_with_keywords(pause: Pause) -> int:
    return Checked(n=1, pause=pause).n


def in_a_class(pause: Pause) -> int:
    return Checked(1, pause).n


def in_a_lock_of_threads(pause: Pause) -> str:
    lock = threading.Lock()
    with lock:
        pause()
    return "held"


def in_a_loop_over_lines(pause: Pause) -> list[str]:
    found = []
    for line in io.StringIO("a\nb\n"):
        found.append(line)
        pause()
    return found


HOLDS: dict[str, Case] = {
    "numbers": holding(lambda: (1, 2.5, 3j, True, None)),
    "text and bytes": holding(lambda: ("a", b"b", bytearray(b"c"))),
    "containers": holding(lambda: [{"a": {1, 2}}, frozenset((3,)), (4,)]),
    "collections": holding(
        lambda: (collections.OrderedDict(a=1), collections.deque([1], 3), collections.Counter("aa"))
    ),
    "a defaultdict": holding(lambda: collections.defaultdict(list, a=[1])),
    "times": holding(lambda: (datetime.datetime(2026, 1, 2), datetime.timedelta(3))),
    "decimals": holding(lambda: (decimal.Decimal("1.5"), Fraction(1, 3))),
    "a uuid": holding(lambda: uuid.UUID(int=5)),
    "a path": holding(lambda: pathlib.Path("/tmp/a")),
    "a namespace": holding(lambda: SimpleNamespace(a=1)),
    "an enum": holding(lambda: Colour.RED),
    "a named tuple": holding(lambda: Point(1, 2)),
    "a dataclass": holding(lambda: Order("a", ["b"])),
    "an object": holding(lambda: Agent(1), lambda agent: agent.client),
    "a class": holding(lambda: Agent, lambda kind: kind().count),
    "a logger": holding(lambda: logger),
    "a pattern": holding(lambda: re.compile(r"a+")),
    "a match": holding(lambda: re.search(r"(a+)b", "caab"), lambda match: match.groups()),
    "a match in an object": in_an_object(
        lambda: re.match(r"a", "ab"), lambda match: (match.span(), match.string)
    ),
    "a partial": holding(lambda: functools.partial(int, base=2), lambda to_int: to_int("11")),
    "a cached function": holding(lambda: functools.lru_cache(abs), lambda cached: cached(-2)),
    "a cached function in an object": in_an_object(lambda: functools.cache(abs), lambda f: f(-2)),
    "a bound method": holding(lambda: Agent(7).made, lambda made: made(int)),
    "a lambda": holding(lambda: lambda n: n + 1, lambda add: add(1)),
    "a generator": holding(lambda: (n for n in range(3)), list),
    "an iterator": holding(lambda: iter([1, 2, 3]), list),
    "itertools": holding(lambda: itertools.chain([1], [2]), list),
    "a random generator": holding(lambda: random.Random(1), lambda each: each.random()),
    "the random numbers of the system": holding(
        random.SystemRandom, lambda each: 0 <= each.random() < 1
    ),
    "an exception": holding(lambda: ValueError("a"), str),
    "a memory file": holding(lambda: io.StringIO("a"), lambda file: file.read()),
    "the environment": holding(lambda: os.environ, lambda found: found is os.environ),
    "the standard error stream": holding(
        lambda: sys.__stderr__, lambda found: found is sys.__stderr__
    ),
    "a free lock": holding(threading.Lock, lambda lock: lock.acquire(False)),
    "a free lock in an object": in_an_object(threading.Lock, lambda lock: lock.acquire(False)),
    "a reentrant lock": holding(threading.RLock, lambda lock: lock.acquire(False)),
    "an event": holding(threading.Event, lambda event: event.is_set()),
    "an event in an object": in_an_object(threading.Event, lambda event: event.is_set()),
    "a queue": holding(queue.Queue, lambda jobs: jobs.empty()),
    "a queue in an object": in_an_object(queue.Queue, lambda jobs: jobs.empty()),
    "a channel": holding(lambda: loomlet.Channel(2), lambda channel: channel.capacity),
    "events of loomlet": holding(loomlet.Event, lambda event: event.is_set()),
    "a weak reference": holding(lambda: weakref.ref(Agent()), lambda reference: reference()),
    "json": holding(lambda: json.loads('{"a": [1, null]}')),
}

STANDS_IN: dict[str, Case] = {
    name.removeprefix("in_").replace("_", " "): case
    for name, case in {
        "decorated": decorated,
        "a class method": lambda pause: Agent.made(pause),
        "a static method": lambda pause: Agent.plain(pause),
        **{
            case.__name__: case
            for case in (
                in_a_context_manager,
                in_an_exit_stack,
                in_suppress,
                in_except,
                in_finally,
                in_a_retry_loop,
                in_a_while_loop,
                in_a_comprehension,
                in_a_closure,
                in_a_method,
                in_a_generator,
                in_a_table_of_tools,
                in_a_time_limit,
                in_a_scope,
                in_recursion,
                in_match,
                in_a_lambda,
                in_a_call_of_an_object,
                in_a_call_of_an_object_of_a_table,
                in_a_call_of_an_object_with_keywords,
                in_a_class,
                in_a_class_with_keywords,
                in_a_loop_over_lines,
            )
        },
    }.items()
}


async def coroutine(pause: Pause) -> None:
    """Pauses inside of a loop of asyncio."""
    pause()


def a_socket() -> Any:
    """One of a pair; the other one closes with it."""
    one, other = socket.socketpair()
    other.close()
    return one


def a_file() -> Any:
    """An open file."""
    return open(os.devnull)


def a_thread_pool() -> Any:
    """Without threads yet."""
    return ThreadPoolExecutor(1)


REFUSED: dict[str, tuple[Case, str]] = {
    "a connection to SQLite": (holding(lambda: sqlite3.connect(":memory:")), "sqlite3.Connection"),
    "the same in an object": (
        in_an_object(lambda: sqlite3.connect(":memory:")),
        "sqlite3.Connection",
    ),
    "a socket": (holding(a_socket), "socket"),
    "a socket in an object": (in_an_object(a_socket), "socket"),
    "an open file": (holding(a_file), "TextIOWrapper"),
    "an open file in an object": (in_an_object(a_file), "TextIOWrapper"),
    "locals of a thread": (holding(threading.local), "local"),
    "a pool of threads": (holding(a_thread_pool), "ThreadPoolExecutor"),
    "a temporary folder": (holding(tempfile.TemporaryDirectory), "keep a path to a folder"),
    "a lock of threads that is held": (in_a_lock_of_threads, "is held"),
    "a key function of sorted()": (
        lambda pause: sorted([2, 1], key=lambda n: (pause(), n)[1]),
        "sorted",
    ),
    "a key function of max()": (lambda pause: max([2, 1], key=lambda n: (pause(), n)[1]), "max"),
    "a function of map()": (lambda pause: list(map(lambda n: (pause(), n)[1], [1])), "list"),
    "a generator in list()": (lambda pause: list((pause(), n)[1] for n in [1]), "list"),
    "a cached function that waits": (
        lambda pause: functools.lru_cache(lambda: (pause(), 1)[1])(),
        "lru_cache",
    ),
    "a text in an f-string": (lambda pause: f"{Name(pause)}", "instruction FORMAT"),
    "an event loop": (
        lambda pause: asyncio.run(coroutine(pause)),
        "method run of _contextvars.Context",
    ),
}
