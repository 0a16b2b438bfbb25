"""Pickling of channels, with their waiters, by every protocol and both picklers."""

import pytest

import loomlet
import loomlet.compat.stackless as stackless

pytestmark = pytest.mark.usefixtures("soft")
log = []


@pytest.fixture(autouse=True)
def nothing_logged():
    log.clear()


def test_a_channel(through):
    """Spec 8, pickling channels: with its settings; the same one in two places stays one."""
    ch = stackless.channel()
    ch.preference, ch.schedule_all = 1, 1
    for one, other in through([ch, ch]):
        assert one is other
        assert one is not ch
        assert (type(one), one.preference, one.schedule_all) == (stackless.channel, 1, 1)


def test_a_closed_channel(through):
    """Spec 4, channel.__reduce__: closed stays closed."""
    ch = stackless.channel()
    ch.close()
    for loaded in through(ch):
        assert (loaded.closing, loaded.closed) == (True, True)


def test_the_state():
    """Spec 4, channel.__reduce__: (type, (), (balance, flags, tasklets))."""
    ch = stackless.channel()
    assert ch.__reduce__() == (stackless.channel, (), (0, 0b110, []))
    tasks = [stackless.tasklet(ch.send)(n) for n in range(2)]
    stackless.run()
    ch.preference = 1
    assert ch.__reduce__() == (stackless.channel, (), (2, 0b010, tasks))
    for task in tasks:
        task.kill()


def receives(ch, name):
    value = ch.receive()
    log.append((name, value))


def sends(ch, value):
    ch.send(value)
    log.append(value)


def test_receivers(through):
    """Spec 8, pickling channels: waiting tasklets are pickled with it, blocked, in their order."""
    ch = stackless.channel()
    tasks = [stackless.tasklet(receives)(ch, name) for name in "abc"]
    stackless.run()
    for loaded in through(ch):
        assert (loaded.balance, loaded.queue.blocked, loaded.queue._channel) == (-3, True, loaded)
        for n in range(3):
            loaded.send(n)
        stackless.run()
        assert (log, loaded.balance) == ([("a", 0), ("b", 1), ("c", 2)], 0)
        log.clear()
    assert (ch.balance, ch.queue) == (-3, tasks[0])
    for task in tasks:
        task.kill()


def test_senders(through):
    """Spec 8, pickling channels: senders with what they send."""
    ch = stackless.channel()
    tasks = [stackless.tasklet(sends)(ch, [value]) for value in "ab"]
    stackless.run()
    for loaded in through(ch):
        assert [loaded.receive(), loaded.receive()] == [["a"], ["b"]]
        stackless.run()
        assert log == [["a"], ["b"]]
        log.clear()
    for task in tasks:
        task.kill()


def test_iterators(through):
    """Spec 8, pickling channels: a tasklet in a `for` over the channel ends with it."""

    def iterates(ch):
        log.extend(ch)
        log.append("end")

    ch = stackless.channel()
    task = stackless.tasklet(iterates)(ch)
    stackless.run()
    task.kill()

    def loops(ch):
        for value in ch:
            log.append(value)
        log.append("end")

    task = stackless.tasklet(loops)(ch)
    stackless.run()
    for loaded in through(ch):
        log.clear()
        loaded.send(1)
        loaded.send_exception(StopIteration)
        stackless.run()
        assert log == [1, "end"]
    task.kill()


def test_a_channel_inside_its_waiting_tasklet(through):
    """Spec 8, pickling tasklets: a tasklet pickled first, with its channel, waits there again, in
    front of the waiters behind it, and behind those in front of it."""
    ch = stackless.channel()
    first, second, third = (stackless.tasklet(receives)(ch, name) for name in "abc")
    stackless.run()
    for task in (first, second, third):
        for loaded in through(task):
            inner = loaded.frame.f_locals["ch"]
            assert (loaded.blocked, inner.balance) == (True, -3)
            for number in range(3):
                inner.send(number)
            stackless.run()
            assert log == [("a", 0), ("b", 1), ("c", 2)]
            log.clear()
    for task in (first, second, third):
        task.kill()


def test_the_main_tasklet_stays(through):
    """Spec 8, pickling channels: the main tasklet of a thread is not part of a pickle."""
    ch, found = stackless.channel(), []

    def saves():
        found.extend(through(ch))
        ch.send("done")

    stackless.tasklet(saves)()
    assert ch.receive() == "done"
    stackless.run()
    assert [loaded.balance for loaded in found] == [0, 0]


def receives_below_c(ch):
    return max([1], key=lambda n: ch.receive())


def sends_below_c(ch):
    return max([1], key=ch.send)


@pytest.mark.parametrize(("function", "balance"), [(receives_below_c, -1), (sends_below_c, 1)])
def test_a_tasklet_held_by_a_c_function(function, balance, through):
    """Spec 8, pickling channels: it waits again, and fails when its turn comes."""
    ch = stackless.channel()
    task = stackless.tasklet(function)(ch)
    stackless.run()
    for loaded in through(ch):
        assert (loaded.balance, loaded.queue.blocked) == (balance, True)
        waiting = loaded.queue
        with pytest.raises(RuntimeError, match="built-in function max"):
            if balance < 0:
                loaded.send(2)
            else:
                assert loaded.receive() == 1
                stackless.run()
        assert (waiting.alive, loaded.balance) == (False, 0)
    task.kill()


class Numbered(stackless.channel):
    """With an attribute."""


def test_a_subclass(through):
    """Spec 4, channel.__reduce__: attributes come along."""
    ch = Numbered()
    ch.number = [3]
    for loaded in through(ch):
        assert (type(loaded), loaded.number) == (Numbered, [3])


@pytest.mark.parametrize(
    "state",
    [
        None,
        (),
        (0, 0),
        (0, 6, [5]),
        (0, "6", []),
        (0, 6, stackless.channel()),
        (0, 6, [], "unusual"),
        (0, 6, [], {"values": 5}),
        (1 << 200, 1 << 200, [], {"attributes": 5}),
    ],
)
def test_a_wrong_state(state):
    """Spec 4, channel.__setstate__: what __reduce__ does not make is refused."""
    with pytest.raises(loomlet.ThawError):
        stackless.channel().__setstate__(state)
