"""A class whose methods are called with what a connection brings."""

import loomlet
from loomlet import http, net


def run(main):
    def limited():
        with loomlet.timeout(20):
            return main()

    return loomlet.run(limited)


def serving(protocol):
    server = http.server(("127.0.0.1", 0))
    http.register(transport=server, protocol=protocol)
    return server


def test_what_is_returned_is_sent():
    class Echo:
        def data_received(self, transport, data):
            return data.upper()

    def main():
        server = serving(Echo)
        with net.connect(server.address) as stream:
            stream.send_all(b"hello")
            answer = stream.receive_some()
        server.close()
        return answer

    assert run(main) == b"HELLO"


def test_it_is_never_called_twice_at_once_for_one_connection():
    """Though it blocks; another connection is served meanwhile."""
    running, seen, go_on = [], [], loomlet.Event()

    class Protocol:
        def data_received(self, transport, data):
            if data == b"quick":
                return b"at once"
            running.append(data)
            seen.append(len(running))
            go_on.wait()
            running.pop()
            return b"%d" % len(data)

    def main():
        server = serving(Protocol)
        with net.connect(server.address) as slow, net.connect(server.address) as quick:
            slow.send_all(b"abc")
            while not running:
                loomlet.sleep(0.001)
            slow.send_all(b"de")
            quick.send_all(b"quick")
            answers = [quick.receive_some()]
            go_on.set()
            answers += [slow.receive_exactly(2)]
        server.close()
        return answers

    assert run(main) == [b"at once", b"32"]
    assert seen == [1, 1]


def test_a_file_between_two_texts(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 500_000)

    class Files:
        def data_received(self, transport, data):
            transport.sendfile(b"<", str(tmp_path / "file"), b">")
            transport.close()

    def main():
        server = serving(Files)
        with net.connect(server.address) as stream:
            stream.send_all(b"now")
            got = b"".join(stream)
        server.close()
        return got

    assert run(main) == b"<" + b"x" * 500_000 + b">"


def test_beginning_and_end():
    calls = []

    class Protocol:
        def connection_made(self, transport):
            calls.append(("made", transport.peer[0]))
            transport.write(b"welcome")

        def data_received(self, transport, data):
            raise KeyError("in the protocol")

        def connection_lost(self, transport, error):
            calls.append(("lost", type(error)))

    def main():
        seen = []
        loomlet.set_error_handler(lambda tasklet, error: seen.append(type(error)))
        server = serving(Protocol)
        with net.connect(server.address) as stream:
            first = stream.receive_some()
        with net.connect(server.address) as stream:
            stream.send_all(b"x")
            rest = b"".join(stream)
        server.close()
        return first, rest, seen

    try:
        assert run(main) == (b"welcome", b"welcome", [KeyError])
    finally:
        loomlet.set_error_handler(None)
    made = ("made", "127.0.0.1")
    assert calls.count(made) == 2
    assert {call for call in calls if call != made} == {("lost", type(None)), ("lost", KeyError)}
