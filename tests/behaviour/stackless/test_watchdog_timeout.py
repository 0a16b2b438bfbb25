"""run(timeout) interrupts a tasklet that runs too long without switching, and returns it."""

import pytest

import loomlet.compat.stackless as stackless


def spin(counts, name=0):
    while True:
        counts[name] = counts.get(name, 0) + 1


def count_to(end, log):
    n = 0
    while n < end:
        n += 1
    log.append(n)


def test_it_returns_the_interrupted_tasklet():
    """Spec 6, timeout: taken off the queue, alive and paused."""
    task = stackless.tasklet(spin)({})
    assert stackless.run(1000) is task
    assert task.paused
    assert stackless.getruncount() == 1
    task.kill()
    assert not task.alive


def test_it_continues_where_it_was():
    """Spec 6, timeout: the caller decides; after insert() nothing is lost."""
    log, rounds = [], 0
    task = stackless.tasklet(count_to)(20_000, log)
    while stackless.run(1000) is task:
        rounds += 1
        task.insert()
    assert log == [20_000]
    assert rounds > 1


def test_many_times():
    """Spec 6, timeout: the same tasklet can be interrupted again and again."""
    counts = {}
    task = stackless.tasklet(spin)(counts)
    seen = []
    for _ in range(1000):
        assert stackless.run(100) is task
        seen.append(counts[0])
        task.insert()
    task.kill()
    assert seen == sorted(set(seen))


def test_a_short_tasklet_is_not_interrupted():
    """Spec 6, timeout: a tasklet that ends before is not returned; run() returns None."""
    log = []
    stackless.tasklet(count_to)(10, log)
    assert stackless.run(10_000) is None
    assert log == [10]


def test_more_ticks_are_more_progress():
    """Spec 6, ticks: the timeout counts safepoints, not time."""

    def progress(timeout):
        counts = {}
        task = stackless.tasklet(spin)(counts)
        assert stackless.run(timeout) is task
        task.kill()
        return counts[0]

    assert progress(100) < progress(1000) < progress(10_000)


def test_ticks_are_deterministic():
    """Spec 6, ticks: the same program is interrupted at the same place each time."""

    def progress():
        counts = {}
        task = stackless.tasklet(spin)(counts)
        assert stackless.run(1000) is task
        task.kill()
        return counts[0]

    for _ in range(3):
        progress()  # the interpreter specialises its code
    assert len({progress() for _ in range(10)}) == 1


def test_it_restarts_at_each_switch():
    """Spec 6, timeout: only a tasklet that runs that long without switching is interrupted."""
    done = []

    def body():
        for _ in range(100):
            count_to(50, [])
            stackless.schedule()
        done.append("end")

    for _ in range(2):
        stackless.tasklet(body)()
    assert stackless.run(1000) is None
    assert done == ["end", "end"]


def test_a_hog_among_others():
    """Spec 6, timeout: those behind the interrupted one run when the caller runs again."""
    log = []
    hog = stackless.tasklet(spin)({})
    stackless.tasklet(log.append)("other")
    assert stackless.run(1000) is hog
    assert log == []
    assert stackless.run(1000) is None
    assert log == ["other"]
    hog.kill()


def test_recursion_is_counted():
    """Spec 6, ticks: a function entry is a safepoint too, so recursion is interrupted."""

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    task = stackless.tasklet(fib)(40)
    assert stackless.run(1000) is task
    task.kill()


def test_a_timeout_of_zero_means_no_timeout():
    """Spec 6, timeout: 0 never interrupts."""
    log = []
    stackless.tasklet(count_to)(100_000, log)
    assert stackless.run(0) is None
    assert log == [100_000]


def test_an_exception_goes_to_run():
    """Spec 6, timeout: a watchdog with a timeout gets the exceptions of tasklets as any other."""

    def fails():
        raise KeyError

    stackless.tasklet(fails)()
    with pytest.raises(KeyError):
        stackless.run(1000)


def test_an_interrupted_tasklet_can_be_thrown_into():
    """Spec 6, timeout: the exception is raised where it was interrupted."""
    log = []

    def body():
        try:
            spin({})
        except KeyError as error:
            log.append(error.args)

    task = stackless.tasklet(body)()
    assert stackless.run(1000) is task
    task.throw(KeyError, "thrown")
    assert log == [("thrown",)]
