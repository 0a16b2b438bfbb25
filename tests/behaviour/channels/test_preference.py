"""preference decides who runs when two partners meet on a channel."""

import pytest

import loomlet
from loomlet import Channel


def meet(preference, first):
    """The order of execution when `first` waits and the other one arrives."""
    ch, log = Channel(), []
    ch.preference = preference

    def sender():
        ch.send("value")
        log.append("sender")

    def receiver():
        ch.receive()
        log.append("receiver")

    bodies = {"sender": sender, "receiver": receiver}
    loomlet.spawn(bodies.pop(first))
    loomlet.spawn(bodies.popitem()[1])
    loomlet.spawn(log.append, "queued")
    for _ in range(4):
        loomlet.schedule()
    return log


@pytest.mark.parametrize(
    ("preference", "first", "order"),
    [
        (0, "receiver", ["sender", "queued", "receiver"]),
        (0, "sender", ["receiver", "queued", "sender"]),
        (-1, "receiver", ["receiver", "sender", "queued"]),
        (-1, "sender", ["receiver", "queued", "sender"]),
        (1, "receiver", ["sender", "queued", "receiver"]),
        (1, "sender", ["sender", "receiver", "queued"]),
    ],
)
def test_the_order_of_execution(preference, first, order, mode):
    """0: the last one continues, its partner to the tail.  -1: receiver first.  1: sender."""
    assert meet(preference, first) == order


def test_the_value_passes_either_way(mode):
    """Whichever side runs first, the receiver gets the value and send() returns None."""
    for preference in (-1, 0, 1):
        for receiver_first in (True, False):
            ch = Channel()
            ch.preference = preference
            calls = [ch.receive, lambda ch=ch: ch.send("value")]
            if not receiver_first:
                calls.reverse()
            tasks = [loomlet.spawn(call) for call in calls]
            results = [task.result() for task in tasks]
            assert results == (["value", None] if receiver_first else [None, "value"])


def test_it_is_a_sign():
    """Any int is accepted and counts as its sign; the default is 0."""
    ch = Channel()
    assert ch.preference == 0
    for given, kept in ((-1, -1), (1, 1), (0, 0), (-7, -1), (7, 1), (10**30, 1), (-(10**30), -1)):
        ch.preference = given
        assert ch.preference == kept
    with pytest.raises(TypeError, match="must be an int"):
        ch.preference = "receiver"


def test_the_main_tasklet_as_partner(mode):
    """The main tasklet is preferred like any other."""
    ch, log = Channel(), []
    ch.preference = -1

    def receiver():
        log.append(ch.receive())

    loomlet.spawn(receiver)
    loomlet.schedule()
    ch.send("value")
    assert log == ["value"]
