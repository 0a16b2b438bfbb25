"""Of nested run()s with a timeout only the outermost is effective."""

import pytest

import loomlet.compat.stackless as stackless


def spin():
    while True:
        pass


def test_the_outermost_gets_the_tasklet():
    """Spec 6, nested timeouts: inner ones are as 0; inner callers continue when they get a turn."""
    log, hogs = [], []

    def watch():
        hogs.append(stackless.tasklet(spin)())
        log.append(("inner", stackless.run(10)))

    watcher = stackless.tasklet(watch)()
    found = stackless.run(1000)
    assert found is hogs[0]
    assert log == []
    assert watcher.scheduled
    stackless.run()
    assert log == [("inner", None)]
    found.kill()


def test_an_inner_one_without_an_outer():
    """Spec 6, nested timeouts: an outer run() without a timeout is not one."""
    log, hogs = [], []

    def watch():
        hogs.append(stackless.tasklet(spin)())
        log.append(stackless.run(1000))

    stackless.tasklet(watch)()
    assert stackless.run() is None
    assert log == hogs
    hogs[0].kill()


def test_the_inner_caller_is_interrupted_too():
    """Spec 6, nested timeouts: a tasklet that spins before its run() is the one returned."""

    def watch():
        spin()

    task = stackless.tasklet(watch)()
    assert stackless.run(1000) is task
    task.kill()


def test_one_after_the_other():
    """Spec 6, nested timeouts: when the outer one has returned, another one is effective."""
    log = []

    def watch():
        hog = stackless.tasklet(spin)()
        log.append(stackless.run(1000) is hog)
        hog.kill()

    assert stackless.run(1000) is None
    stackless.tasklet(watch)()
    stackless.run()
    assert log == [True]


ALL = {"ignore_nesting": True, "totaltimeout": True}


def watchdogs():
    return stackless.get_thread_info(-1, 1 << 31)[3]


def nest(victim, seen):
    """A tasklet whose run() waits below that of main; it notes what that returns."""

    def watch():
        stackless.tasklet(victim)()
        seen.append(("inner", stackless.run()))

    return stackless.tasklet(watch)()


@pytest.mark.parametrize("by_hand", [False, True])
def test_the_hard_kind_returns_the_victim_to_the_outer_one(by_hand):
    """Spec 6, nested timeouts: a run() below is in the list and never taken for the victim.

    Also not when it was inserted by hand meanwhile.
    """
    main, seen = stackless.getcurrent(), []

    def victim():
        seen.append(watchdogs())
        if by_hand:
            watcher.insert()
        spin()

    watcher = nest(victim, seen)
    found = stackless.run(1000, **ALL)
    assert seen == [[main, main, watcher]]
    assert found is not watcher
    assert (found.paused, watcher.scheduled) == (True, True)
    assert watchdogs() == [None]
    stackless.run()
    assert seen[1:] == [("inner", None)]
    found.kill()


def test_the_soft_kind_lets_the_victim_come_to_its_next_switch():
    """Spec 6, nested timeouts: then the outer run() returns None."""
    main, seen = stackless.getcurrent(), []

    def victim():
        seen.append(watchdogs())
        for _ in range(20_000):
            pass
        seen.append("at its switch")
        stackless.schedule()
        seen.append("end")

    watcher = nest(victim, seen)
    assert stackless.run(1000, soft=True, **ALL) is None
    assert seen == [[main, main, watcher], "at its switch"]
    stackless.run()
    assert sorted(map(str, seen[2:])) == ["('inner', None)", "end"]
