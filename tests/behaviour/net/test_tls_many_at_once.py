"""Many TLS connections at once, some of them slow, in one thread or several."""

import contextlib
import ssl
import threading

from helpers_echo_server import answer, serve

import loomlet
from loomlet import TaskGroup, net


def try_to_answer(stream):
    with contextlib.suppress(ssl.SSLEOFError):  # of clients that never begin a handshake
        answer(stream)


def ask(listener, context, n):
    with net.connect(listener.local, tls=context) as stream:
        for i in range(3):
            message = b"%d:%d" % (n, i)
            stream.send_all(message)
            assert stream.receive_exactly(len(message)) == message
            loomlet.schedule()
        stream.send_eof()
        assert stream.receive_some() == b""
    return n


def test_two_hundred_connections(mode, certificates):
    """All are open at the same time."""
    context = certificates.client()
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        server = loomlet.spawn(serve, listener, try_to_answer)
        with TaskGroup() as group:
            clients = [group.spawn(ask, listener, context, n) for n in range(200)]
        assert [task.result() for task in clients] == list(range(200))
        listener.close()
        server.join()


def test_a_slow_handshake_blocks_no_other_connection(mode, certificates):
    """accept() is for the next one while a peer says nothing."""
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        server = loomlet.spawn(serve, listener, try_to_answer)
        silent = [net.connect(listener.local) for _ in range(10)]
        assert ask(listener, certificates.client(), 1) == 1
        for stream in silent:
            stream.close()
        listener.close()
        server.join()
        loomlet.sleep(0.01)  # until the server has seen the silent connections end


def test_threads_share_a_stream(tls_pair):
    """Each send_all goes out in one piece, from whichever thread; readers get all of it."""
    one, other = tls_pair()
    size, count = 50_000, 20

    def send(n):
        def body():
            for _ in range(count):
                one.send_all(bytes([n]) * size)

        loomlet.run(body)

    threads = [threading.Thread(target=send, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    pieces = [other.receive_exactly(size) for _ in range(4 * count)]
    for thread in threads:
        thread.join()
    assert sorted(pieces) == sorted(bytes([n]) * size for n in range(4) for _ in range(count))


def test_threads_have_servers_of_their_own(certificates):
    """The same contexts in four threads at once."""
    contexts = certificates.client(), certificates.server()
    found = []

    def body():
        with net.listen(("127.0.0.1", 0), tls=contexts[1]) as listener:
            loomlet.spawn(serve, listener, try_to_answer)
            found.extend(ask(listener, contexts[0], n) for n in range(10))

    threads = [threading.Thread(target=loomlet.run, args=(body,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(list(range(10)) * 4)


def test_under_time_slices(certificates, python):
    """Tasklets are interrupted between any two instructions, and no record is torn."""
    done = python(
        """
        import ssl, sys
        import loomlet
        from loomlet import net

        folder = sys.argv[1]
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(folder + "/server.pem", folder + "/server.key")
        client = ssl.create_default_context(cafile=folder + "/authority.pem")

        def answer(stream):
            with stream:
                for data in stream:
                    stream.send_all(data)

        def serve(listener):
            for stream in listener:
                loomlet.spawn(answer, stream)

        def ask(listener, n):
            data = bytes([n]) * 100_000
            with net.connect(listener.local, tls=client) as stream:
                for _ in range(3):
                    sender = loomlet.spawn(stream.send_all, data)
                    assert stream.receive_exactly(len(data)) == data
                    sender.join()

        def spin():
            while True:
                pass

        def main():
            with net.listen(("127.0.0.1", 0), tls=server) as listener:
                tasks = [loomlet.spawn(serve, listener), loomlet.spawn(spin)]
                with loomlet.TaskGroup() as group:
                    for n in range(10):
                        group.spawn(ask, listener, n)
                for task in tasks:
                    task.kill()
            print("done")

        loomlet.run(main, slice=0.0002)
        """,
        str(certificates.folder),
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
