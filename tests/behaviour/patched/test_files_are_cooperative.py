"""File objects over pipes let other tasklets run, whatever buffers are above them."""

import contextlib
import io
import os
from collections.abc import Iterator

import pytest
from helpers_ending_waits import end_each_way

import loomlet
from loomlet import patch
from loomlet.testing import assert_no_leaks

MUCH = 500_000


@pytest.fixture
def files(request) -> Iterator[tuple[io.FileIO, io.FileIO]]:
    """The two ends of a pipe, without buffers."""
    reading, writing = os.pipe()
    with open(reading, "rb", 0) as one, open(writing, "wb", 0) as other:
        yield one, other


def raw(file):
    """No buffer above the file."""
    return file


def as_text(file):
    """A text file that changes nothing."""
    return io.TextIOWrapper(io.BufferedReader(file), "latin-1", newline="")


def both_ways(file):
    """A pair that reads from the file."""
    return contextlib.closing(io.BufferedRWPair(file, io.BytesIO()))


def into(file):
    """What readinto() reads."""
    data = bytearray(5)
    return bytes(data[: file.readinto(data)])


# The layers above the file, and the call.
READS = {
    "read": (raw, lambda f: f.read(5)),
    "readinto": (raw, into),
    "buffered read": (io.BufferedReader, lambda f: f.read(5)),
    "read1": (io.BufferedReader, lambda f: f.read1(5)),
    "buffered readinto": (io.BufferedReader, into),
    "readline": (io.BufferedReader, lambda f: f.readline()),
    "peek": (io.BufferedReader, lambda f: f.peek()),
    "iteration": (io.BufferedReader, next),
    "text": (as_text, lambda f: f.readline().encode()),
    "both ways": (both_ways, lambda f: f.readline()),
}
TO_THE_END = {
    "read": (raw, lambda f: f.read()),
    "read(-1)": (raw, lambda f: f.read(-1)),
    "read(None)": (raw, lambda f: f.read(None)),
    "readall": (raw, lambda f: f.readall()),
    "buffered": (io.BufferedReader, lambda f: f.read()),
    "text": (as_text, lambda f: f.read().encode("latin-1")),
    "lines": (io.BufferedReader, lambda f: b"".join(f)),
}


def on_a_copy(read):
    """Reads from another descriptor of the same pipe, which is closed afterwards."""
    above, call = read

    def run(file):
        with above(open(os.dup(file.fileno()), "rb", 0)) as reader:
            return call(reader)

    return run


def test_a_close_while_a_tasklet_writes(mode):
    """The writer writes all of it, then the buffer is closed."""
    reading, writing = os.pipe()
    buffer = open(writing, "wb", buffering=100)
    data = b"x" * (1 << 20)
    task, closing = loomlet.spawn(buffer.write, data), loomlet.spawn(buffer.close)
    loomlet.schedule()
    assert not buffer.closed
    with open(reading, "rb") as one:
        assert one.read() == data
    assert task.result() == len(data)
    closing.join()
    with pytest.raises(ValueError, match="write to closed file"):
        buffer.write(data)


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_reader_waits(mode, files, read):
    """Until something comes."""
    one, other = files
    task = loomlet.spawn(on_a_copy(read), one)
    loomlet.schedule()
    assert task.waiting_in == "read"
    other.write(b"abcd\n")
    assert task.result() == b"abcd\n"


@pytest.mark.parametrize("read", TO_THE_END.values(), ids=TO_THE_END.keys())
def test_all_is_read(mode, files, read, busy):
    """Until the last writer has closed its end."""
    one, other = files
    data = os.urandom(MUCH)
    task = loomlet.spawn(on_a_copy(read), one)
    loomlet.schedule()
    assert task.waiting_in == "read"
    writer = loomlet.spawn(other.write, data)
    assert writer.result() == MUCH
    other.close()
    assert task.result() == data


@pytest.mark.parametrize("how", ["raw", "buffered", "text"])
def test_a_writer_waits_until_all_is_written(mode, files, how):
    """In order, and once."""
    one, other = files
    data = bytes(range(256)) * 2000
    file = other
    if how != "raw":
        file = io.BufferedWriter(other)
    if how == "text":
        file = io.TextIOWrapper(file, "latin-1", newline="")
    text = data.decode("latin-1") if how == "text" else data

    def body():
        assert file.write(text) == len(data)
        file.flush()

    task = loomlet.spawn(body)
    loomlet.schedule()
    assert task.waiting_in == "write"
    reader = loomlet.spawn(one.read)
    task.join()
    file.close()
    assert reader.result() == data


def test_prints_into_a_full_pipe(files):
    """Many tasklets that print wait for each other; no line is lost, doubled or torn."""
    one, other = files
    out = io.TextIOWrapper(io.BufferedWriter(other), line_buffering=True)
    line = "x" * 2000

    def say(number):
        for _ in range(5):
            print(f"{number} {line}", file=out)

    tasks = [loomlet.spawn(say, number) for number in range(50)]
    for _ in range(3):
        loomlet.schedule()
    assert len({task.waiting_in for task in tasks} & {"write"}) == 1
    reader = loomlet.spawn(one.read)
    for task in tasks:
        task.result()
    out.close()
    lines = reader.result().decode().splitlines()
    assert sorted(lines) == sorted(f"{number} {line}" for number in range(50) for _ in range(5))


def test_a_killed_writer_leaves_the_buffer_right(files, caught):
    """What it could not write is written by the next flush, once."""
    one, other = files
    out = io.BufferedWriter(other)
    data = os.urandom(MUCH)
    task = caught(lambda: [out.write(data[at : at + 5000]) for at in range(0, MUCH, 5000)])
    loomlet.schedule()
    assert task.waiting_in == "write"
    task.kill()
    reader = loomlet.spawn(one.read)
    loomlet.spawn(out.close).join()
    got = reader.result()
    assert data.startswith(got)


def test_two_readers_of_one_buffer(files):
    """The second waits for its turn."""
    one, other = files
    buffer = io.BufferedReader(one)
    tasks = [loomlet.spawn(buffer.readline) for _ in range(3)]
    loomlet.schedule()
    for line in (b"a\n", b"b\n", b"c\n"):
        other.write(line)
        loomlet.schedule()
    assert sorted(task.result() for task in tasks) == [b"a\n", b"b\n", b"c\n"]
    buffer.detach()


def test_a_call_that_does_not_wait_in_line_raises(files, caught):
    """RuntimeError, as CPython says of reentrant calls; never a deadlock."""
    one, other = files
    buffer = io.BufferedReader(one)
    task = loomlet.spawn(buffer.readline)
    loomlet.schedule()
    error = caught(buffer.peek).result()
    assert isinstance(error, RuntimeError)
    assert "reentrant call" in str(error)
    other.write(b"a\n")
    assert task.result() == b"a\n"
    buffer.detach()


def test_a_close_while_a_tasklet_reads(files, caught):
    """On a FileIO the reader gets an error; a buffer is closed when the reader is done."""
    one, _ = files
    task = caught(one.read, 1)
    loomlet.schedule()
    one.close()
    assert isinstance(task.result(), ValueError)
    reading, writing = os.pipe()
    buffer = open(reading, "rb")
    task, closing = loomlet.spawn(buffer.readline), loomlet.spawn(buffer.close)
    loomlet.schedule()
    assert not buffer.closed
    os.write(writing, b"a\n")
    assert task.result() == b"a\n"
    closing.join()
    assert buffer.closed
    os.close(writing)


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_read_can_be_ended(mode, files, read, caught):
    """By a kill, a throw or a timeout; data that arrive afterwards go to the next reader."""
    one, other = files
    end_each_way(caught, on_a_copy(read), one)
    other.write(b"abcd\n")
    assert loomlet.spawn(on_a_copy(read), one).result() == b"abcd\n"


def test_files_on_disk_never_wait(tmp_path, busy):
    """They are always ready: no other tasklet runs."""

    def body():
        before = busy[0]
        (tmp_path / "file").write_bytes(bytes(MUCH))
        assert (tmp_path / "file").read_bytes() == bytes(MUCH)
        with open(tmp_path / "file", "r+", buffering=1) as file:
            file.write("line\n")
            assert file.read(2) == "\0\0"
        assert busy[0] == before

    loomlet.spawn(body).result()


def test_a_nonblocking_descriptor_never_waits(files):
    """None, and a short count."""
    one, other = files
    os.set_blocking(one.fileno(), False)
    os.set_blocking(other.fileno(), False)
    assert loomlet.spawn(one.read, 5).result() is None
    assert loomlet.spawn(one.read).result() is None
    assert loomlet.spawn(one.readinto, bytearray(5)).result() is None
    assert 0 < loomlet.spawn(other.write, bytes(MUCH)).result() < MUCH
    assert loomlet.spawn(other.write, b"x").result() is None
    assert 0 < len(loomlet.spawn(one.read).result()) < MUCH


WRONG = {
    "reading a writer": lambda one, other: other.read(1),
    "all of a writer": lambda one, other: other.read(),
    "into by a writer": lambda one, other: other.readinto(bytearray(1)),
    "writing a reader": lambda one, other: one.write(b"x"),
    "a text": lambda one, other: other.write("x"),
    "no size": lambda one, other: one.read("1"),
    "too many": lambda one, other: one.read(1, 2),
    "by name": lambda one, other: one.read(size=1),
    "into nothing": lambda one, other: one.readinto(5),
    "too large": lambda one, other: one.read(1 << 70),
    "closed": lambda one, other: (one.close(), one.read(1)),
    "closed all": lambda one, other: (one.close(), one.readall()),
    "closed writer": lambda one, other: (other.close(), other.write(b"x")),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_errors_are_those_of_the_original(files, call):
    """Type and text."""
    reading, writing = os.pipe()
    patch.uninstall()
    with open(reading, "rb", 0) as one, open(writing, "wb", 0) as other:
        with pytest.raises(Exception) as stock:
            call(one, other)
    patch.install()
    with pytest.raises(stock.type) as ours:
        loomlet.spawn(call, *files).result()
    assert str(ours.value) == str(stock.value)


def test_nothing_is_left(files, caught):
    """After waits of each kind, ended in each way."""
    one, other = files
    reader, writer = io.BufferedReader(one), io.BufferedWriter(other)

    def rounds():
        for _ in range(100):
            killed, task = caught(reader.readline), loomlet.spawn(reader.readline)
            loomlet.schedule()
            killed.kill()
            other.write(b"line\n")
            assert task.result() == b"line\n"
            writing = loomlet.spawn(lambda: (writer.write(bytes(100_000)), writer.flush()))
            assert len(reader.read(100_000)) == 100_000
            writing.join()

    rounds()
    with assert_no_leaks():
        rounds()
    reader.detach(), writer.detach()


def test_standard_input_and_output(python):
    """A program that reads lines from a pipe while its tasklets run and print."""
    done = python("""
        import os, subprocess, sys
        import loomlet
        from loomlet import patch
        patch.install()
        reading, writing = os.pipe()
        os.dup2(reading, 0)
        ran = []
        def main():
            task = loomlet.spawn(lambda: [line for line in sys.stdin])
            loomlet.schedule()
            assert task.waiting_in == "read"
            os.write(writing, b"one\\ntwo\\n")
            os.close(writing)
            print(task.result())
        loomlet.run(main)
    """)
    assert (done.stderr, done.stdout) == ("", "['one\\n', 'two\\n']\n")
