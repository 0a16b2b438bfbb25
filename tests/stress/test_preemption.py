"""Interrupted at every safepoint, or at random ones, with threads, collections and exceptions.

Tasklets compute, raise, import, collect, recurse, print into files, send and receive while each
slice, or the timeout of the Stackless API's run(), is a few safepoints long; in several threads
at once, beside time slices, with soft and hard switches, and in each torture mode.  Every result
is compared with that of the same work alone.

LOOMLET_STRESS_SECONDS=n makes the soak that long (default 10).
"""

import contextlib
import contextvars
import gc
import importlib.util
import io
import itertools
import os
import random
import sys
import threading
import time

import pytest

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import Channel, _core, _runtime

# A tasklet that is killed right after `with` has called __enter__ leaves a suspended generator,
# which the interpreter closes in the context of whatever runs then.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <generator object withs:pytest.PytestUnraisableExceptionWarning"
)

SECONDS = float(os.environ.get("LOOMLET_STRESS_SECONDS", "10"))
TASKS = 6


def raises(rng):
    found = []
    for k in range(rng.randrange(1, 20)):
        try:
            try:
                raise ValueError(k)
            except ValueError as error:
                found.append(error.args[0])
                raise KeyError(k) from error
        except KeyError as error:
            found.append(error.__cause__.args[0])
        finally:
            found.append(-1)
    return found


def generates(rng):
    def walk(depth):
        if depth:
            yield depth
            yield from walk(depth - 1)
            yield from (value for value in walk(depth - 1))

    return list(walk(rng.randrange(1, 7)))


def sorts(rng):
    values = [rng.random() for _ in range(rng.randrange(1, 60))]
    return sorted(values, key=lambda v: -v) + list(map(lambda v: v * 2, values))


def collects(rng):
    class Node:
        def __init__(self):
            self.me = self

        def __del__(self):
            seen.append(1)

    seen = []
    for _ in range(rng.randrange(1, 4)):
        Node()
        gc.collect(0)
    return isinstance(len(seen), int)


def recurses(rng):
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    def forever():
        return forever()

    with contextlib.suppress(RecursionError):
        forever()
    return down(rng.randrange(1, 100))


def formats(rng):
    out = io.StringIO()
    for k in range(rng.randrange(1, 30)):
        print(k, f"{k:>4}", file=out)
    return out.getvalue()


def classes(rng):
    made = type("Made", (), {"value": property(lambda self: self.n)})
    thing = made()
    thing.n = rng.random()
    return [thing.value for _ in range(rng.randrange(20))]


class Made:
    """Finds and loads modules that are a loop and its sum."""

    numbers = itertools.count()

    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_loader(name, Made) if name.startswith("made_") else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec("value = sum([k for k in range(20)])", module.__dict__)


def imports(rng):
    name = f"made_{next(Made.numbers)}"
    value = importlib.import_module(name).value
    del sys.modules[name]
    return value


variable = contextvars.ContextVar("variable", default=0)


def withs(rng):
    @contextlib.contextmanager
    def bound(value):
        token = variable.set(value)
        try:
            yield
        finally:
            variable.reset(token)

    before, found = variable.get(), []
    for k in range(rng.randrange(1, 6)):
        with contextlib.suppress(KeyError), bound(k), bound(-k):
            found.append(variable.get())
            raise KeyError
        found.append(variable.get() - before)
    return found


WORK = [raises, generates, sorts, collects, recurses, formats, classes, imports, withs]


def work(seed):
    rng = random.Random(seed)
    return [rng.choice(WORK)(rng) for _ in range(rng.randrange(1, 6))]


def exchange(seed):
    """Values through a channel between two tasklets that are interrupted."""
    rng = random.Random(seed)
    ch, count = Channel(rng.randrange(3)), rng.randrange(1, 40)
    receiver = loomlet.spawn(lambda: [ch.receive() for _ in range(count)])
    for k in range(count):
        ch.send(k)
    assert receiver.result() == list(range(count))


def disturb(seed):
    """Tasklets that are killed or thrown into wherever they are."""
    rng = random.Random(seed)
    victims = [loomlet.spawn(work, seed + k) for k in range(3)]
    for _ in range(rng.randrange(5)):
        loomlet.schedule()
    for victim in victims:
        with contextlib.suppress(loomlet.DeadTasklet):
            victim.kill()


def one_round(seed):
    """Some tasklets side by side, each result compared with that of a run alone."""
    rng = random.Random(seed)
    _core._slice_budget(0)
    wanted = [work(seed + k) for k in range(TASKS)]
    _core._slice_budget(rng.choice([1, 1, 2, 3, 5, 17, 100]))
    others = [loomlet.spawn(rng.choice([exchange, disturb]), seed + k) for k in range(2)]
    tasks = [loomlet.spawn(work, seed + k) for k in range(TASKS)]
    assert [task.result() for task in tasks] == wanted, f"seed {seed}"
    for other in others:
        other.result()


def count_round(seed):
    """The same work below run() with a timeout, whose caller inserts the interrupted tasklets."""
    rng = random.Random(seed)
    wanted = {seed + k: work(seed + k) for k in range(TASKS)}
    found = {}

    def body(k):
        found[k] = work(k)

    for k in wanted:
        stackless.tasklet(body)(k)
    while len(found) < TASKS:
        left = stackless.run(
            rng.choice([1, 1, 1, 2, 5, 50]),
            soft=rng.random() < 0.2,
            ignore_nesting=rng.random() < 0.5,
            totaltimeout=rng.random() < 0.5,
        )
        if left is not None:
            left.insert()
    stackless.run()
    assert found == wanted, f"seed {seed}"


def soak_ticks(first, end, failed):
    seed = first
    try:
        while time.monotonic() < end and not failed:
            count_round(seed)
            seed += 1000
    except BaseException as error:
        failed.append(error)


def soak(first, end, failed):
    def main():
        seed = first
        while time.monotonic() < end and not failed:
            one_round(seed)
            seed += 1000

    try:
        loomlet.run(main, slice=random.Random(first).choice([0.0001, 0.001, None]))
    except BaseException as error:
        failed.append(error)


@pytest.fixture(autouse=True)
def any_torture(seed):
    """The torture modes in turns; modules can be made."""
    before = os.environ.get("LOOMLET_TORTURE", "")
    sys.meta_path.append(Made)
    _core._torture(random.Random(seed).randrange(8))
    yield
    _core._torture(_runtime._torture_bits(before))
    sys.meta_path.remove(Made)


def in_threads(soakers, seed):
    """Runs a soak in each of several threads, this one among them, for a share of the time."""
    failed, end = [], time.monotonic() + SECONDS / 24
    threads = [
        threading.Thread(target=soaker, args=(seed * 100 + n, end, failed))
        for n, soaker in enumerate(soakers[1:])
    ]
    for thread in threads:
        thread.start()
    soakers[0](seed * 100 + 99, end, failed)
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.parametrize("threads", [1, 3])
def test_interrupted_everywhere(threads, mode, seed):
    """Work that is interrupted by slices gives the same result as alone."""
    in_threads([soak] * threads, seed)


@pytest.mark.parametrize("threads", [1, 3])
def test_ticks_everywhere(threads, mode, seed):
    """So does work that is interrupted by run(timeout)."""
    in_threads([soak_ticks] * threads, seed)


def test_ticks_and_slices(mode, seed):
    """Threads that count and threads that have slices are interrupted side by side."""
    in_threads([soak_ticks, soak, soak, soak_ticks], seed)


def test_many_interrupted_at_once(mode, scaled, memory):
    """Thousands of tasklets are in the middle of their loops; some continue, some do not."""
    rng = random.Random(1)

    def loop(n):
        values = [[n]]
        while n:
            n -= 1
            values[-1] = [values[0], n]

    def one():
        tasks = [stackless.tasklet(loop)(rng.randrange(5, 50)) for _ in range(scaled(2000))]
        while (left := stackless.run(rng.choice([1, 2, 3, 7]))) is not None:
            if rng.random() < 0.01:
                left.kill()
            else:
                left.insert()
        assert not any(task.alive for task in tasks)

    one()
    objects, blocks = memory()
    for _ in range(2):
        one()
    assert memory()[0] < objects + 500
    assert memory()[1] < blocks + 2000


@pytest.mark.slow
def test_interrupted_a_million_times():
    """run(1) returns the interrupted tasklet, insert() puts it back, and it continues."""
    turns = [0]

    def loop():
        while True:
            turns[0] += 1

    task = stackless.tasklet(loop)()
    for _ in range(1_000_000):
        assert stackless.run(1) is task
        task.insert()
    assert turns[0] > 300_000
    task.kill()
