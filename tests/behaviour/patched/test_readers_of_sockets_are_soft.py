"""socket.makefile("rb"): whoever waits for what a socket sends keeps no C stack, where nothing has
been read of it yet, and several readers of one file come one after the other.
"""

import gc
import socket
import ssl
import sys
import time
import weakref

import pytest

import loomlet
from loomlet import _core, spawn

soft = pytest.mark.skipif(
    sys.version_info < (3, 12) or not _core._has_gil(), reason="here every such wait is hard"
)
one_by_one = pytest.mark.skipif(not _core._has_gil(), reason="needs a GIL")


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs, theirs.makefile("rb") as file:
        yield ours, file


def pause():
    time.sleep(0.01)  # the reader waits by then, or tries once more later


READS = {
    "readline": lambda file: file.readline(),
    "readline at most": lambda file: file.readline(3),
    "read": lambda file: file.read(3),
    "read1": lambda file: file.read1(3),
    "all at once": lambda file: file.read1(),
}


@pytest.mark.parametrize("read", READS)
def test_what_is_read_is_what_was_sent(read, pair):
    ours, file = pair

    def main():
        reader = spawn(READS[read], file)
        pause()
        ours.sendall(b"ab\n")
        return reader.result()

    assert loomlet.run(main) == b"ab\n"


@soft
@pytest.mark.parametrize("read", READS)
def test_the_wait_keeps_no_stack(read, pair, switches):
    ours, file = pair

    def main():
        reader = spawn(READS[read], file)
        switches.take()
        loomlet.schedule()
        counted = switches.take()
        ours.sendall(b"ab\n")
        reader.join()
        return counted

    soft_ones, hard_ones = loomlet.run(main)
    assert soft_ones > 0
    assert hard_ones == 0


def test_a_line_in_pieces(pair):
    ours, file = pair

    def main():
        lines = spawn(lambda: [*file])
        for part in b"one\ntw", b"o", b"\n", b"thr", b"ee":
            pause()
            ours.sendall(part)
        ours.shutdown(socket.SHUT_WR)
        return lines.result()

    assert loomlet.run(main) == [b"one\n", b"two\n", b"three"]


@one_by_one
def test_several_read_one_file(pair):
    ours, file = pair

    def main():
        readers = [spawn(file.readline) for _ in range(3)]
        pause()
        ours.sendall(b"1\n2\n")
        pause()
        ours.sendall(b"3\n")
        return [each.result() for each in readers]

    assert loomlet.run(main) == [b"1\n", b"2\n", b"3\n"]


def test_the_timeout_of_the_socket():
    ours, theirs = socket.socketpair()
    theirs.settimeout(0.02)

    def read(file):
        with pytest.raises(TimeoutError, match=r"^timed out$"):
            file.readline()
        with pytest.raises(OSError, match="cannot read from timed out object"):
            file.readline()
        return theirs.gettimeout()

    with ours, theirs, theirs.makefile("rb") as file:
        assert loomlet.run(lambda: spawn(read, file).result()) == 0.02


def test_a_socket_that_never_blocks():
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with ours, theirs, theirs.makefile("rb") as file:
        assert loomlet.run(lambda: spawn(file.readline).result()) == b""


@pytest.mark.parametrize("end", ["kill", "scope", "throw"])
def test_the_wait_can_be_ended(end, pair):
    ours, file = pair

    def read():
        try:
            with loomlet.timeout(0.02 if end == "scope" else 60):
                file.readline()
        except BaseException as error:
            return type(error)

    def main():
        reader = spawn(read)
        pause()
        if end == "kill":
            reader.kill()
        elif end == "throw":
            reader.throw(KeyError(1))
        kind = reader.result()
        ours.sendall(b"next\n")
        return kind, file.readline()

    kinds = {"kill": loomlet.TaskletExit, "scope": TimeoutError, "throw": KeyError}
    kind, line = loomlet.run(main)
    assert issubclass(kind, kinds[end])
    assert line == b"next\n"


def test_killed_when_something_has_just_come(pair):
    """The line goes to the reader, or to the next one."""
    ours, file = pair
    one, other = socket.socketpair()

    def main():
        reader = spawn(file.readline)
        killer = spawn(lambda: (other.recv(1), reader.kill()))
        pause()
        one.sendall(b"!")
        ours.sendall(b"line\n")
        killer.join()
        try:
            return reader.result()
        except loomlet.TaskletKilled:
            return file.readline()

    with one, other:
        assert loomlet.run(main) == b"line\n"


def test_the_socket_is_closed_meanwhile(pair):
    ours, file = pair
    theirs = file.raw._sock

    def main():
        reader = spawn(file.readline)
        pause()
        socket.socket.detach(theirs)
        ours.close()
        with pytest.raises(OSError) as error:
            reader.result()
        return error.value.errno

    fd = theirs.fileno()
    try:
        assert loomlet.run(main) == 9
    finally:
        socket.close(fd)


HANDOFF = [False, pytest.param(True, marks=soft)]


@pytest.mark.parametrize("handoff", HANDOFF)
def test_a_handler_of_a_signal_runs_meanwhile(handoff, pair, alarm):
    """With handoff main waits softly too."""
    ours, file = pair

    def main():
        alarm(lambda number, frame: ours.sendall(b"line\n"))
        return file.readline()

    assert loomlet.run(main, handoff=handoff) == b"line\n"


@pytest.mark.parametrize("handoff", HANDOFF)
def test_a_handler_raises(handoff, pair, alarm):
    ours, file = pair

    def handler(number, frame):
        raise KeyError(number)

    def main():
        with pytest.raises(KeyError):
            alarm(handler)
            file.readline()
        ours.sendall(b"line\n")
        return file.readline()

    assert loomlet.run(main, handoff=handoff) == b"line\n"


@one_by_one
def test_nothing_is_kept_of_a_call(pair):
    ours, file = pair

    class Size:
        def __index__(self):
            return 5

    def main():
        size = Size()
        seen = weakref.ref(size)
        readers = [spawn(file.readline, size) for _ in range(2)]
        del size
        pause()
        gc.collect()
        assert seen() is not None
        ours.sendall(b"1\n")
        readers[0].result()
        readers[1].kill()
        with pytest.raises(loomlet.TaskletKilled):
            readers[1].result()
        readers.clear()
        gc.collect()
        return seen()

    assert loomlet.run(main) is None


def test_a_subclass_reads_as_it_says():
    class Socket(socket.socket):
        def recv_into(self, buffer, *rest):
            buffer[:2] = b"x\n"
            return 2

    with Socket() as mine, mine.makefile("rb") as file:
        assert loomlet.run(lambda: spawn(file.readline).result()) == b"x\n"
    assert not issubclass(socket.socket, ssl.SSLSocket)


def test_it_is_shown_as_waiting_for_the_socket(pair):
    ours, file = pair

    def main():
        reader = spawn(file.readline)
        pause()
        shown = reader.waiting_for
        ours.sendall(b"\n")
        reader.join()
        return shown

    assert loomlet.run(main) is file.raw._sock


@soft
def test_what_is_kept_meanwhile_can_be_looked_at(pair):
    """By code that looks at all objects."""
    ours, file = pair

    def main():
        reader = spawn(file.readline)
        pause()
        names = {type(found).__mro__[0].__name__ for found in gc.get_objects()}
        ours.sendall(b"\n")
        reader.join()
        return names

    assert "ReaderCall" in loomlet.run(main)


def test_what_waits_so_cannot_be_frozen(pair):
    ours, file = pair

    def main():
        reader = spawn(lambda: file.readline())
        pause()
        with pytest.raises(loomlet.FreezeError):
            loomlet.freeze(reader)
        ours.sendall(b"a\n")
        loomlet.sleep(0)
        return reader.result()

    assert loomlet.run(main) == b"a\n"
