"""os.read, readv, write and writev let other tasklets run when a descriptor is not ready."""

import errno
import os
import pty
import select
import socket
import threading
import tty
from collections.abc import Iterator

import pytest
from helpers_ending_waits import end_each_way
from helpers_original_errors import errors_of

import loomlet
from loomlet.testing import assert_no_leaks

Ends = tuple[int, int]
MUCH = 1_000_000  # more than any of them takes at once


def read_into(fd):
    """What readv() has read."""
    into = bytearray(100)
    return bytes(into[: os.readv(fd, [into])])


READS = {"read": lambda fd: os.read(fd, 100), "readv": read_into}
WRITES = {
    "write": os.write,
    "writev": lambda fd, data: os.writev(fd, [data[:10], b"", data[10:]]),
}


def terminal() -> Ends:
    """The two sides of a terminal that passes on what it gets."""
    mine, theirs = pty.openpty()
    tty.setraw(theirs)
    return mine, theirs


def pair() -> Ends:
    """Two connected sockets."""
    one, other = socket.socketpair()
    return one.detach(), other.detach()


KINDS = {"pipe": os.pipe, "sockets": pair, "terminal": terminal}


def close_both(*ends: int) -> None:
    """Closes what the test has not closed."""
    for fd in ends:
        try:
            os.close(fd)
        except OSError as error:
            assert error.errno == errno.EBADF


@pytest.fixture(params=KINDS)
def ends(request) -> Iterator[Ends]:
    """Where to read from and where to write to."""
    reading, writing = KINDS[request.param]()
    yield reading, writing
    close_both(reading, writing)


@pytest.fixture(params=["pipe", "sockets"])
def pieces(request) -> Iterator[Ends]:
    """Those that are written in pieces."""
    reading, writing = KINDS[request.param]()
    yield reading, writing
    os.close(reading), os.close(writing)


@pytest.fixture
def pipe() -> Iterator[Ends]:
    """The two ends of a pipe, which a test may close."""
    reading, writing = os.pipe()
    yield reading, writing
    close_both(reading, writing)


@pytest.fixture(params=READS)
def read(request):
    """Each way to read up to 100 bytes."""
    return READS[request.param]


@pytest.fixture(params=WRITES)
def write(request):
    """Each way to write."""
    return WRITES[request.param]


def read_all(fd, count):
    """So many bytes."""
    parts = []
    while count:
        parts.append(os.read(fd, min(count, 65536)))
        count -= len(parts[-1])
    return b"".join(parts)


def test_a_reader_waits(mode, ends, read):
    """Until something comes."""
    reading, writing = ends
    task = loomlet.spawn(read, reading)
    loomlet.schedule()
    assert task.waiting_in == "read"
    os.write(writing, b"hello")
    assert task.result() == b"hello"


def test_available_data_are_read_at_once(ends, read):
    """No other tasklet runs."""
    reading, writing = ends
    os.write(writing, b"hello")
    while not select_ready(reading):
        pass
    task = loomlet.spawn(read, reading)
    loomlet.schedule()
    assert task.state == "done"
    assert task.result() == b"hello"


def select_ready(fd):
    """Whether there is something by now: a terminal takes its time."""
    return select.select([fd], [], [], 0)[0]


def test_a_writer_waits_until_all_is_written(mode, pieces, write):
    """The number is that of all bytes, and they come in order."""
    reading, writing = pieces
    data = os.urandom(MUCH)
    task = loomlet.spawn(write, writing, data)
    loomlet.schedule()
    assert task.waiting_in == "write"
    assert read_all(reading, MUCH) == data
    assert task.result() == MUCH


def test_any_buffer_can_be_written(pipe):
    """Bytes, bytearrays, views, arrays."""
    reading, writing = pipe
    for data in (b"abc", bytearray(b"abc"), memoryview(b"xabc")[1:]):
        assert loomlet.spawn(os.write, writing, data).result() == 3
        assert os.read(reading, 10) == b"abc"


def test_many_pipes_at_once(busy):
    """Each tasklet passes on what it gets."""
    pipes = [os.pipe() for _ in range(100)]

    def pass_on(reading, writing):
        os.write(writing, os.read(reading, 1))

    outs = [writing for _, writing in pipes[1:]]
    tasks = [loomlet.spawn(pass_on, r, w) for (r, _), w in zip(pipes, outs, strict=False)]
    loomlet.schedule()
    os.write(pipes[0][1], b"x")
    assert loomlet.spawn(os.read, pipes[-1][0], 1).result() == b"x"
    for task in tasks:
        task.join()
    for ends in pipes:
        os.close(ends[0]), os.close(ends[1])


def test_the_end_of_file_is_seen(pipe, caught, read, write):
    """b'' to a reader, EPIPE to a writer."""
    reading, writing = pipe
    task = loomlet.spawn(read, reading)
    loomlet.schedule()
    os.close(writing)
    assert task.result() == b""
    os.close(reading)
    again = os.pipe()
    task = caught(write, again[1], bytes(MUCH))
    loomlet.schedule()
    os.close(again[0])
    error = task.result()
    assert error is None or isinstance(error, BrokenPipeError)  # some bytes were written before
    with pytest.raises(BrokenPipeError):
        write(again[1], b"x" * 20)
    os.close(again[1])


def test_a_nonblocking_descriptor_never_waits(pipe, caught, read):
    """BlockingIOError, and a short count."""
    reading, writing = pipe
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    error = caught(read, reading).result()
    assert isinstance(error, BlockingIOError)
    written = loomlet.spawn(os.write, writing, bytes(MUCH)).result()
    assert 0 < written < MUCH
    assert isinstance(caught(os.write, writing, b"x").result(), BlockingIOError)


def test_nothing_is_no_reason_to_wait(pipe):
    """Reading or writing no bytes."""
    reading, writing = pipe
    for call, answer in [
        (lambda: os.read(reading, 0), b""),
        (lambda: os.write(writing, b""), 0),
    ]:
        task = loomlet.spawn(call)
        loomlet.schedule()
        assert task.state == "done"
        assert task.result() == answer


def test_regular_files_never_wait(tmp_path, busy):
    """They are always ready: no other tasklet runs."""

    def body():
        fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
        before = busy[0]
        assert os.write(fd, bytes(MUCH)) == MUCH
        assert os.writev(fd, [b"abc", b"def"]) == 6
        os.lseek(fd, -3, os.SEEK_END)
        assert os.read(fd, 10) == b"def"
        assert os.read(fd, 10) == b""
        assert busy[0] == before
        os.close(fd)

    loomlet.spawn(body).result()


WRONG = {
    "no descriptor": lambda: os.read(9999, 1),
    "below zero": lambda: os.read(-1, 1),
    "too large": lambda: os.read(1 << 40, 1),
    "a text": lambda: os.read("1", 1),
    "a negative size": lambda: os.read(0, -1),
    "no size": lambda: os.read(0),
    "a text to write": lambda: os.write(1, "text"),
    "no descriptor to write": lambda: os.write(9999, b"x"),
    "no buffers": lambda: os.writev(1, 5),
    "texts": lambda: os.writev(1, ["text"]),
    "an end that only reads": lambda: write_to_wrong_end(),
    "an end that only writes": lambda: read_from_wrong_end(),
    "a closed one": lambda: os.close(9999),
    "nothing to close": lambda: os.close(),
}


def write_to_wrong_end():
    """EBADF."""
    reading, writing = os.pipe()
    try:
        os.write(reading, b"x")
    finally:
        os.close(reading), os.close(writing)


def read_from_wrong_end():
    """EBADF."""
    reading, writing = os.pipe()
    try:
        os.read(writing, 1)
    finally:
        os.close(reading), os.close(writing)


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_errors_are_those_of_the_original(call):
    """Type, number and text."""
    stock, ours = errors_of(call)
    assert str(ours) == str(stock)


def test_a_read_can_be_ended(mode, ends, read, caught):
    """By a kill, a throw or a timeout; data that arrive afterwards go to the next reader."""
    reading, writing = ends
    end_each_way(caught, read, reading)
    os.write(writing, b"hello")
    assert loomlet.spawn(read, reading).result() == b"hello"


def test_a_write_can_be_ended(mode, pipe, write, caught):
    """What was written by then stays written."""
    reading, writing = pipe
    task = caught(write, writing, bytes(MUCH))
    loomlet.schedule()
    task.kill()
    assert task.state == "done"
    os.close(writing)
    assert 0 < len(open(reading, "rb", closefd=False).read()) < MUCH


def test_in_a_cancelled_scope_only_a_wait_raises(pipe, read):
    """What needs no wait is done: a clean-up can write its log."""
    reading, writing = pipe

    def body():
        with loomlet.CancelScope() as scope:
            scope.cancel()
            os.write(writing, b"x")
            assert read(reading) == b"x"
            read(reading)
        return scope.cancelled_caught

    assert loomlet.spawn(body).result() is True


def test_a_close_by_another_tasklet_is_an_error(mode, ends, caught, read):
    """EBADF, to readers and to writers, also when the number is used again at once."""
    reading, writing = ends
    tasks = [caught(read, reading), caught(read, reading)]
    loomlet.schedule()
    os.close(reading)
    again = os.dup(writing)
    assert [task.result().errno for task in tasks] == [errno.EBADF] * 2
    os.close(again)


def test_a_close_while_a_tasklet_writes(pipe, caught, write):
    """The same for a writer; some bytes may have been written."""
    _, writing = pipe
    task = caught(write, writing, bytes(MUCH))
    loomlet.schedule()
    os.close(writing)
    error = task.result()
    assert isinstance(error, OSError)
    assert error.errno == errno.EBADF


def test_a_socket_whose_number_is_closed(caught):
    """Its tasklet gets an error too."""
    one, other = socket.socketpair()
    task = caught(one.recv, 1)
    loomlet.schedule()
    os.close(one.detach())
    assert task.result().errno == errno.EBADF
    other.close()


def test_an_event_descriptor(busy):
    """Whatever can be polled can be waited for."""
    fd = os.eventfd(0)
    task = loomlet.spawn(os.eventfd_read, fd)
    os.eventfd_write(fd, 5)
    assert task.result() == 5
    task = loomlet.spawn(os.read, fd, 8)
    loomlet.schedule()
    assert task.waiting_in == "read"
    os.write(fd, (7).to_bytes(8, "little"))
    assert task.result() == (7).to_bytes(8, "little")
    os.close(fd)


def test_a_thread_without_tasklets_waits_in_the_system(pipe):
    """And gets what a tasklet writes."""
    reading, writing = pipe
    got = []
    thread = threading.Thread(target=lambda: got.append(os.read(reading, 10)))
    thread.start()
    loomlet.spawn(os.write, writing, b"hello").join()
    thread.join()
    assert got == [b"hello"]


def test_nothing_is_left(pipe, caught, read, write):
    """After hundreds of waits, ended in each way."""
    reading, writing = pipe

    def rounds():
        for _ in range(200):
            killed, task = caught(read, reading), loomlet.spawn(read, reading)
            loomlet.schedule()
            killed.kill()
            os.write(writing, b"x")
            task.join()
            writer = loomlet.spawn(write, writing, bytes(100_000))
            assert len(read_all(reading, 100_000)) == 100_000
            writer.join()

    rounds()
    with assert_no_leaks():
        rounds()
