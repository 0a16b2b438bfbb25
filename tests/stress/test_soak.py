"""A seeded random program of every kind of suspension, thrown into, killed and collected.

Hundreds of tasklets call, loop, iterate, delegate and recurse into blocking operations at random
depths, softly and below C code; a driver serves, throws, kills, pauses, forgets and collects.
Whatever happens, each tasklet that started has ended exactly once at the end.
"""

import collections
import contextlib
import functools
import gc
import random

import pytest

import loomlet
from loomlet import Channel, _core

CHANNELS = 6


class Thrown(Exception):
    """What the driver throws."""


class Box:
    """Blocks in hooks that the interpreter inlines when they are warm."""

    def __init__(self, ch, block=False):
        self.ch = ch
        if block:
            self.value = ch.receive()

    @property
    def item(self):
        return self.ch.receive()

    def __getitem__(self, index):
        return self.ch.receive()

    def __getattr__(self, name):
        return self.ch.receive()

    def __enter__(self):
        loomlet.schedule()
        return self

    def __exit__(self, *error):
        loomlet.schedule()
        return False


class Soak:
    """The state of one soak: its random numbers, its channels, its counters."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.channels = [Channel(n % 3) for n in range(CHANNELS)]
        for ch in self.channels:
            ch.preference = self.random.randint(-1, 1)
        self.count = collections.Counter()
        self.ways = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("way_")]

    def way_receive(self, ch):
        return ch.receive()

    def way_send(self, ch):
        return ch.send([1, 2, object()])

    def way_schedule(self, ch):
        for _ in enumerate([0, 1, 2]):
            loomlet.schedule()

    def way_sleep(self, ch):
        loomlet.sleep(self.random.choice([0, 0.5, 2]))

    def way_select(self, ch):
        other = self.random.choice(self.channels)
        with contextlib.suppress(TimeoutError):
            return loomlet.select([ch, (other, "selected")], timeout=self.random.choice([0, 1, 50]))

    def way_star(self, ch):
        return loomlet.select(*([ch], 1e6))

    def way_keyword(self, ch):
        return loomlet.select([(ch, object())], timeout=1e6)

    def way_iterate(self, ch):
        for n, _ in enumerate(range(3)):
            for value in ch:
                if n:
                    return value
                break

    def way_generator(self, ch):
        def generate():
            for n in range(3):
                yield loomlet.schedule() if n % 2 else ch.receive()

        for value in generate():
            del value

    def way_yield_from(self, ch):
        def inner():
            yield ch.receive()
            return loomlet.schedule()

        def outer():
            result = yield from inner()
            yield result

        return [value for value in outer()]

    def way_property(self, ch):
        return Box(ch).item

    def way_index(self, ch):
        return Box(ch)[1]

    def way_init(self, ch):
        return Box(ch, block=True).value

    def way_getattr(self, ch):
        return Box(ch).anything

    def way_with(self, ch):
        with Box(ch) as box:
            return box.item

    def way_sorted(self, ch):
        return sorted([3, 1, 2], key=lambda value: (loomlet.schedule(), value)[1])

    def way_map(self, ch):
        return list(map(lambda _: ch.receive(), range(2)))

    def way_partial(self, ch):
        return functools.partial(ch.send, None)()

    def way_list(self, ch):
        return list(ch.receive() for _ in range(2))

    def way_handle(self, ch):
        try:
            ch.receive()
        except Thrown:
            self.count["handled"] += 1
            loomlet.schedule()
            raise

    def way_finally(self, ch):
        try:
            return ch.receive()
        finally:
            loomlet.schedule()

    def way_spawn(self, ch):
        return loomlet.spawn(loomlet.schedule).join()

    def way_collect(self, ch):
        if self.random.random() < 0.05:
            gc.collect()
        return loomlet.schedule()

    def call(self, depth, ch):
        """One random way, `depth` calls down."""
        if depth == 0:
            return self.random.choice(self.ways)(ch)
        if depth % 7 == 3:
            try:
                return self.call(depth - 1, ch)
            finally:
                loomlet.schedule()
        if depth % 11 == 5:
            return max([depth], key=lambda _: (self.call(depth - 1, ch), 0)[1])
        return self.call(depth - 1, ch)

    def body(self):
        self.count["started"] += 1
        try:
            for _ in range(self.random.randrange(1, 6)):
                depth = self.random.choice([0, 0, 1, 3, 8, 30, 90])
                self.call(depth, self.random.choice(self.channels))
        except Thrown:
            self.count["thrown"] += 1
        except loomlet.TaskletExit:
            self.count["killed"] += 1
            raise
        finally:
            self.count["finished"] += 1

    def lost_body(self, cycle):
        """A tasklet that only a cycle holds: no C code may hold its channel."""
        self.count["started"] += 1
        ch = Channel()
        try:
            ways = [self.way_receive, self.way_send, self.way_finally, self.way_handle]
            self.random.choice(ways)(ch)
        finally:
            self.count["finished"] += 1

    def disturb(self, task):
        """Does something to a tasklet that it must survive, or that ends it."""
        what = self.random.randrange(8)
        if what == 0:
            task.kill()
        elif what == 1:
            task.throw(Thrown())
        elif what == 2 and task.state == "runnable":
            task.remove()
            loomlet.schedule()
            task.insert()
        elif what == 3 and task.state == "runnable":
            task.run()
        elif what == 4:
            for ch in self.channels:
                ch.try_send(None)
                ch.try_receive()
        elif what == 5:
            loomlet.sleep(1)
        elif what == 6:
            cycle = []
            cycle.append(loomlet.spawn(self.lost_body, cycle))

    def run(self, rounds, switch_modes):
        live = []
        for turn in range(rounds):
            if switch_modes:
                _core.soft(bool(turn % 3))
            live += [loomlet.spawn(self.body) for _ in range(20)]
            loomlet.schedule()
            self.random.shuffle(live)
            for task in live[:12]:
                if task.state != "done":
                    self.disturb(task)
            if turn % 10 == 0:
                gc.collect()
            live = [task for task in live if task.state != "done"]
            while len(live) > 200:
                self.end(live.pop())
        for task in live:
            self.end(task)

    def end(self, task):
        for _ in range(200):
            if task.state == "done":
                return
            task.kill()
        raise AssertionError(f"{task} does not end")


@pytest.mark.parametrize("switch_modes", [False, True])
def test_started_is_finished(seed, switch_modes, mode, scaled):
    """After a soak every tasklet that started has finished once, and none is left."""
    _core._virtual_clock(0.0)
    previous = loomlet.set_error_handler(None)
    failed = []
    loomlet.set_error_handler(lambda task, error: failed.append(error))
    soak = Soak(seed)
    try:
        soak.run(scaled(60), switch_modes)
        for _ in range(5):
            gc.collect()
            loomlet.schedule()
    finally:
        _core._virtual_clock(None)
        loomlet.set_error_handler(previous)
    assert failed == []
    assert soak.count["started"] == soak.count["finished"] > 0
    assert soak.count["thrown"] > 0
    assert soak.count["handled"] > 0
    assert len(_core.tasklets()) == 1


@pytest.mark.slow
def test_memory_is_flat(mode, memory, scaled):
    """Repeated soaks with the same seed need no more objects and no more blocks."""
    _core._virtual_clock(0.0)
    sizes = []
    try:
        for _ in range(5):
            Soak(7).run(scaled(40), False)
            sizes.append(memory())
    finally:
        _core._virtual_clock(None)
    assert sizes[-1][0] <= sizes[1][0] + 20
    assert sizes[-1][1] <= sizes[1][1] + 300
