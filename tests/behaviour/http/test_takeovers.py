"""Connections that a handler takes over: they count as open until they are closed."""

import gc

import pytest
from helpers_websockets import Peer, close_frame

import loomlet
from loomlet.http import Limits
from loomlet.http._takeovers import Takeover, take_stream

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


class Held(Takeover):
    """Holds a stream and remembers what it was asked to do."""

    def __init__(self, core, stream):
        self._stream = stream
        self.told = []
        super().__init__(core)

    def leave(self):
        self.told.append("leave")

    def drop(self):
        self.told.append("drop")
        self._stream.close()


def test_a_connection_counts_also_before_somebody_serves_it(site):
    """Between any two steps it is exactly one, so stop() does not take it for ended."""
    seen = []

    def handler(request):
        core = request._server

        def count():
            counts = core._counts()
            seen.append((counts["connections"], counts["taken"]))

        count()
        stream, _ = take_stream(request)
        count()
        held = Held(core, stream)
        count()
        stream.close()
        count()  # what serves it has not ended
        held.release()
        count()

    def main():
        here = site(handler)
        with here.connect() as stream, loomlet.timeout(20):
            stream.send_all(GET)
            assert stream.receive_some() == b""

    loomlet.run(main)
    assert seen == [(1, 0), (1, 1), (1, 1), (1, 1), (0, 0)]


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_connection_that_nobody_came_to_serve_counts_no_longer(site):
    """As when the tasklet is killed, or the memory is at its end, just then."""
    counts = []

    def take(request):
        take_stream(request)
        gc.collect()
        counts.append(request._server._counts()["connections"])

    def main():
        here = site(take)
        with here.connect() as stream, loomlet.timeout(20):
            stream.send_all(GET)
            assert stream.receive_some() == b""
            while not counts:
                loomlet.sleep(0)

    loomlet.run(main)
    assert counts == [0]


def test_stop_waits_for_who_is_about_to_serve_a_connection(site):
    """Once it holds the connection it is asked to leave."""
    taken, go_on = loomlet.Event(), loomlet.Event()
    held = []

    def handler(request):
        core = request._server
        stream, _ = take_stream(request)
        taken.set()
        go_on.wait()
        held.append(Held(core, stream))
        while not held[0].told:
            loomlet.sleep(0.001)
        stream.close()
        held[0].release()

    def main():
        here = site(handler)
        with here.connect() as stream, loomlet.timeout(20):
            stream.send_all(GET)
            taken.wait()
            stopped = loomlet.Event()
            stopping = loomlet.spawn(lambda: (here.server.stop(), stopped.set()))
            loomlet.sleep(0.05)
            waits = not stopped.is_set()
            go_on.set()
            stopping.join()
            return waits

    assert loomlet.run(main)
    assert held[0].told == ["leave"]


def test_who_comes_to_serve_a_connection_of_a_closed_server_is_dropped(site):
    taken, go_on = loomlet.Event(), loomlet.Event()
    told = []

    def handler(request):
        core = request._server
        stream, _ = take_stream(request)
        taken.set()
        go_on.wait()
        told.extend(Held(core, stream).told)

    def main():
        here = site(handler)
        with here.connect() as stream, loomlet.timeout(20):
            stream.send_all(GET)
            taken.wait()
            here.server.close()
            go_on.set()
            assert stream.receive_some() == b""

    loomlet.run(main)
    assert told == ["drop"]


def yield_until(condition):
    """Gives way often, but does not wait: less time passes than until the server's next tick."""
    for _ in range(2000):
        if condition():
            return True
        loomlet.sleep(0)
    return False


@pytest.mark.parametrize("with_parked", [True, False])
def test_the_end_of_a_connection_that_was_taken_over_makes_room_at_once(site, with_parked):
    """Also while the server waits until a parked one is old enough to be closed for a new one."""
    begun = []

    def handler(request):
        begun.append(request.path)
        if request.path == "/websocket":
            return list(request.websocket()) and None
        return "done"

    def main():
        here = site(handler, limits=Limits(connections=2))
        with here.connect() as stream, here.connect() as other, loomlet.timeout(20):
            peer = Peer(stream, b"/websocket")
            if with_parked:
                other.send_all(GET)
                other.receive_some()
            else:
                Peer(other, b"/websocket")
            with here.connect() as late:
                late.send_all(GET.replace(b"/ ", b"/late "))
                assert not yield_until(lambda: "/late" in begun)
                peer.send(close_frame())
                stream.send_eof()
                assert yield_until(lambda: "/late" in begun)

    loomlet.run(main)
