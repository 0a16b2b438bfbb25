"""os.sendfile() and socket.sendfile() let other tasklets run while the reader is slow."""

import errno
import os
import socket
import tempfile

import pytest
from helpers_ending_waits import end_each_way

import loomlet

SIZE = 2_000_000  # more than a socket takes at once


@pytest.fixture
def file():
    """A file on disk with content that repeats nowhere."""
    with tempfile.TemporaryFile() as made:
        made.write(os.urandom(SIZE))
        made.seek(0)
        yield made


def content(file, begin=0, end=SIZE):
    return os.pread(file.fileno(), end - begin, begin)


def received(receiver):
    """Everything until the end, read slowly."""
    got = bytearray()
    while data := receiver.recv(65536):
        got += data
        loomlet.schedule()
    return got


def test_a_socket_sends_a_file_to_a_slow_reader(sockets, file, busy):
    """All of it, while others run; the position of the file is behind it."""
    one, other = sockets
    task = loomlet.spawn(received, other)
    assert one.sendfile(file) == SIZE
    one.shutdown(socket.SHUT_WR)
    assert task.result() == content(file)
    assert file.tell() == SIZE
    assert busy[0] > 10


def test_offset_and_count_are_kept(sockets, file):
    """A part of the file."""
    one, other = sockets
    task = loomlet.spawn(received, other)
    assert one.sendfile(file, 10, 1_500_000) == 1_500_000
    one.shutdown(socket.SHUT_WR)
    assert task.result() == content(file, 10, 1_500_010)


@pytest.mark.parametrize("offset", [0, 1000, None])
def test_one_call_sends_all_that_was_asked_for(sockets, file, offset):
    """As on a socket that blocks; without an offset from the file's position, which moves."""
    one, other = sockets
    file.seek(500)
    begin = 500 if offset is None else offset
    task = loomlet.spawn(received, other)
    assert os.sendfile(one.fileno(), file.fileno(), offset, SIZE * 2) == SIZE - begin
    one.shutdown(socket.SHUT_WR)
    assert task.result() == content(file, begin)
    assert file.tell() == (SIZE if offset is None else 500)
    assert one.getblocking()
    assert os.get_blocking(one.fileno())


def test_arguments_may_be_named(sockets, file):
    """And the end of the file is 0 bytes."""
    one, other = sockets
    assert os.sendfile(out_fd=one.fileno(), in_fd=file.fileno(), offset=5, count=10) == 10
    assert other.recv(100) == content(file, 5, 15)
    assert os.sendfile(one.fileno(), file.fileno(), SIZE, 10) == 0


def test_a_pipe_gets_a_file(file):
    """Not only sockets are slow."""
    source, sink = os.pipe()
    task = loomlet.spawn(os.sendfile, sink, file.fileno(), 0, SIZE)
    got = bytearray()
    while len(got) < SIZE:
        got += os.read(source, 65536)
    assert task.result() == SIZE
    assert got == content(file)
    os.close(source)
    os.close(sink)


def test_a_nonblocking_socket_does_not_wait(sockets, file):
    """It sends a part, then says so."""
    one, _ = sockets
    one.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            assert 0 < os.sendfile(one.fileno(), file.fileno(), 0, SIZE) <= SIZE


def test_a_timeout_ends_a_socket_that_sends(sockets, file):
    """The timeout is the socket's own."""
    one, _ = sockets
    one.settimeout(0.01)
    with pytest.raises(TimeoutError):
        while True:
            one.sendfile(file)
            file.seek(0)


ERRORS = [
    (lambda s, f: os.sendfile(10**6, f, 0, 1), errno.EBADF),
    (lambda s, f: os.sendfile(s, 10**6, 0, 1), errno.EBADF),
    (lambda s, f: os.sendfile(s, s, 0, 1), errno.ESPIPE),
    (lambda s, f: os.sendfile(s, f, -1, 1), errno.EINVAL),
]


@pytest.mark.parametrize(("call", "number"), ERRORS)
def test_errors_are_those_of_the_original(sockets, file, call, number):
    """The system says what is wrong."""
    one, _ = sockets
    with pytest.raises(OSError) as raised:
        call(one.fileno(), file.fileno())
    assert raised.value.errno == number
    with pytest.raises(TypeError):
        os.sendfile(one.fileno())


def test_the_wait_can_be_ended(sockets, file, caught):
    """By a kill, a throw or a timeout; the socket blocks again afterwards."""
    one, _ = sockets

    def fill(fd):
        while True:
            os.sendfile(fd, file.fileno(), 0, SIZE)

    end_each_way(caught, fill, one.fileno())
    assert os.get_blocking(one.fileno())


def test_a_reader_that_goes_is_an_error(sockets, file):
    """What the system says of a broken connection."""
    one, other = sockets
    task = loomlet.spawn(os.sendfile, one.fileno(), file.fileno(), 0, SIZE)
    loomlet.schedule()
    other.close()
    with pytest.raises(OSError):
        while task.result() > 0:
            task = loomlet.spawn(os.sendfile, one.fileno(), file.fileno(), 0, SIZE)
