"""Each tasklet has its own recursion depth, from 0."""

import sys

import loomlet.compat.stackless as stackless


def dive(depth, func):
    return func() if depth == 0 else dive(depth - 1, func)


def test_it_starts_at_zero():
    """Spec 3, tasklet.recursion_depth: a tasklet that has not started is 0 deep."""
    assert stackless.tasklet(print, ()).recursion_depth == 0


def test_it_counts_calls(mode):
    """Spec 3, tasklet.recursion_depth: ten calls more are ten more."""
    ch = stackless.channel()
    flat = stackless.tasklet(lambda: dive(0, ch.receive))()
    deep = stackless.tasklet(lambda: dive(10, ch.receive))()
    stackless.run()
    assert flat.recursion_depth > 0
    assert deep.recursion_depth - flat.recursion_depth == 10
    ch.send(None)
    ch.send(None)


def test_the_creators_depth_does_not_count(mode):
    """Spec 1, recursion depth: a tasklet made deep down can recurse as far as any other."""
    log = []
    limit = sys.getrecursionlimit()

    def start():
        task = stackless.tasklet(lambda: log.append(dive(limit // 2, lambda: "end")))()
        task.run()

    dive(limit // 2, start)
    assert log == ["end"]


def test_too_deep_is_an_error_of_the_tasklet(mode):
    """Spec 1, recursion depth: the limit holds in each tasklet, and ends only that one."""
    log = []

    def body():
        try:
            dive(10**6, lambda: None)
        except RecursionError:
            log.append("too deep")

    for _ in range(2):
        stackless.tasklet(body)()
    stackless.run()
    assert log == ["too deep", "too deep"]
