"""C code between the tasklet's frames keeps its C stack; results do not change."""

import functools
import json
import operator
import re

import pytest

import loomlet
from loomlet import Channel


class Answer:
    """Every hook of this object blocks before it answers."""

    def __init__(self, ch):
        self.ch = ch

    def __eq__(self, other):
        return self.ch.receive() is not None

    __hash__ = None

    def __len__(self):
        return self.ch.receive()

    def __str__(self):
        return str(self.ch.receive())

    def __add__(self, other):
        return self.ch.receive()

    def __getattr__(self, name):
        return self.ch.receive()

    def __contains__(self, item):
        return self.ch.receive() == item

    def __call__(self):
        return self.ch.receive()

    def __iter__(self):
        return self

    def __next__(self):
        return self.ch.receive()

    def __enter__(self):
        return self.ch.receive()

    def __exit__(self, *error):
        return False

    def __bool__(self):
        return self.ch.receive() == 7

    def __format__(self, spec):
        return str(self.ch.receive())


def with_statement(ch):
    with Answer(ch) as value:
        return value


def for_loop(ch):
    for value in Answer(ch):
        return value


BODIES = {
    "sorted(key=)": lambda ch: sorted([0], key=lambda _: ch.receive()) and 7,
    "max(key=)": lambda ch: max([7, 7], key=lambda _: ch.receive()),
    "map": lambda ch: next(map(lambda _: ch.receive(), [0])),
    "filter": lambda ch: next(filter(lambda _: ch.receive(), [7])),
    "partial": lambda ch: functools.partial(ch.receive)(),
    "partial of a function": lambda ch: functools.partial(lambda: ch.receive())(),
    "reduce": lambda ch: functools.reduce(lambda a, b: ch.receive(), [1, 2]),
    "list of a generator": lambda ch: next(iter([ch.receive() for _ in range(1)])),
    "methodcaller": lambda ch: operator.methodcaller("receive")(ch),
    "lru_cache": lambda ch: functools.lru_cache(lambda: ch.receive())(),
    "iter(callable)": lambda ch: next(iter(ch.receive, None)),
    "eval": lambda ch: eval("ch.receive()", {"ch": ch}),
    "exec": lambda ch: exec("out.append(ch.receive())", {"ch": ch, "out": (out := [])}) or out[0],
    "re.sub": lambda ch: int(re.sub("x", lambda _: str(ch.receive()), "x")),
    "json default": lambda ch: json.loads(json.dumps(object(), default=lambda _: ch.receive())),
    "getattr": lambda ch: Answer(ch).anything,
    "getattr()": lambda ch: getattr(Answer(ch), "x", None),
    "==": lambda ch: (Answer(ch) == 1) and 7,
    "list.index": lambda ch: [Answer(ch)].index(3) + 7,
    "len": lambda ch: len(Answer(ch)),
    "str": lambda ch: int(str(Answer(ch))),
    "f-string": lambda ch: int(f"{Answer(ch)}"),
    "+": lambda ch: Answer(ch) + 1,
    "in": lambda ch: 7 if 7 in Answer(ch) else 0,
    "bool": lambda ch: 7 if Answer(ch) else 0,
    "call of an object": lambda ch: Answer(ch)(),
    "class body": lambda ch: type("C", (), {"x": ch.receive()}).x,
    "with": with_statement,
    "for": for_loop,
    "print": lambda ch: print(end="", file=type("F", (), {"write": lambda *_: ch.receive()})) or 7,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_callback_from_c_blocks(body, mode):
    """A tasklet that blocks below C code continues there with the right result."""
    for _ in range(3):
        ch = Channel()
        task = loomlet.spawn(body, ch)
        for _ in range(5):
            loomlet.schedule()
            if task.state == "done":
                break
            ch.send(7)
        assert task.result() == 7


def test_the_switch_is_hard(switches):
    """sorted(key=f) with a blocking f switches hard, and soft again when it is over."""

    def body():
        loomlet.schedule()
        sorted([1], key=lambda _: loomlet.schedule())
        loomlet.schedule()

    task = loomlet.spawn(body)
    kinds = []
    while task.state != "done":
        switches.take()
        loomlet.schedule()
        kinds.append(switches.take())
    assert kinds == [(1, 0), (0, 1), (1, 0), (0, 0)]


@pytest.mark.parametrize("order", ["first in first out", "last in first out", "mixed"])
def test_kept_stacks_may_be_resumed_in_any_order(order):
    """Hard-suspended tasklets may continue in any order, not only last in, first out."""

    def body(ch, n):
        return sorted([3, n, 1], key=lambda v: (ch.receive(), v)[1])

    channels = [Channel() for _ in range(30)]
    tasks = [loomlet.spawn(body, ch, n) for n, ch in enumerate(channels)]
    loomlet.schedule()
    turns = list(range(30)) * 3
    if order == "last in first out":
        turns.reverse()
    elif order == "mixed":
        turns.sort(key=lambda n: n * 7 % 30)
    for n in turns:
        channels[n].send(None)
        loomlet.schedule()
    assert [task.result() for task in tasks] == [sorted([3, n, 1]) for n in range(30)]


def test_soft_and_hard_frames_mix(mode):
    """C code between frames at many levels of one tasklet, blocking at each level."""

    def down(level):
        ch.receive()
        if level == 0:
            return 0
        if level % 3 == 0:
            return max([level], key=lambda _: down(level - 1)) and level
        return down(level - 1) + 1

    ch = Channel()
    task = loomlet.spawn(down, 20)
    while task.state != "done":
        ch.try_send(None)
        loomlet.schedule()
    assert task.result() == 20
