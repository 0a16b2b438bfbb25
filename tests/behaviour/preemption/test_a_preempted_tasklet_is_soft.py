"""Interrupted where a function begins or where it jumps back, a tasklet keeps no C stack."""

import contextlib
import gc
import sys

import pytest

import loomlet

SAFEPOINTS = [1, 2, 3, 7]
COMPILES = hasattr(sys, "_jit") and sys._jit.is_enabled()


def counts_down(n):
    while n:
        n -= 1
    return n


def counts_up(n):
    found = []
    for k in range(n):
        for _ in (1, 2):
            found.append(k)
    return found


def calls(n):
    def add(a, b=1, *rest, c, **more):
        return a + b + c + sum(rest) + len(more)

    total = 0
    while total < n:
        total = add(total, 0, 0, c=1, d=2)
    return total


def recurses(n):
    return 0 if n == 0 else 1 + recurses(n - 1)


def generates(n):
    def walk(depth):
        for k in range(3):
            yield depth, k
        if depth:
            yield from walk(depth - 1)

    total = []
    for pair in walk(n // 10):
        total.append(pair)
    return total


def keeps_operands(n):
    return [n, (n, *[k for k in range(n) if k % 3], {k: -k for k in range(3)}), -n]


def handles(n):
    log = []
    for k in range(n):
        try:
            while True:
                if k % 3 == 0:
                    raise KeyError(k)
                break
        except KeyError as error:
            for _ in range(2):
                log.append(error.args)
        finally:
            for _ in range(2):
                log.append(k)
    return log


def enters(n):
    @contextlib.contextmanager
    def manager(k):
        for _ in range(2):
            log.append(k)
        yield k
        log.append(-k)

    log = []
    for k in range(n):
        with manager(k) as same:
            for _ in range(same):
                log.append(same)
    return log


def awaits(n):
    async def inner(k):
        for _ in range(k % 3):
            pass
        return k

    async def outer():
        return [await inner(k) for k in range(n)]

    try:
        outer().send(None)
    except StopIteration as end:
        return end.value


class Point:
    """Calls that the interpreter makes without C."""

    def __init__(self, x):
        for _ in range(3):
            self.x = x

    @property
    def twice(self):
        for _ in range(2):
            result = self.x * 2
        return result

    def __getitem__(self, key):
        while key > 0:
            key -= 1
        return self.x


def makes_objects(n):
    return [Point(k).twice + Point(k)[2] for k in range(n)]


def closes_over(n):
    total = 0

    def add(k):
        nonlocal total
        while k:
            k, total = k - 1, total + 1

    for k in range(n):
        add(k)
    return total


namespace = {}
exec(
    "def is_long(n):\n x = 0\n while x < 400 * n:\n"
    + "  x += 1 if x % 2 else 1\n" * 400
    + " return x",
    namespace,
)
is_long = namespace["is_long"]

FUNCTIONS = [
    counts_down, counts_up, calls, recurses, generates, keeps_operands, handles, enters, awaits,
    makes_objects, closes_over, is_long,
]  # fmt: skip


@pytest.fixture(autouse=True)
def undisturbed():
    """A safepoint with more to do is hard: where a collection is due, or a thread wants the GIL."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    gc.disable()
    yield
    gc.enable()
    sys.setswitchinterval(interval)


@pytest.mark.parametrize("safepoints", SAFEPOINTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_continues_as_if_nothing_had_happened(function, safepoints, every_safepoint, switches):
    """Results are those of a run without interruptions."""
    wanted = [function(n) for n in (40, 41)]

    def main():
        tasks = [loomlet.spawn(function, n) for n in (40, 41)]
        return [task.result() for task in tasks]

    assert every_safepoint(main, safepoints) == wanted
    assert safepoints > 1 or switches.take()[0] > 0


@pytest.mark.skipif(COMPILES, reason="a loop that the JIT compiled is left hard")
@pytest.mark.parametrize("function", [counts_down, recurses, is_long, closes_over])
def test_none_is_hard(function, every_safepoint, switches):
    """Where the interpreter calls Python code without C between, all interruptions are soft."""

    def main():
        tasks = [loomlet.spawn(function, n) for n in (40, 41)]
        switches.take()
        for task in tasks:
            task.join()
        return switches.take()

    soft, hard = every_safepoint(main)
    assert soft > 40
    assert hard == 0


@pytest.mark.skipif(COMPILES, reason="a loop that the JIT compiled is left hard")
def test_by_time(switches):
    """What a time slice interrupts is soft too."""
    turns = [0, 0]

    def loop(mine):
        while turns[1 - mine] < 20_000:
            turns[mine] += 1
        turns[mine] = 20_000

    def main():
        tasks = [loomlet.spawn(loop, n) for n in range(2)]
        switches.take()
        for task in tasks:
            task.join()
        return switches.take()

    soft, hard = loomlet.run(main, slice=0.0005)
    assert soft >= 1
    assert hard <= soft


def test_below_c_it_is_hard(every_safepoint, switches):
    """A C caller between is kept."""

    def key(value):
        for _ in range(3):
            pass
        return -value

    def main():
        tasks = [loomlet.spawn(sorted, range(5), key=key) for _ in range(2)]
        switches.take()
        results = [task.result() for task in tasks]
        return results, switches.take()

    results, (soft, hard) = every_safepoint(main)
    assert results == [[4, 3, 2, 1, 0]] * 2
    assert soft == 0
    assert hard > 0
