"""At whatever safepoint a tasklet is interrupted, it continues as if nothing had happened."""

import contextvars
import sys

import pytest

import loomlet

TASKS = 4


@pytest.fixture(params=[1, 2, 3, 7])
def side_by_side(request, every_safepoint):
    """Runs several tasklets of one function with slices of a few safepoints."""

    def run(body):
        def main():
            return [task.result() for task in [loomlet.spawn(body, n) for n in range(TASKS)]]

        return every_safepoint(main, request.param)

    return run


def test_exceptions_in_flight(side_by_side):
    """Handlers, contexts and sys.exc_info() belong to the tasklet."""

    def body(n):
        for k in range(30):
            try:
                raise ValueError(n)
            except ValueError as outer:
                for _ in range(3):
                    pass
                assert sys.exc_info()[1] is outer
                try:
                    raise KeyError(k)
                except KeyError as inner:
                    for _ in range(3):
                        pass
                    assert inner.__context__ is outer
                    assert outer.args == (n,)
                assert sys.exc_info()[1] is outer
            assert sys.exc_info()[1] is None
        return n

    assert side_by_side(body) == list(range(TASKS))


def test_generators(side_by_side):
    """Generators, nested and delegating, yield what they always did."""

    def numbers(n):
        for k in range(n):  # noqa: UP028 - each step is one of ours
            yield k

    def nested(n):
        yield from numbers(n)
        yield from (k * 2 for k in numbers(n))

    def body(n):
        return [list(nested(20)) for _ in range(5)] == [[*range(20), *range(0, 40, 2)]] * 5

    assert side_by_side(body) == [True] * TASKS


def test_c_callers(side_by_side):
    """C functions that call Python code keep their state."""

    def key(value):
        for _ in range(2):
            pass
        return -value

    def body(n):
        got = sorted(range(20), key=key)
        return got == list(range(19, -1, -1)) and sum(map(key, got)) == -190

    assert side_by_side(body) == [True] * TASKS


def test_classes_and_with(side_by_side):
    """Methods, properties, with blocks and comprehensions are interrupted at any place."""

    class Thing:
        def __init__(self, n):
            self.n = n

        @property
        def twice(self):
            return self.n * 2

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return error[0] is KeyError

    def body(n):
        for _ in range(20):
            with Thing(n) as thing:
                assert [thing.twice for _ in range(3)] == [n * 2] * 3
                raise KeyError
        return n

    assert side_by_side(body) == list(range(TASKS))


def test_context_variables(side_by_side):
    """Each tasklet has its own values."""
    var = contextvars.ContextVar("var")

    def body(n):
        for k in range(50):
            var.set((n, k))
            for _ in range(3):
                pass
            assert var.get() == (n, k)
        return n

    assert side_by_side(body) == list(range(TASKS))


def test_deep_recursion(side_by_side):
    """The recursion depth is the tasklet's own."""

    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    def forever():
        forever()

    def body(n):
        assert down(200) == 200
        with pytest.raises(RecursionError):
            forever()
        return n

    assert side_by_side(body) == list(range(TASKS))


def test_channels(side_by_side):
    """Values sent and received while all tasklets are interrupted arrive once, in order."""
    channels = [loomlet.Channel(n % 2) for n in range(TASKS)]

    def body(n):
        ch = channels[n // 2]
        if n % 2:
            return [ch.receive() for _ in range(50)]
        for k in range(50):
            ch.send(k)
        return list(range(50))

    assert side_by_side(body) == [list(range(50))] * TASKS


def test_values_on_their_way_survive(every_safepoint):
    """The result of a blocked call is not lost if its tasklet is interrupted before it runs."""
    ch = loomlet.Channel()

    def receiver():
        return [ch.receive() for _ in range(200)]

    def main():
        tasks = [loomlet.spawn(receiver) for _ in range(3)]
        for k in range(600):
            ch.send(k)
        return sorted(value for task in tasks for value in task.result())

    assert every_safepoint(main) == list(range(600))
