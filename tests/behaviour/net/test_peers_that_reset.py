"""A peer that is gone is an OSError of the kind that Python has for it."""

import socket
import struct

import pytest

import loomlet
from loomlet import net


def reset(stream):
    """Closes it so that the peer is notified of a failure, not of an end."""
    with socket.socket(fileno=stream.detach()) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_a_reader_gets_connection_reset(mode, tcp):
    """While it waits."""
    one, other = tcp
    task = loomlet.spawn(other.receive_some)
    loomlet.schedule()
    reset(one)
    with pytest.raises(ConnectionResetError):
        task.result()


def test_a_sender_gets_an_error(mode, tcp, fill):
    """While it waits for the peer to take more."""
    one, other = tcp
    fill(other)
    task = loomlet.spawn(other.send_all, bytes(1000))
    loomlet.schedule()
    assert task.state == "blocked"
    reset(one)
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        task.result()


def test_both_directions_get_the_error(mode, tcp, fill, caught):
    """A reader and a writer who wait at once; one of them gets the reset, both an end."""
    one, other = tcp
    fill(other)
    tasks = [caught(other.send_all, bytes(1000)), caught(other.receive_some)]
    loomlet.schedule()
    reset(one)
    ends = {type(task.result()) for task in tasks}
    assert ConnectionResetError in ends
    assert ends <= {ConnectionResetError, BrokenPipeError, type(None)}


def test_sending_to_a_peer_that_has_closed_is_no_signal(mode, pair):
    """SIGPIPE does not end the process, whatever is set."""
    one, other = pair
    other.close()
    with pytest.raises(BrokenPipeError):
        one.send_all(b"x")


def test_a_connection_that_is_refused(mode):
    """connect raises what the system says."""
    with net.listen(("127.0.0.1", 0)) as listener:
        address = listener.local
    with pytest.raises(ConnectionRefusedError):
        net.connect(address)
