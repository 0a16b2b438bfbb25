"""A tasklet thaws as it was frozen: blocked in the same operation, paused, or not begun."""

import uuid

import pytest
from helpers_frozen_tasklets import resumed, waiting

import loomlet
from loomlet import Channel, _core


@pytest.fixture
def name():
    name = f"test-{uuid.uuid4()}"
    yield name
    Channel(name=name).close()


def receives(ch):
    return "got", ch.receive()


def sends(ch, value):
    ch.send(value)
    return "sent"


def iterates(ch):
    return [value for value in ch]


def selects(first, second):
    return loomlet.select([first, (second, "offered")])


def selects_for(ch, seconds):
    try:
        return loomlet.select([ch], timeout=seconds)
    except TimeoutError:
        return "late"


def sleeps(seconds):
    began = loomlet.now()
    loomlet.sleep(seconds)
    return began


def joins(other):
    other.join()


def acquires(lock):
    lock.acquire()
    lock.release()


def again(task):
    """Frozen, ended, thawed."""
    data = loomlet.freeze(task)
    task.kill()
    return loomlet.thaw(data)


def test_in_receive():
    """On a channel that is frozen with it."""
    ch = Channel()
    task = again(waiting(receives, ch))
    assert (task.state, task.waiting_in) == ("blocked", "receive")
    assert task.waiting_for is not ch
    assert resumed(task, 5) == ("got", 5)


def test_in_receive_on_a_named_channel(name):
    """On the channel of that name in the process."""
    ch = Channel(name=name)
    task = again(waiting(receives, ch))
    assert task.waiting_for is ch
    assert ch.balance == -1
    assert resumed(task, 6) == ("got", 6)


def test_a_named_channel_with_a_value(name):
    """A value that is already there is received at once."""
    ch = Channel(2, name=name)
    data = loomlet.freeze(waiting(receives, ch))
    ch.send("first")
    loomlet.schedule()
    ch.send("second")
    task = loomlet.thaw(data)
    assert task.state == "runnable"
    assert task.result() == ("got", "second")


def test_a_named_channel_of_another_capacity(name):
    """Is another channel, and an error."""
    data = loomlet.freeze(waiting(receives, Channel(2, name=name)))
    Channel(name=name).close()
    Channel(3, name=name)
    with pytest.raises(loomlet.ThawError, match="exists with capacity 3"):
        loomlet.thaw(data)


def test_in_send():
    """It offers its value again."""
    value = ["a value"]
    task = again(waiting(sends, Channel(), value))
    assert (task.state, task.waiting_in) == ("blocked", "send")
    assert task.waiting_for.receive() == value
    assert task.result() == "sent"


def test_the_original_still_sends(name):
    """freeze() leaves it as it was: the value is sent twice unless it is killed."""
    ch = Channel(name=name)
    task = waiting(sends, ch, 3)
    copy = loomlet.thaw(loomlet.freeze(task))
    assert [ch.receive(), ch.receive()] == [3, 3]
    assert [task.result(), copy.result()] == ["sent", "sent"]


def test_in_a_loop_over_a_channel():
    """Until the channel is closed."""
    ch = Channel()
    task = waiting(iterates, ch)
    ch.send(1)
    loomlet.schedule()
    task = again(task)
    inner = task.waiting_for
    inner.send(2)
    loomlet.schedule()
    inner.close()
    assert task.result() == [1, 2]


@pytest.mark.parametrize("chosen", [0, 1])
def test_in_select(chosen):
    """On all its channels."""
    task = again(waiting(selects, Channel(), Channel()))
    assert task.waiting_in == "select"
    first, second = task.waiting_for
    if chosen:
        assert second.receive() == "offered"
        assert task.result() == (1, None)
    else:
        first.send("value")
        assert task.result() == (0, "value")
    assert (first.balance, second.balance) == (0, 0)


def test_time_that_is_left(clock):
    """In sleep and in select the remaining seconds are stored."""
    sleeper, chooser = waiting(sleeps, 10), waiting(selects_for, Channel(), 10)
    loomlet.sleep(4)
    copies = [again(sleeper), again(chooser)]
    loomlet.sleep(5.5)
    assert [copy.state for copy in copies] == ["blocked"] * 2
    loomlet.sleep(1)
    assert loomlet.now() == 10.5
    assert [copy.result() for copy in copies] == [0, "late"]


def test_a_runnable_tasklet():
    """Frozen with a value on its way, it thaws paused and gets it after insert()."""
    ch = Channel()
    task = waiting(receives, ch)
    ch.send("on its way")
    task = again(task)
    assert task.state == "paused"
    assert task.insert().result() == ("got", "on its way")


def ends(ch):
    try:
        ch.receive()
    except loomlet.ChannelClosed as error:
        return type(error.channel), error.channel.closed


def test_one_with_an_exception_on_its_way():
    """Frozen when its channel has been closed and before it has run."""
    ch = Channel()
    task = waiting(ends, ch)
    ch.close()
    copy = loomlet.thaw(loomlet.freeze(task)).insert()
    assert task.result() == copy.result() == (Channel, True)


def test_a_paused_tasklet():
    """It stays paused until it is inserted."""

    def body():
        loomlet.schedule()
        return "continued"

    task = again(waiting(body).remove())
    loomlet.schedule()
    assert task.state == "paused"
    assert task.insert().result() == "continued"


def test_a_tasklet_that_has_not_begun():
    """With its arguments."""

    def body(a, *rest, key):
        return a, rest, key

    task = again(loomlet.spawn(body, 1, 2, 3, key="k"))
    assert task.state == "paused"
    assert task.insert().result() == (1, (2, 3), "k")


def test_its_name():
    """A name of its own is kept; else it gets a new one."""
    task = waiting(receives, Channel())
    other = loomlet.thaw(loomlet.freeze(task))
    assert other.name != task.name
    task.name = "collector"
    assert loomlet.thaw(loomlet.freeze(task)).name == "collector"


def test_partners_that_are_left_out():
    """A tasklet that waits for an object of this process only is refused by name."""
    lock = loomlet.Lock()
    lock.acquire()
    other = waiting(receives, Channel())
    for task in (waiting(joins, other), waiting(acquires, lock)):
        with pytest.raises(loomlet.FreezeError, match=r"not frozen with it|cannot be frozen"):
            loomlet.freeze(task)
    lock.release()


def test_the_copy_continues_when_the_original_is_gone():
    """The bytes are enough."""
    data = loomlet.freeze(waiting(receives, Channel()))
    _core.tasklets()[-1].kill()
    assert [resumed(loomlet.thaw(data), n) for n in range(3)] == [("got", n) for n in range(3)]
