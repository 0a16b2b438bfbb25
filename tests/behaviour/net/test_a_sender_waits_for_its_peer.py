"""A sender waits while its peer does not take the data."""

import loomlet
from loomlet import net


def test_send_waits_until_the_peer_takes_it(mode, streams, fill):
    """The sender stops when the buffers of the system are full and continues as they empty."""
    one, other = streams
    filled = fill(one)
    task = loomlet.spawn(one.send_all, b"the end")
    loomlet.schedule()
    assert (task.state, task.waiting_in, task.waiting_for) == ("blocked", "write", one)
    got = b""
    while not got.endswith(b"the end"):
        got += other.receive_some()
    assert task.result() is None
    assert len(got) >= filled


def test_a_stream_that_is_full_can_be_read(mode, streams, fill):
    """Both directions are apart."""
    one, other = streams
    fill(one)
    sender = loomlet.spawn(one.send_all, b"x" * 100_000)
    loomlet.schedule()
    other.send_all(b"hello")
    assert one.receive_some() == b"hello"
    assert sender.state == "blocked"
    sender.kill()


def test_a_chain_of_streams_passes_everything_on(mode, streams):
    """A relay between a fast sender and a slow receiver holds one piece at a time."""
    one, other = streams
    third, fourth = net.pair()
    message = bytes(1_000_000)

    def relay():
        for data in other:
            third.send_all(data)
        third.send_eof()

    def send():
        one.send_all(message)
        one.send_eof()

    with third, fourth:
        loomlet.spawn(relay)
        loomlet.spawn(send)
        assert sum(len(data) for data in fourth) == len(message)
