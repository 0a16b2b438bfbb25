"""A descriptor number that is used again is not confused with what it was before."""

import os

import loomlet
from loomlet import net


def numbered(number):
    """A pair of streams whose first one has that descriptor number."""
    one, other = net.pair()
    fd = one.detach()
    if fd != number:
        os.dup2(fd, number, inheritable=False)
        os.close(fd)
    return net.Stream(number), other


def test_the_next_user_of_a_number_gets_its_own_events(mode, pair):
    """Registered anew: data wake the waiter of the new stream."""
    number = pair[0].detach()
    for n in range(20):
        one, other = numbered(number)
        task = loomlet.spawn(one.receive_some)
        loomlet.schedule()
        other.send_all(b"%d" % n)
        assert task.result() == b"%d" % n
        one.close()
        other.close()


def test_an_event_of_the_old_use_wakes_no_tasklet(mode):
    """The old socket lives on in another descriptor, so the system still reports its events."""
    one, other = net.pair()
    old = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    number, copy = one.fileno(), os.dup(one.fileno())
    old.kill()
    one.close()
    new, peer = numbered(number)
    task = loomlet.spawn(new.receive_some)
    loomlet.schedule()
    other.send_all(b"for the old one")
    for _ in range(200):
        loomlet.schedule()
    assert task.state == "blocked"
    peer.send_all(b"for the new one")
    assert task.result() == b"for the new one"
    os.close(copy)
    for stream in (new, peer, other):
        stream.close()


def test_a_number_closed_by_other_code_is_registered_again(mode):
    """os.close() bypasses loomlet, but the next stream with that number is registered anew."""
    one, other = net.pair()
    number = one.fileno()
    task = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    task.kill()
    os.close(number)
    new, peer = numbered(number)
    task = loomlet.spawn(new.receive_some)
    loomlet.schedule()
    peer.send_all(b"new")
    assert task.result() == b"new"
    one.detach()
    for stream in (new, peer, other):
        stream.close()
