"""send_file: the bytes of a file go over as they are, however slow the peer is."""

import os
import socket
import threading

import pytest

import loomlet
from loomlet import _core, net

BIG = 5_000_000  # more than the buffers of a connection hold
CONTENT = b"".join(b"%09d\n" % n for n in range(0, BIG, 10))


@pytest.fixture
def path(tmp_path):
    """A file in which each piece is unlike the others."""
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def file(path):
    """The same, open."""
    with open(path, "rb") as file:
        yield file


def read_all(stream, pause=0):
    """What comes until the end; slowly, with a pause before each piece."""
    got = bytearray()
    for data in stream:
        got += data
        if pause:
            loomlet.sleep(pause)
    return bytes(got)


def test_a_large_file_to_a_slow_peer(mode, streams, file, path):
    """All of it, in order; the file's position stays."""
    one, other = streams
    reader = loomlet.spawn(read_all, other, 0.0005)
    file.seek(7)
    assert loomlet.spawn(one.send_file, file).result() == BIG
    one.close()
    assert reader.result() == path.read_bytes()
    assert file.tell() == 7


@pytest.mark.parametrize(
    "part, sent",
    [
        ((0, None), BIG),
        ((0, 10), 10),
        ((20, 15), 15),
        ((BIG - 5, None), 5),
        ((BIG - 5, 100), 5),
        ((BIG, None), 0),
        ((BIG + 5, None), 0),
        ((1 << 40, None), 0),
        ((5, 0), 0),
        ((11, BIG - 50), BIG - 50),
    ],
)
def test_a_part_of_a_file(streams, file, path, part, sent):
    """From a place on, and as much as is there."""
    one, other = streams
    reader = loomlet.spawn(read_all, other)
    assert one.send_file(file, *part) == sent
    one.close()
    assert reader.result() == path.read_bytes()[part[0] : part[0] + sent]


def test_arguments_by_name_and_by_number(streams, file, path):
    """The descriptor number does as well."""
    one, other = streams
    assert one.send_file(file=file.fileno(), count=3, offset=2) == 3
    assert other.receive_exactly(3) == path.read_bytes()[2:5]


@pytest.mark.parametrize(
    "args, error, text",
    [
        ((), TypeError, "missing required argument 'file'"),
        (("name",), TypeError, "argument must be an int, or have a fileno"),
        ((0, -1), ValueError, "expected an offset of at least 0, found -1"),
        ((0, 0, -1), ValueError, "expected a count of at least 0, found -1"),
        ((0, "x"), TypeError, "integer"),
        ((1 << 20,), OSError, "Bad file descriptor"),
    ],
)
def test_an_object_that_is_not_a_file(pair, args, error, text):
    """Refused before anything is sent."""
    with pytest.raises(error, match=text):
        pair[0].send_file(*args)


def test_a_file_that_cannot_be_read(pair, tmp_path):
    """The system's own error."""
    read, write = os.pipe()
    with open(read, "rb"), open(write, "wb"), open(read, "rb", closefd=False) as pipe:
        with pytest.raises(OSError, match="Illegal seek"):
            pair[0].send_file(pipe)
    with open(tmp_path / "new", "wb") as file, pytest.raises(OSError, match="Bad file"):
        pair[0].send_file(file)


def test_waiting_is_soft_and_visible(switches, streams, fill, file):
    """It waits to write, as send_all does."""
    one, _ = streams
    fill(one)
    for call in (lambda: one.send_file(file), lambda: one.send_file(file, count=5)):
        task = loomlet.spawn(call)
        switches.take()
        loomlet.schedule()
        assert switches.take() == (1, 0)
        assert (task.waiting_in, task.waiting_for) == ("write", one)
        task.kill()


def test_it_is_mixed_with_nothing(mode, streams, file, path):
    """Of several that send each goes out in one piece, in the order of the calls."""
    one, other = streams
    reader = loomlet.spawn(read_all, other)
    head, tail = b"h" * 1_000_000, b"t" * 1_000_000
    tasks = [
        loomlet.spawn(one.send_all, head),
        loomlet.spawn(one.send_file, file),
        loomlet.spawn(one.send_all, tail),
        loomlet.spawn(one.send_file, file, 10, 20),
    ]
    for task in tasks:
        task.join()
    one.close()
    whole = path.read_bytes()
    assert reader.result() == head + whole + tail + whole[10:30]


def test_a_file_that_shrinks_meanwhile(streams, file, path, fill):
    """The remaining bytes are sent; the result says how many.  Only the filler contains zeros."""
    one, other = streams
    fill(one)
    start = path.read_bytes()[:1000]
    task = loomlet.spawn(one.send_file, file, 0, BIG)
    loomlet.schedule()
    os.truncate(path, 1000)
    reader = loomlet.spawn(read_all, other)
    sent = task.result()
    one.close()
    got = reader.result().lstrip(b"\0")
    assert len(got) == sent < BIG
    assert got[:1000] == start


def test_a_file_that_is_closed_meanwhile(streams, path, fill):
    """The same file is sent on, whatever gets its number."""
    one, other = streams
    fill(one)
    with open(path, "rb") as file:
        task = loomlet.spawn(one.send_file, file)
        loomlet.schedule()
    with open(os.devnull, "rb"):
        reader = loomlet.spawn(read_all, other)
        assert task.result() == BIG
        one.close()
        assert reader.result().lstrip(b"\0") == path.read_bytes()


@pytest.mark.parametrize("end", ["kill", "timeout", "close", "peer"])
def test_it_can_be_ended(streams, file, fill, end, caught):
    """The copy of the file's descriptor goes too: the fixture counts."""
    one, other = streams
    fill(one)

    def send():
        with loomlet.timeout(0.01 if end == "timeout" else None):
            one.send_file(file)

    task = caught(send)
    loomlet.schedule()
    assert task.state == "blocked"
    if end == "kill":
        task.kill()
    elif end == "close":
        one.close()
    elif end == "peer":
        other.close()
    task.join()
    expected = {
        "kill": loomlet.TaskletExit,
        "timeout": TimeoutError,
        "close": net.DescriptorClosed,
        "peer": ConnectionError,
    }
    assert isinstance(task.result(), expected[end])


def test_where_the_system_does_not_copy(tmp_path, file, path):
    """Bytes are read and sent instead: to a file that is written at its end only."""
    target = tmp_path / "target"
    with net.Stream(os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT)) as stream:
        with pytest.raises(OSError, match="Invalid argument"):
            os.sendfile(stream.fileno(), file.fileno(), 0, 10)
        assert stream.send_file(file, 5) == BIG - 5
    assert target.read_bytes() == path.read_bytes()[5:]


def test_to_a_pipe(mode, file, path):
    """A stream of any kind."""
    read, write = (net.Stream(fd) for fd in os.pipe())
    with read, write:
        reader = loomlet.spawn(read_all, read)
        assert write.send_file(file) == BIG
        write.close()
        assert reader.result() == path.read_bytes()


def test_to_a_thread_that_reads_as_it_likes(file, path):
    """A plain socket in another thread."""
    one, other = socket.socketpair()
    got = []

    def read():
        with other, other.makefile("rb") as stream:
            got.append(stream.read())

    thread = threading.Thread(target=read)
    thread.start()
    with net.Stream(one.detach()) as stream:
        assert stream.send_file(file) == BIG
    thread.join()
    assert got == [path.read_bytes()]


@pytest.mark.parametrize("count", range(1, 5))
def test_without_memory_nothing_is_left_open(streams, fill, file, count):
    """MemoryError, or it waits; the fixture counts descriptors."""
    one, _ = streams
    fill(one)
    _core._fail_allocation(count)
    try:
        with pytest.raises((MemoryError, TimeoutError)), loomlet.timeout(0.001):
            one.send_file(file)
    finally:
        _core._fail_allocation(0)
