"""spawn puts a tasklet at the tail of the run queue; the spawner continues."""

import loomlet


def test_the_spawner_continues(mode):
    """Nothing of the new tasklet runs before the spawner gives way."""
    log = []
    loomlet.spawn(log.append, "spawned")
    log.append("spawner")
    loomlet.schedule()
    assert log == ["spawner", "spawned"]


def test_first_spawned_first_run(mode):
    """Tasklets start in the order in which they were spawned."""
    log = []
    for n in range(10):
        loomlet.spawn(log.append, n)
    loomlet.schedule()
    assert log == list(range(10))


def test_schedule_goes_to_the_tail(mode):
    """Tasklets that schedule() take turns, each once per round."""
    log = []

    def body(n):
        for turn in range(3):
            log.append((turn, n))
            loomlet.schedule()

    for n in range(3):
        loomlet.spawn(body, n)
    for _ in range(4):
        loomlet.schedule()
    assert log == [(turn, n) for turn in range(3) for n in range(3)]


def test_a_tasklet_spawned_by_a_tasklet_is_last(mode):
    """A tasklet spawned while others wait for their turn runs after them."""
    log = []

    def parent():
        loomlet.spawn(log.append, "child")
        log.append("parent")

    loomlet.spawn(parent)
    loomlet.spawn(log.append, "sibling")
    loomlet.schedule()
    assert log == ["parent", "sibling"]
    loomlet.schedule()
    assert log == ["parent", "sibling", "child"]


def test_schedule_alone_returns(mode):
    """schedule() without another runnable tasklet returns None at once."""
    assert loomlet.schedule() is None
    assert loomlet.spawn(loomlet.schedule).result() is None
