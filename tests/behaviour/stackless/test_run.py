"""run() is a watchdog: it waits until the run queue is empty."""

import pytest

import loomlet.compat.stackless as stackless


def test_alone():
    """Spec 6, run: without runnable tasklets it returns None at once."""
    assert stackless.run() is None


def test_it_returns_when_the_queue_is_empty(mode):
    """Spec 6, run: all have ended, are blocked or paused."""
    ch, log = stackless.channel(), []

    def body(wait):
        for n in range(3):
            log.append(n)
            stackless.schedule()
        wait()

    a = stackless.tasklet(body)(lambda: None)
    b = stackless.tasklet(body)(ch.receive)
    c = stackless.tasklet(body)(stackless.schedule_remove)
    assert stackless.run() is None
    assert log == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert (a.alive, b.blocked, c.paused) == (False, True, True)
    ch.send(None)
    c.kill()


def test_the_caller_leaves_the_queue(mode):
    """Spec 6, run: it waits, paused, and does not take turns."""
    main, seen = stackless.getcurrent(), []

    def body():
        stackless.schedule()
        seen.append((stackless.getruncount(), main.paused, main.scheduled))

    stackless.tasklet(body)()
    stackless.run()
    assert seen == [(1, True, False)]


def test_from_a_tasklet(mode):
    """Spec 6, nested run: any tasklet may call it; it returns when all others have stopped."""
    log = []

    def watch():
        stackless.tasklet(log.append)("new")
        assert stackless.run() is None
        log.append("watch")

    stackless.tasklet(watch)()
    stackless.tasklet(log.append)("old")
    stackless.run()
    log.append("main")
    assert log == ["old", "new", "watch", "main"]


def test_the_innermost_returns_first(mode):
    """Spec 6, nested run: the last that called is the first that continues."""
    log = []

    def watch(depth):
        if depth:
            stackless.tasklet(watch)(depth - 1)
        stackless.run()
        log.append(depth)

    stackless.tasklet(watch)(3)
    stackless.run()
    assert log == [0, 1, 2, 3]


def test_a_killed_watchdog(mode):
    """Spec 6, nested run: a run() caller that is killed while it waits is no longer one."""
    log = []

    def watch():
        try:
            stackless.run()
        finally:
            log.append("watch ended")

    watcher = stackless.tasklet(watch)()
    stackless.tasklet(lambda: watcher.kill())()
    stackless.tasklet(log.append)("other")
    stackless.run()
    assert sorted(log) == ["other", "watch ended"]
    assert not watcher.alive


def test_flags_are_ints(mode):
    """Spec 2, run: five parameters, by position or name, flags as ints or bools."""
    log = []

    def again(*args, **kwargs):
        stackless.tasklet(log.append)("ran")
        assert stackless.run(*args, **kwargs) is None

    again(0, False, False, False, False)
    again(1000, 0, 1, 1, 1)
    again(timeout=0, threadblock=False, soft=True, ignore_nesting=1, totaltimeout=0)
    assert log == ["ran"] * 3


@pytest.mark.parametrize("args", [("text",), (None,), (0, 0, 0, 0, 0, 0)])
def test_wrong_arguments(args):
    """Spec 2, run: the timeout is an int, and there are no more than five."""
    with pytest.raises(TypeError):
        stackless.run(*args)


def test_an_outer_run_that_is_woken_first(mode):
    """Spec 6, nested run: then the inner callers are queued; their run() returns in its turn."""
    main, log = stackless.getcurrent(), []

    def watch():
        stackless.tasklet(main.throw)(KeyError)
        log.append(("inner", stackless.run()))

    watcher = stackless.tasklet(watch)()
    with pytest.raises(KeyError):
        stackless.run()
    assert log == []
    assert watcher.scheduled
    stackless.run()
    assert log == [("inner", None)]


def test_main_can_be_killed_while_it_waits(mode):
    """Spec 6, run: TaskletExit comes out of its run() then."""
    main = stackless.getcurrent()
    stackless.tasklet(lambda: main.kill())()
    with pytest.raises(TaskletExit):
        stackless.run()
    stackless.run()


@pytest.mark.parametrize("how", ["insert", "run"])
def test_main_can_be_woken_while_it_waits(how, mode):
    """Spec 6, run: inserted or run by a tasklet, its run() returns when it gets its turn."""
    main, log = stackless.getcurrent(), []

    def body():
        getattr(main, how)()
        log.append("body")

    stackless.tasklet(body)()
    stackless.tasklet(log.append)("queued")
    assert stackless.run() is None
    assert log == (["body", "queued"] if how == "insert" else [])
    stackless.run()
    assert log == ["body", "queued"]
