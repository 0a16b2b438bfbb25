"""schedule_remove() lets the next tasklet run and leaves the caller paused."""

import weakref

import loomlet.compat.stackless as stackless


def test_the_caller_is_paused(mode):
    """Spec 2, schedule_remove: it leaves the run queue and comes back by insert()."""
    log = []

    def body():
        log.append("before")
        stackless.schedule_remove()
        log.append("after")

    task = stackless.tasklet(body)()
    stackless.run()
    assert log == ["before"]
    assert task.paused
    task.insert()
    stackless.run()
    assert log == ["before", "after"]


def test_it_returns_its_argument_or_the_caller(mode):
    """Spec 2, schedule_remove: as schedule() does."""
    seen = []

    def body():
        seen.append(stackless.schedule_remove())
        seen.append(stackless.schedule_remove("value"))
        seen.append(stackless.schedule_remove(retval=None))

    task = stackless.tasklet(body)()
    stackless.run()
    for _ in range(3):
        task.insert()
        stackless.run()
    assert seen == [task, "value", None]


def test_alone_in_main_it_returns():
    """Spec 2, schedule_remove: the main tasklet alone gets its value back at once."""
    assert stackless.schedule_remove("value") == "value"
    assert stackless.schedule_remove() is stackless.getmain()
    assert stackless.getruncount() == 1


def test_the_main_tasklet_comes_back_when_the_queue_is_empty(mode):
    """Spec 2, schedule_remove: when all others have ended, main is woken."""
    main, log = stackless.getcurrent(), []

    def body():
        log.append(main.paused)
        stackless.schedule()
        log.append("end")

    stackless.tasklet(body)()
    assert stackless.schedule_remove("value") == "value"
    assert log == [True, "end"]
    assert stackless.getruncount() == 1


def test_the_innermost_watchdog_comes_back_first(mode):
    """Spec 2, schedule_remove: an empty queue wakes the innermost run()."""
    log = []

    def watch():
        stackless.tasklet(leave)()
        stackless.run()
        log.append("run returned")

    def leave():
        log.append("leaves")
        left.append(stackless.getcurrent())
        stackless.schedule_remove()
        log.append("is back")

    left = []
    stackless.tasklet(watch)()
    stackless.run()
    assert log == ["leaves", "run returned"]
    left.pop().run()
    assert log == ["leaves", "run returned", "is back"]


def test_the_queue_gives_up_its_reference():
    """Spec 2, schedule_remove: only references to it keep the paused tasklet."""
    seen = []

    def body():
        seen.append(weakref.ref(stackless.getcurrent()))
        stackless.schedule_remove()

    held = stackless.tasklet(body)()
    stackless.run()
    assert seen[0]() is held
    held.kill()
    del held
    assert seen[0]() is None
