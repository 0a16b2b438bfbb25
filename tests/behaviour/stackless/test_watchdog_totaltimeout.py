"""With totaltimeout the timeout is one budget for the whole run()."""

import loomlet.compat.stackless as stackless


def take_turns():
    while True:
        for _ in range(10):
            pass
        stackless.schedule()


def test_switching_does_not_help():
    """Spec 6, totaltimeout: tasklets that switch all the time are interrupted too."""
    tasks = [stackless.tasklet(take_turns)() for _ in range(2)]
    found = stackless.run(10_000, totaltimeout=True)
    assert found in tasks
    assert found.paused
    for task in tasks:
        task.kill()


def test_each_run_has_a_new_budget():
    """Spec 6, totaltimeout: the next run() starts anew."""
    tasks = [stackless.tasklet(take_turns)() for _ in range(2)]
    for _ in range(10):
        found = stackless.run(1000, totaltimeout=1)
        assert found in tasks
        found.insert()
    for task in tasks:
        task.kill()


def test_a_tasklet_that_ends_in_time_is_not_interrupted():
    """Spec 6, totaltimeout: None when the queue empties before."""
    log = []
    for n in range(5):
        stackless.tasklet(log.append)(n)
    assert stackless.run(100_000, totaltimeout=True) is None
    assert log == list(range(5))
