"""tasklet.run() continues at that tasklet's place in the ring; the order of the ring stays."""

import loomlet.compat.stackless as stackless


def test_the_tail_alone(mode):
    """Spec 3, tasklet.run: the last of the ring runs, then the caller; returns None."""
    log = []
    stackless.tasklet(log.append)("a")
    task = stackless.tasklet(log.append)("b")
    assert task.run() is None
    log.append("main")
    assert log == ["b", "main"]
    stackless.run()
    assert log == ["b", "main", "a"]


def test_those_between_run_first(mode):
    """Spec 3, tasklet.run: the tasklets between it and the caller run before the caller."""
    log = []
    tasks = [stackless.tasklet(log.append)(name) for name in "abcd"]
    tasks[1].run()
    log.append("main")
    assert log == ["b", "c", "d", "main"]
    stackless.run()
    assert log[4:] == ["a"]


def test_the_ring_has_turned(mode):
    """Spec 3, tasklet.run: the order of the ring does not change."""
    main, seen = stackless.getcurrent(), []

    def look():
        me = stackless.getcurrent()
        task = me
        while True:
            seen.append(task)
            task = task.next
            if task is me:
                break

    a = stackless.tasklet(stackless.schedule)()
    b = stackless.tasklet(look)()
    c = stackless.tasklet(stackless.schedule)()
    b.run()
    assert seen == [b, c, main, a]
    stackless.run()


def test_a_paused_one_comes_in_at_the_tail(mode):
    """Spec 3, tasklet.run: so it runs, and then the caller."""
    log = []
    task = stackless.tasklet(log.append, ("paused",))
    stackless.tasklet(log.append)("queued")
    task.run()
    log.append("main")
    stackless.run()
    assert log == ["paused", "main", "queued"]


def test_it_continues_where_it_stopped(mode):
    """Spec 3, tasklet.run: after it schedules, it is behind the caller."""
    log = []

    def body():
        for n in range(2):
            log.append(n)
            stackless.schedule()

    task = stackless.tasklet(body)()
    task.run()
    log.append("main")
    task.run()
    log.append("main")
    assert log == [0, "main", 1, "main"]
    stackless.run()


def test_the_current_one(mode):
    """Spec 3, tasklet.run: running the current tasklet does nothing."""
    log = []
    stackless.tasklet(log.append)("queued")
    assert stackless.getcurrent().run() is None
    assert log == []
    stackless.run()


def test_a_blocked_one(raises, mode):
    """Spec 3, tasklet.run: it has to get what it waits for."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    with raises(RuntimeError, "You cannot run a blocked tasklet"):
        task.run()
    assert task.blocked
    ch.send(None)


def test_a_dead_one(raises):
    """Spec 3, tasklet.run: there is nothing to run."""
    with raises(RuntimeError, "You cannot run an unbound(dead) tasklet"):
        stackless.tasklet(print).run()


def test_after_the_end_of_its_thread(thread, raises):
    """Spec 3, tasklet.run: there is no thread to run it."""
    task = thread(lambda: stackless.tasklet(print, ())).result()
    with raises(RuntimeError, "tasklet has no thread"):
        task.run()
