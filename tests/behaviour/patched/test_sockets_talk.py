"""Builtin sockets between tasklets: every call does what it always did, and lets others run."""

import os
import socket
import threading

import pytest

import loomlet


def test_two_talk_while_a_third_computes(mode, sockets, busy, talk):
    """Each byte arrives, in order, and the third one runs in between."""
    one, _ = sockets
    task = talk(*sockets)
    one.shutdown(socket.SHUT_WR)
    task.join()
    assert busy[0] > 50


def test_a_slow_reader_gets_ten_megabytes(sockets):
    """sendall waits again and again, and sends each byte once."""
    one, other = sockets
    message = os.urandom(1 << 20) * 10
    task = loomlet.spawn(one.sendall, message)
    got = bytearray()
    while len(got) < len(message):
        data = other.recv(65536)
        got += data
        loomlet.schedule()
    assert task.result() is None
    assert got == message


RECEIVE = {
    "recv": lambda s: s.recv(10),
    "recv_into": lambda s: read_into(s.recv_into),
    "recvfrom": lambda s: s.recvfrom(10)[0],
    "recvfrom_into": lambda s: read_into(lambda b: s.recvfrom_into(b, flags=0)[0]),
    "recvmsg": lambda s: s.recvmsg(10)[0],
    "recvmsg_into": lambda s: read_into(lambda b: s.recvmsg_into([b])[0]),
    "makefile": lambda s: read_file(s),
}
SEND = {
    "send": lambda s: s.send(b"hello"),
    "sendall": lambda s: s.sendall(b"hello"),
    "sendmsg": lambda s: s.sendmsg([b"he", b"llo"]),
    "sendmsg with flags": lambda s: s.sendmsg([b"hello"], [], 0),
}


def read_into(call):
    """What such a call wrote."""
    buffer = bytearray(10)
    return bytes(buffer[: call(buffer)])


def read_file(one):
    """Five bytes by way of a file."""
    with one.makefile("rb") as file:
        return file.read(5)


@pytest.mark.parametrize("receive", RECEIVE)
@pytest.mark.parametrize("send", SEND)
def test_every_way_to_receive_waits(mode, sockets, receive, send):
    """Nothing is there yet; another tasklet sends, in every way."""
    one, other = sockets
    task = loomlet.spawn(RECEIVE[receive], one)
    loomlet.schedule()
    assert task.waiting_in == "read"
    assert task.waiting_for is one
    SEND[send](other)
    assert task.result() == b"hello"


@pytest.mark.parametrize("receive", RECEIVE)
def test_available_data_are_taken_at_once(sockets, receive):
    """Without a switch."""
    one, other = sockets
    other.sendall(b"hello")
    beside = loomlet.spawn(lambda: None)
    assert RECEIVE[receive](one) == b"hello"
    assert beside.state == "runnable"


def test_datagrams_carry_addresses():
    """recvfrom, recvfrom_into and recvmsg return the sender; sendto in both forms, and sendmsg."""
    one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with one, other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))

        def read():
            buffer = bytearray(10)
            first, second = one.recvfrom(10), one.recvmsg(10)
            return first, second[0], second[3], one.recvfrom_into(buffer, 3), buffer[:3]

        task = loomlet.spawn(read)
        loomlet.schedule()
        other.sendto(b"first", one.getsockname())
        other.sendto(b"second", 0, one.getsockname())
        other.sendmsg([b"th", b"ird"], [], 0, one.getsockname())
        me = other.getsockname()
        assert task.result() == ((b"first", me), b"second", me, (3, me), b"thi")


def test_descriptors_are_passed():
    """Ancillary data come along."""
    one, other = socket.socketpair()
    with one, other:
        task = loomlet.spawn(socket.recv_fds, one, 10, 2)
        loomlet.schedule()
        socket.send_fds(other, [b"x"], [other.fileno()])
        data, fds, _, _ = task.result()
        for fd in fds:
            os.close(fd)
        assert (data, len(fds)) == (b"x", 1)


def test_all_is_waited_for(sockets):
    """MSG_WAITALL returns when all has come, or at the end; with MSG_PEEK nothing is taken."""
    one, other = sockets
    task = loomlet.spawn(one.recv, 6, socket.MSG_WAITALL)
    into = bytearray(3)
    loomlet.schedule()
    for part in (b"ab", b"cd", b"ef"):
        assert task.state != "done"
        other.sendall(part)
        loomlet.sleep(0.001)  # until the poller is polled
    assert task.result() == b"abcdef"
    task = loomlet.spawn(one.recv_into, into, 3, socket.MSG_WAITALL)
    loomlet.schedule()
    other.sendall(b"gh")
    other.close()
    assert task.result() == 2
    assert into == b"gh\0"


def test_connections_are_made_and_accepted(mode):
    """create_server, create_connection and accept; addresses as usual."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        task = loomlet.spawn(listener.accept)
        loomlet.schedule()
        assert task.waiting_in == "read"
        with socket.create_connection(listener.getsockname(), timeout=5) as one:
            other, address = task.result()
            with other:
                assert address == one.getsockname()
                assert other.gettimeout() is None
                assert os.get_blocking(other.fileno())
                assert os.get_blocking(listener.fileno())


@pytest.mark.parametrize("timeout", [None, 5])
def test_a_refused_connection(mode, timeout):
    """ConnectionRefusedError from connect, its number from connect_ex."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()

    def attempt(method):
        with socket.socket() as one:
            one.settimeout(timeout)
            return getattr(one, method)(address)

    with pytest.raises(ConnectionRefusedError):
        loomlet.spawn(attempt, "connect").result()
    assert loomlet.spawn(attempt, "connect_ex").result() == ConnectionRefusedError(111).args[0]


def test_a_full_unix_listener_is_waited_for(tmp_path):
    """A connection beyond the backlog is made when there is room."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "x"))
        listener.listen(0)

        def connect():
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(str(tmp_path / "x"))
                return one.recv(2)

        tasks = [loomlet.spawn(connect) for _ in range(4)]
        for _ in tasks:
            other, _ = listener.accept()
            with other:
                other.sendall(b"hi")
        assert [task.result() for task in tasks] == [b"hi"] * 4


def test_a_hundred_at_once(mode):
    """A server with a tasklet for each connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:

        def answer(other):
            with other, other.makefile("rwb") as file:
                for line in file:
                    file.write(line.upper())
                    file.flush()

        def serve():
            while True:
                loomlet.spawn(answer, listener.accept()[0])

        def ask(n):
            with socket.create_connection(listener.getsockname()) as one:
                with one.makefile("rwb") as file:
                    file.write(b"line %d\n" % n)
                    file.flush()
                    return file.readline()

        server = loomlet.spawn(serve)
        tasks = [loomlet.spawn(ask, n) for n in range(100)]
        assert [task.result() for task in tasks] == [b"LINE %d\n" % n for n in range(100)]
        server.kill()


def test_a_thread_and_tasklets_share_a_socket(sockets):
    """A plain thread reads what a tasklet writes, and the other way round, on one socket."""
    one, other = sockets
    got = []

    def run():
        while data := one.recv(100):
            got.append(data)

    thread = threading.Thread(target=run)
    thread.start()

    def write():
        for n in range(200):
            one.sendall(b"%03d" % n)
            loomlet.schedule()

    def read():
        data = b""
        while len(data) < 600:
            data += other.recv(64)
            other.sendall(b"x")
        other.shutdown(socket.SHUT_WR)
        return data

    tasks = [loomlet.spawn(write), loomlet.spawn(read)]
    assert tasks[1].result() == b"".join(b"%03d" % n for n in range(200))
    tasks[0].join()
    thread.join()
    assert set(b"".join(got)) == set(b"x")


def test_threads_and_tasklets_accept_from_one_listener():
    """Each connection is accepted exactly once."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        taken = []

        def take(count):
            for _ in range(count):
                other, _ = listener.accept()
                taken.append(other.getpeername())
                other.close()

        thread = threading.Thread(target=take, args=(30,))
        thread.start()
        tasks = [loomlet.spawn(take, 10) for _ in range(3)]
        made = []
        for _ in range(60):
            with socket.create_connection(listener.getsockname()) as one:
                made.append(one.getsockname())
                loomlet.schedule()
        for task in tasks:
            task.join()
        while thread.is_alive():
            loomlet.schedule()
        thread.join()
        assert sorted(taken) == sorted(made)
        assert listener.gettimeout() is None
        assert os.get_blocking(listener.fileno())


NEVER_WAITING = {
    "recv": lambda s: s.recv(10, socket.MSG_DONTWAIT),
    "recv with peek": lambda s: s.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT),
    "recv_into": lambda s: s.recv_into(bytearray(1), 1, socket.MSG_DONTWAIT),
    "recvfrom": lambda s: s.recvfrom(1, socket.MSG_DONTWAIT),
    "recvfrom_into": lambda s: s.recvfrom_into(bytearray(1), 1, socket.MSG_DONTWAIT),
    "recvmsg": lambda s: s.recvmsg(1, 0, socket.MSG_DONTWAIT),
    "recvmsg_into": lambda s: s.recvmsg_into([bytearray(1)], 0, socket.MSG_DONTWAIT),
    "send": lambda s: fill(s.send),
    "sendall": lambda s: fill(s.sendall),
    "sendmsg": lambda s: fill(lambda data, flags: s.sendmsg([data], [], flags)),
}


def fill(send):
    """Sends until there is no room."""
    while True:
        send(b"x" * 65536, socket.MSG_DONTWAIT)


@pytest.mark.parametrize("call", NEVER_WAITING.values(), ids=NEVER_WAITING)
def test_a_call_that_must_not_wait_does_not(sockets, call, caught):
    """MSG_DONTWAIT on a socket that blocks: BlockingIOError, and the socket still blocks."""
    one, _ = sockets
    task = caught(call, one)
    loomlet.schedule()
    assert task.state == "done"
    assert isinstance(task.result(), BlockingIOError)
    assert one.getblocking()


@pytest.mark.parametrize("call", NEVER_WAITING.values(), ids=NEVER_WAITING)
def test_a_timeout_is_respected_in_spite_of_the_flag(sockets, call):
    """As the interpreter does it: first it waits for the time that was set."""
    one, _ = sockets
    one.settimeout(0.001)
    with pytest.raises(TimeoutError):
        loomlet.spawn(call, one).result()
