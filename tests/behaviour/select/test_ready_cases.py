"""select() performs a case at once if one is ready."""

import pytest

import loomlet
from loomlet import Channel


def test_a_buffered_value(mode):
    """A case whose channel has a value is done; the others are left alone."""
    empty, full = Channel(), Channel(1)
    full.send("value")
    assert loomlet.select([empty, full]) == (1, "value")
    assert (empty.balance, len(full)) == (0, 0)


def test_a_waiting_sender(mode):
    """A case whose channel has a waiting sender receives from it."""
    a, b = Channel(), Channel()
    task = loomlet.spawn(b.send, "value")
    loomlet.schedule()
    assert loomlet.select([a, b]) == (1, "value")
    assert task.result() is None


def test_a_waiting_receiver(mode):
    """A send case whose channel has a waiting receiver sends to it; the value is None."""
    a, b = Channel(), Channel()
    task = loomlet.spawn(b.receive)
    loomlet.schedule()
    assert loomlet.select([(a, 1), (b, 2)]) == (1, None)
    assert task.result() == 2
    assert a.balance == 0


def test_room_in_a_buffer(mode):
    """A send case whose channel has room puts its value there."""
    full, room = Channel(1), Channel(1)
    full.send(0)
    assert loomlet.select([(full, 1), (room, 2)]) == (1, None)
    assert (len(full), room.receive()) == (1, 2)


def test_a_tuple_of_cases(mode):
    """Cases may come as list, tuple or any iterable."""
    ch = Channel(3)
    for n in range(3):
        ch.send(n)
    assert loomlet.select((ch,)) == (0, 0)
    assert loomlet.select([ch]) == (0, 1)
    assert loomlet.select(iter([ch])) == (0, 2)


def test_only_one_case_is_done(mode):
    """When several cases are possible, exactly one of them is performed."""
    a, b = Channel(1), Channel(1)
    a.send(1)
    index, _ = loomlet.select([a, (b, 2)])
    assert (len(a), len(b)) == ((0, 0) if index == 0 else (1, 1))


@pytest.mark.parametrize("wrong", [[], ()])
def test_no_case(wrong):
    """select() of nothing could never return: ValueError."""
    with pytest.raises(ValueError, match="at least one case"):
        loomlet.select(wrong)


@pytest.mark.parametrize("wrong", [[1], [(Channel(),)], [(Channel(), 1, 2)], [("ch", 1)], 3, None])
def test_an_invalid_case(wrong):
    """Anything but a Channel or (Channel, value) is a TypeError."""
    with pytest.raises(TypeError):
        loomlet.select(wrong)
