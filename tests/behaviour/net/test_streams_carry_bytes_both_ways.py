"""What one end sends the other receives, in order and whole."""

from helpers_echo_server import serve

import loomlet
from loomlet import net


def test_an_echo_server_answers(mode, listener):
    """Each connection gets back what it sent; the server ends when the listener is closed."""
    server = loomlet.spawn(serve, listener)

    def client(n):
        with net.connect(listener.local) as stream:
            for i in range(20):
                message = b"%d:%d" % (n, i)
                stream.send_all(message)
                assert stream.receive_exactly(len(message)) == message
            stream.send_eof()
            assert stream.receive_some() == b""
        return n

    clients = [loomlet.spawn(client, n) for n in range(10)]
    assert [task.result() for task in clients] == list(range(10))
    listener.close()
    assert server.result() == "closed"


def test_the_main_tasklet_and_the_server_take_turns(mode, listener):
    """The main tasklet of a thread waits for descriptors as any tasklet does."""
    loomlet.spawn(serve, listener)
    with net.connect(listener.local) as stream:
        stream.send_all(b"hello")
        assert stream.receive_exactly(5) == b"hello"
    listener.close()
    loomlet.schedule()


def test_nothing_runs_beside_it(mode, listener):
    """One tasklet alone can connect and accept: the system completes connections."""
    with net.connect(listener.local) as one, listener.accept() as other:
        one.send_all(b"ping")
        assert other.receive_some() == b"ping"
        other.send_all(b"pong")
        assert one.receive_some() == b"pong"
