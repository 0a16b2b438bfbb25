"""Neither objects nor memory stay behind, however a wait ends."""

import select
import socket

import loomlet
from loomlet.testing import assert_no_leaks


def rounds(pair):
    """Waits of every kind: satisfied, timed out, killed, closed."""
    one, other = pair
    for _ in range(300):
        task = loomlet.spawn(one.recv, 10)
        late = loomlet.spawn(try_late, other)
        killed = loomlet.spawn(one.recvfrom, 10)
        choosing = loomlet.spawn(select.select, [other], [], [], 0.001)
        loomlet.schedule()
        killed.kill()
        other.sendall(b"x")
        task.join()
        late.join()
        choosing.join()


def try_late(one):
    """A wait that its own timeout ends."""
    again = one.dup()
    again.settimeout(0.0001)
    try:
        again.recvmsg(1)
    except TimeoutError:
        pass
    again.close()


def closed():
    """Waits that end with their socket."""

    def wait(one):
        try:
            one.recv(1)
        except OSError:
            pass

    for _ in range(300):
        one, other = socket.socketpair()
        task = loomlet.spawn(wait, one)
        loomlet.schedule()
        one.close()
        other.close()
        task.join()


def test_nothing_is_left(sockets):
    """After hundreds of each."""
    rounds(sockets)
    closed()
    with assert_no_leaks():
        rounds(sockets)
        closed()
