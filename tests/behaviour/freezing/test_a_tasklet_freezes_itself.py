"""checkpoint(): a tasklet freezes itself, and learns on return where it goes on."""

import pytest

import loomlet
from loomlet import _core, freeze, spawn, thaw

pytestmark = pytest.mark.usefixtures("switches")


def steps(log):
    log = list(log)
    log.append("first")
    saved = loomlet.checkpoint()
    log.append("thawed" if saved is None else "saved")
    return saved, log


def test_it_goes_on_here_and_there():
    saved, log = spawn(steps, ["begin"]).result()
    assert log == ["begin", "first", "saved"]
    again = thaw(saved)
    again.insert()
    assert again.result() == (None, ["begin", "first", "thawed"])


def test_as_often_as_one_likes():
    """Each thawed one may freeze itself again."""

    def count(upto):
        saved = []
        for n in range(upto):
            saved.append((n, loomlet.checkpoint()))
        return saved

    saved = spawn(count, 3).result()
    assert [(n, type(data)) for n, data in saved] == [(0, bytes), (1, bytes), (2, bytes)]
    for at, (_, data) in enumerate(saved):
        again = thaw(data)
        again.insert()
        found = again.result()
        assert [n for n, _ in found] == [0, 1, 2]
        assert [type(data) for _, data in found] == [bytes] * at + [type(None)] + [bytes] * (2 - at)


def test_with_a_key():
    def signed():
        return loomlet.checkpoint(key=b"secret")

    data = spawn(signed).result()
    with pytest.raises(loomlet.ThawError):
        thaw(data)
    again = thaw(data, key=b"secret")
    again.insert()
    assert again.result() is None


def test_what_cannot_be_frozen():
    """It raises FreezeError in the function, which goes on."""

    def body():
        file = open(__file__)
        with file:
            try:
                loomlet.checkpoint()
            except loomlet.FreezeError as error:
                return str(error)
        return None

    assert "TextIOWrapper" in spawn(body).result()


def test_the_main_tasklet_cannot():
    with pytest.raises(loomlet.FreezeError):
        loomlet.checkpoint()


def test_wrong_arguments():
    for call in (lambda: loomlet.checkpoint(1), lambda: loomlet.checkpoint(keys=1)):
        with pytest.raises(TypeError):
            call()


def test_in_a_cancelled_scope():
    def body():
        with loomlet.CancelScope() as scope:
            scope.cancel()
            loomlet.checkpoint()
        return scope.cancelled_caught

    assert spawn(body).result()


def test_nobody_else_runs_before_it_is_frozen():
    log = []

    class Mark:
        def __reduce__(self):
            log.append("frozen")
            return int, ()

    def body(mark):
        spawn(log.append, "other")
        loomlet.checkpoint()
        return mark

    spawn(body, Mark()).result()
    assert log == ["frozen", "other"]


def test_wait_until_it_has_blocked():
    """freeze(wait=True) of one that computes first."""

    def body(channel):
        total = sum(range(100_000))
        for _ in range(3):
            loomlet.schedule()
        return total + channel.receive()

    channel = loomlet.Channel()
    data = freeze([spawn(body, channel)], wait=True)
    (again,) = thaw(data)
    assert again.state == "blocked"


def test_wait_for_one_that_has_blocked_already():
    task = spawn(lambda: _core._pause())
    loomlet.schedule()
    assert thaw(freeze(task, wait=True)).state == "paused"


def test_waiting_has_a_limit():
    def busy():
        while True:
            loomlet.schedule()

    task = spawn(busy)
    with pytest.raises(TimeoutError), loomlet.timeout(0.01):
        freeze(task, wait=True)
    task.kill()


def test_waiting_for_oneself():
    def body():
        freeze(loomlet.current(), wait=True)

    with pytest.raises(loomlet.FreezeError, match=r"use checkpoint\(\)"):
        spawn(body).result()
