"""net.serve(): a tasklet for each connection, until it is cancelled or its listener is closed."""

import errno

import pytest

import loomlet
from loomlet import net

HERE = ("127.0.0.1", 0)


def echo(stream):
    for data in stream:
        stream.send_all(data)


def ask(listener, words):
    with net.connect(listener.local) as stream:
        stream.send_all(words)
        stream.send_eof()
        return b"".join(stream)


@pytest.fixture
def failed():
    """The exceptions that the error handler gets."""
    found = []
    before = loomlet.set_error_handler(lambda task, error: found.append(error))
    yield found
    loomlet.set_error_handler(before)


def test_it_serves_many_at_once():
    def main():
        with loomlet.TaskGroup() as group:
            listener = group.start(net.serve, echo, HERE)
            words = [b"%d" % n for n in range(20)]
            assert loomlet.map(lambda one: ask(listener, one), words) == words
            group.cancel()

    loomlet.run(main)


def test_a_closed_listener_ends_it_when_the_handlers_have_ended():
    def main():
        log = []

        def slow(stream):
            log.append(stream.receive_some())
            loomlet.sleep(0.01)  # longer than the rest needs
            log.append("handled")

        with loomlet.TaskGroup() as group:
            listener = group.start(net.serve, slow, HERE)
            with net.connect(listener.local) as stream:
                stream.send_all(b"a")
                while not log:
                    loomlet.schedule()
                listener.close()
        return log

    assert loomlet.run(main) == [b"a", "handled"]


def test_a_cancel_ends_the_handlers():
    def main():
        log = []

        def waits(stream):
            try:
                log.append("waits")
                stream.receive_some()
            finally:
                log.append("ended")

        with loomlet.TaskGroup() as group:
            listener = group.start(net.serve, waits, HERE)
            with net.connect(listener.local):
                while not log:
                    loomlet.schedule()
                group.cancel()
        return log, listener.closed

    assert loomlet.run(main) == (["waits", "ended"], True)


def test_a_failure_ends_its_connection_alone(failed):
    def main():
        def answer(stream):
            if stream.receive_some() == b"bad":
                raise KeyError("bad")
            stream.send_all(b"good")

        with loomlet.TaskGroup() as group:
            listener = group.start(net.serve, answer, HERE)
            answers = [ask(listener, words) for words in (b"bad", b"fine", b"bad", b"fine")]
            group.cancel()
        return answers

    assert loomlet.run(main) == [b"", b"good", b"", b"good"]
    assert [str(error) for error in failed] == ["'bad'", "'bad'"]


def test_a_limit():
    def main():
        now, most = 0, 0
        go_on = loomlet.Event()

        def count(stream):
            nonlocal now, most
            now += 1
            most = max(most, now)
            stream.receive_some()
            go_on.wait()
            now -= 1

        with loomlet.TaskGroup() as group:
            listener = group.start(lambda **how: net.serve(count, HERE, limit=3, **how))
            with loomlet.TaskGroup() as clients:
                for _ in range(10):
                    clients.spawn(ask, listener, b"x")
                while now < 3:
                    loomlet.schedule()
                go_on.set()
            group.cancel()
        return most

    assert loomlet.run(main) == 3


def test_cancelled_while_a_connection_waits_for_the_limit():
    """That connection is closed, too: no descriptor is left."""

    def main():
        began = loomlet.Event()

        def waits(stream):
            began.set()
            stream.receive_some()

        with loomlet.TaskGroup() as group:
            listener = group.start(lambda **how: net.serve(waits, HERE, limit=1, **how))
            with net.connect(listener.local), net.connect(listener.local) as second:
                began.wait()
                second.send_all(b"x")
                loomlet.sleep(0.01)  # it is accepted meanwhile, or the test proves less
                group.cancel()

    loomlet.run(main)


def test_without_descriptors_it_pauses():
    def main():
        refused = []

        class Exhausted(net.Listener):
            def __next__(self):
                if len(refused) < 2:
                    refused.append(errno.EMFILE)
                    raise OSError(errno.EMFILE, "too many open files")
                return super().__next__()

        with loomlet.TaskGroup() as group:
            plain = net.listen(HERE)
            listener = group.start(net.serve, echo, Exhausted(plain.detach()))
            answer = ask(listener, b"x")
            group.cancel()
        return answer, refused

    assert loomlet.run(main) == (b"x", [errno.EMFILE, errno.EMFILE])


def test_other_errors_of_accepting_end_it():
    def main():
        class Broken(net.Listener):
            def __next__(self):
                raise OSError(errno.EIO, "broken")

        with net.listen(HERE) as plain:
            net.serve(echo, Broken(plain.detach()))

    with pytest.raises(OSError, match="broken"):
        loomlet.run(main)
