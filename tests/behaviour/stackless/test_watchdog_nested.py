"""Of nested run()s with a timeout only the outermost is effective."""

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
