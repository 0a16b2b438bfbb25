"""kill() returns to its caller when the victim has ended or waits again."""

import loomlet
from loomlet import Channel


def test_a_finally_that_blocks(mode):
    """kill() does not wait for a finally block that waits; the tasklet ends later."""
    ch, log = Channel(), []

    def body():
        try:
            ch.receive()
        finally:
            log.append("cleaning")
            ch.receive()
            log.append("cleaned")

    task = loomlet.spawn(body)
    loomlet.schedule()
    task.kill()
    assert (task.state, log) == ("blocked", ["cleaning"])
    ch.send(None)
    loomlet.schedule()
    assert (task.state, log) == ("done", ["cleaning", "cleaned"])


def test_a_tasklet_that_catches_the_exit(mode):
    """A tasklet may catch TaskletExit, continue, and be killed again."""
    ch, log = Channel(), []

    def stubborn():
        for _ in range(3):
            try:
                ch.receive()
            except loomlet.TaskletExit:
                log.append("no")

    task = loomlet.spawn(stubborn)
    loomlet.schedule()
    for _ in range(3):
        assert task.state == "blocked"
        task.kill()
    assert task.state == "done"
    assert log == ["no"] * 3


def test_the_killer_continues_before_all_others(mode):
    """No other tasklet runs between the victim and the one that called kill()."""
    log = []

    def victim():
        try:
            loomlet.sleep(1)
        finally:
            log.append("victim")

    task = loomlet.spawn(victim)
    loomlet.schedule()
    loomlet.spawn(log.append, "other")
    task.kill()
    log.append("killer")
    loomlet.schedule()
    assert log == ["victim", "killer", "other"]


def test_a_victim_that_gives_way(mode):
    """A finally block that schedules lets the killer continue; it is finished in its turn."""
    log = []

    def victim():
        try:
            loomlet.sleep(1)
        finally:
            loomlet.schedule()
            log.append("finished")

    task = loomlet.spawn(victim)
    loomlet.schedule()
    task.kill()
    assert (task.state, log) == ("runnable", [])
    loomlet.schedule()
    assert (task.state, log) == ("done", ["finished"])


def test_a_victim_that_kills_its_killer(mode):
    """Two tasklets that kill each other both end."""
    log = []

    def one():
        try:
            loomlet.sleep(100)
        finally:
            log.append("one")
            second.kill()

    def two():
        try:
            first.kill()
        finally:
            log.append("two")

    first, second = loomlet.spawn(one), loomlet.spawn(two)
    loomlet.schedule()
    loomlet.schedule()
    assert sorted(log) == ["one", "two"]
    assert (first.state, second.state) == ("done", "done")


def test_a_chain_of_kills(mode):
    """Finally blocks that kill the next tasklet end a whole chain, deep in each other."""
    tasks, log = [], []

    def link(n):
        try:
            loomlet.sleep(100)
        finally:
            if n + 1 < len(tasks):
                tasks[n + 1].kill()
            log.append(n)

    tasks.extend(loomlet.spawn(link, n) for n in range(100))
    loomlet.schedule()
    tasks[0].kill()
    assert log == list(reversed(range(100)))
