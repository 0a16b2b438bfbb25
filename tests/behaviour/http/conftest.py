"""What the tests of the HTTP server share: a server of this thread, and clients that send bytes."""

from __future__ import annotations

import pytest

import loomlet
from loomlet import net
from loomlet.http import Server


class Site:
    """A server, and what clients get from it.  Used inside of run()."""

    def __init__(self, handler=None, **options):
        self.server = Server(handler, port=0, **options)
        self.server.start()

    def connect(self):
        """A connection of a client, as a stream."""
        return net.connect(self.server.address)

    def ask(self, data, pieces=None):
        """All that the server sends until it closes the connection."""
        with self.connect() as stream, loomlet.timeout(20):
            for part in pieces or [data]:
                stream.send_all(part)
                loomlet.sleep(0)
            return b"".join(stream)


@pytest.fixture
def site():
    """Makes servers, which are closed at the end."""
    made = []

    def make(handler=None, **options):
        made.append(Site(handler, **options))
        return made[-1]

    yield make
    for one in made:
        one.server.close()


@pytest.fixture
def ask_once(site):
    """What a new server answers to these bytes."""

    def ask(handler, data, **options):
        return loomlet.run(site(handler, **options).ask, data)

    return ask


@pytest.fixture
def with_client(site):
    """Runs a function with a client of HTTP/2 of a new server, and returns what it returns."""

    pytest.importorskip("h2")
    from helpers_http2 import Client

    def run(handler, act, client=None, **options):
        def main():
            here = site(handler, **options)
            with here.connect() as stream, loomlet.timeout(20):
                return act(Client(stream, **client or {}))

        return loomlet.run(main)

    return run
