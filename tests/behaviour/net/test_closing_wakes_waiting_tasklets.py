"""Closing wakes waiters with a clear error, and a closed stream stays closed."""

import errno
import os

import pytest

import loomlet
from loomlet import net


@pytest.mark.parametrize(
    "wait",
    [
        lambda stream: stream.receive_some(),
        lambda stream: stream.receive_exactly(5),
        lambda stream: stream.receive_into(bytearray(5)),
        lambda stream: stream.wait_readable(),
    ],
)
def test_a_reader_gets_an_error(mode, streams, wait):
    """Whatever it reads with; the error names the stream and is an OSError."""
    one, _ = streams
    task = loomlet.spawn(wait, one)
    loomlet.schedule()
    assert task.state == "blocked"
    one.close()
    with pytest.raises(net.DescriptorClosed, match=r"<.*Stream.*> was closed, before"):
        task.result()
    error = task._failure
    assert isinstance(error, OSError)
    assert error.errno == errno.EBADF


def test_a_writer_gets_an_error(mode, streams, fill):
    """A tasklet that waits for room in the send buffer gets it."""
    one, _ = streams
    fill(one)
    task = loomlet.spawn(one.send_all, bytes(1000))
    loomlet.schedule()
    one.close()
    with pytest.raises(net.DescriptorClosed):
        task.result()


def test_all_waiting_tasklets_are_woken(mode, pair, fill, caught):
    """Readers and writers."""
    one, _ = pair
    fill(one)
    tasks = [caught(one.receive_some) for _ in range(5)]
    tasks += [caught(one.send_all, bytes(1000)) for _ in range(5)]
    loomlet.schedule()
    one.close()
    assert {type(task.result()) for task in tasks} == {net.DescriptorClosed}


def test_an_iteration_ends(mode, streams, listener):
    """A loop over a stream or a listener is over, without an error."""
    one, _ = streams
    tasks = [loomlet.spawn(list, one), loomlet.spawn(lambda: [n for n in listener])]
    loomlet.schedule()
    one.close()
    listener.close()
    assert [task.result() for task in tasks] == [[], []]
    assert list(one) == list(listener) == []


def test_an_acceptor_gets_an_error(mode, listener):
    """accept() cannot return anything."""
    task = loomlet.spawn(listener.accept)
    loomlet.schedule()
    listener.close()
    with pytest.raises(net.DescriptorClosed):
        task.result()


def test_a_closed_stream_stays_closed(pair):
    """Every operation says so; closing again does nothing."""
    one, _ = pair
    assert not one.closed
    one.close()
    one.close()
    assert one.closed
    for call in (one.receive_some, one.send_eof, one.fileno, one.detach, one.wait_writable):
        with pytest.raises(net.DescriptorClosed):
            call()
    with pytest.raises(net.DescriptorClosed):
        one.send_all(b"x")
    assert repr(one) == "<Stream closed>"


def test_detach_gives_the_number_away(mode, pair):
    """A waiting tasklet is woken; the descriptor stays open for its new owner."""
    one, other = pair
    task = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    fd = one.detach()
    with pytest.raises(net.DescriptorClosed):
        task.result()
    with net.Stream(fd) as again:
        other.send_all(b"hello")
        assert again.receive_some() == b"hello"


def test_data_that_had_arrived_are_kept(mode, pair):
    """A tasklet that was woken before the close has its data."""
    one, other = pair
    task = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    other.send_all(b"data")
    loomlet.sleep(0.001)
    one.close()
    assert task.result() == b"data"


def test_an_invalid_descriptor_number(pair):
    """A stream of something that is not open is an error at once."""
    fd = pair[0].detach()
    os.close(fd)
    for number in (fd, -1, 2**40):
        with pytest.raises(OSError, match="Bad file descriptor"):
            net.Stream(number)
    with pytest.raises(TypeError):
        net.Stream("x")
