"""tasklet.switch() is run(), but the caller leaves the queue in the same step."""

import loomlet.compat.stackless as stackless


def test_the_caller_is_paused(mode):
    """Spec 3, tasklet.switch: until something inserts it; returns None."""
    log = []
    target = stackless.tasklet(log.append, ("target",))

    def body():
        log.append(target.switch())

    task = stackless.tasklet(body)()
    stackless.run()
    assert log == ["target"]
    assert task.paused
    task.insert()
    stackless.run()
    assert log == ["target", None]


def test_the_order_of_the_ring_stays(mode):
    """Spec 3, tasklet.switch: the tasklets behind the target run after it."""
    log = []
    tasks = [stackless.tasklet(log.append)(name) for name in "abc"]
    assert tasks[1].switch() is None
    assert log == ["b", "c", "a"]


def test_the_main_tasklet_comes_back_when_the_queue_is_empty(mode):
    """Spec 3, tasklet.switch: main is paused, and woken when no other tasklet can run."""
    main, log = stackless.getcurrent(), []
    stackless.tasklet(lambda: log.append(main.paused))().switch()
    assert log == [True]
    assert not main.paused


def test_two_are_coroutines(mode):
    """Spec 3, tasklet.switch: two tasklets that switch to each other take turns."""
    log, tasks = [], {}

    def body(name, other):
        for n in range(3):
            log.append(f"{name}{n}")
            tasks[other].switch()

    tasks["a"] = stackless.tasklet(body, ("a", "b"))
    tasks["b"] = stackless.tasklet(body, ("b", "a"))
    tasks["a"].insert()
    stackless.run()
    assert log == ["a0", "b0", "a1", "b1", "a2", "b2"]
    for task in tasks.values():
        task.kill()


def test_the_current_one(mode):
    """Spec 3, tasklet.switch: switching to itself does nothing."""
    me = stackless.getcurrent()
    assert me.switch() is None
    assert stackless.getruncount() == 1


def test_a_blocked_one(raises, mode):
    """Spec 3, tasklet.switch: an error, and the caller stays in the queue."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    with raises(RuntimeError, "You cannot run a blocked tasklet"):
        task.switch()
    assert stackless.getruncount() == 1
    ch.send(None)


def test_a_dead_one(raises):
    """Spec 3, tasklet.switch: there is nothing to run."""
    with raises(RuntimeError, "You cannot run an unbound(dead) tasklet"):
        stackless.tasklet().switch()
    assert stackless.getruncount() == 1


def test_of_another_thread(thread, raises):
    """Spec 3, tasklet.switch: it cannot run here."""
    task = stackless.tasklet(print, ())

    def body():
        with raises(RuntimeError, "can't switch to a different thread."):
            task.switch()

    thread(body).result()
    assert task.paused


def test_after_the_end_of_its_thread(thread, raises):
    """Spec 3, tasklet.switch: there is no thread to run it."""
    task = thread(lambda: stackless.tasklet(print, ())).result()
    with raises(RuntimeError, "tasklet has no thread"):
        task.switch()
