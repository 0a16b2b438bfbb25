"""With soft=True no tasklet is interrupted: run() returns at the next switch after the timeout."""

import loomlet.compat.stackless as stackless


def work(log, name):
    for n in range(3):
        for _ in range(10_000):
            pass
        log.append(f"{name}{n}")
        stackless.schedule()


def test_it_returns_none_at_a_switch():
    """Spec 6, soft: the tasklet that would have run stays queued."""
    log = []
    a, b = (stackless.tasklet(work)(log, name) for name in "ab")
    assert stackless.run(100, soft=True) is None
    assert log == ["a0"]
    assert (a.scheduled, b.scheduled) == (True, True)
    assert stackless.getruncount() == 3
    assert stackless.run(100, soft=True) is None
    assert log == ["a0", "b0"]
    stackless.run()
    assert log == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_an_empty_queue_ends_it_as_well():
    """Spec 6, soft: None when all have ended before the timeout."""
    log = []
    stackless.tasklet(log.append)("ran")
    assert stackless.run(10_000, soft=True) is None
    assert log == ["ran"]


def test_not_at_a_preferred_switch():
    """Spec 6, soft: a switch to the preferred partner of a channel is not the one."""
    ch, log = stackless.channel(), []

    def receiver():
        log.append(ch.receive())
        stackless.schedule()
        log.append("later")

    def sender():
        for _ in range(10_000):
            pass
        ch.send("value")
        log.append("sent")

    stackless.tasklet(receiver)()
    stackless.tasklet(sender)()
    assert stackless.run(100, soft=True) is None
    assert log == ["value"]
    stackless.run()
    assert sorted(log[1:]) == ["later", "sent"]


def test_a_main_loop_of_short_frames():
    """Spec 6, soft: with all flags together, a program gets everything done in small portions."""
    log, rounds = [], 0
    tasks = [stackless.tasklet(work)(log, name) for name in "abc"]
    while any(task.alive for task in tasks):
        found = stackless.run(500, soft=True, totaltimeout=True, ignore_nesting=True)
        assert found is None
        rounds += 1
    assert rounds >= 3
    assert sorted(log) == [f"{name}{n}" for name in "abc" for n in range(3)]
