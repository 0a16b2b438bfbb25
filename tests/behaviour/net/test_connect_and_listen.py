"""connect and listen: what an address may be, and what the ends are called."""

import os
import socket

import pytest

import loomlet
from loomlet import net


def test_port_0_is_any_port():
    """`local` shows which one was chosen."""
    with net.listen(("127.0.0.1", 0)) as listener:
        host, port = listener.local
        assert host == "127.0.0.1"
        assert port > 0
        with net.connect((host, port)) as one, listener.accept() as other:
            assert one.peer == other.local == listener.local
            assert other.peer == one.local


def test_a_path_is_a_unix_socket(tmp_path):
    """As str or Path; the file stays."""
    path = tmp_path / "socket"
    with net.listen(path) as listener:
        assert listener.local == str(path)
        with net.connect(str(path)) as one, listener.accept() as other:
            one.send_all(b"x")
            assert other.receive_some() == b"x"
            assert one.peer == str(path)
    assert path.exists()
    with pytest.raises(ConnectionRefusedError):
        net.connect(path)
    with pytest.raises(FileNotFoundError):
        net.connect(tmp_path / "nothing")


def test_a_full_unix_listener_is_tried_again(tmp_path):
    """Until it takes the connection, while others run."""
    path = tmp_path / "socket"
    with net.listen(path, backlog=1) as listener:
        clients = [loomlet.spawn(net.connect, path) for _ in range(6)]
        loomlet.sleep(0.005)
        assert any(task.state != "done" for task in clients)
        accepted = [listener.accept() for _ in clients]
        for stream in accepted + [task.result() for task in clients]:
            stream.close()


def test_localhost_is_looked_up():
    """A name; each of its addresses is tried."""
    with net.listen(("127.0.0.1", 0)) as listener:
        with net.connect(("localhost", listener.local[1])) as stream:
            assert stream.peer == listener.local
        listener.accept().close()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_ipv6(tmp_path):
    """By its own notation."""
    try:
        listener = net.listen(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 on this machine")
    with listener, net.connect(listener.local[:2]) as one, listener.accept() as other:
        assert one.peer == other.local


def test_a_port_in_use():
    """The system's error; reuse_port shares it."""
    with net.listen(("127.0.0.1", 0)) as listener, pytest.raises(OSError, match="in use"):
        net.listen(listener.local)
    with net.listen(("127.0.0.1", 0), reuse_port=True) as listener:
        net.listen(listener.local, reuse_port=True).close()


@pytest.mark.parametrize("address", [5, ("host",), ("host", 1, 2), None])
def test_an_invalid_address(address):
    """Neither a pair nor a path."""
    with pytest.raises(TypeError, match=r"expected .host, port. or the path of a UNIX socket"):
        net.connect(address)


def test_small_messages_are_not_held_back():
    """TCP_NODELAY at both ends."""
    with net.listen(("127.0.0.1", 0)) as listener:
        with net.connect(listener.local) as one, listener.accept() as other:
            for stream in (one, other):
                with socket.socket(fileno=os.dup(stream.fileno())) as sock:
                    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                assert not os.get_inheritable(stream.fileno())


def test_a_pipe_is_a_stream(mode):
    """One end reads, the other writes."""
    read, write = (net.Stream(fd) for fd in os.pipe())
    with read, write:
        task = loomlet.spawn(read.receive_exactly, 300_000)
        loomlet.spawn(write.send_all, bytes(300_000))
        assert len(task.result()) == 300_000
        write.close()
        assert read.receive_some() == b""


def test_a_socket_of_the_standard_library_becomes_a_stream(mode):
    """Blocking or not, by detach()."""
    one, other = socket.socketpair()
    with net.Stream(one.detach()) as stream, net.Stream(other.detach()) as peer:
        task = loomlet.spawn(stream.receive_some)
        loomlet.schedule()
        peer.send_all(b"x")
        assert task.result() == b"x"


def test_a_file_never_waits(tmp_path):
    """A regular file is always ready."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    with net.Stream(os.open(path, os.O_RDONLY)) as stream:
        stream.wait_readable()
        assert b"".join(stream) == b"content"
