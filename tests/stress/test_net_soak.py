"""A seeded random program of connections: interrupted, killed, closed and reset at any moment.

Clients talk to echo servers, over TCP and UNIX sockets, in two threads that share the listeners.
Messages that are not interrupted come back byte for byte; at the end no descriptor, tasklet or
byte is left.
"""

import os

import pytest
from helpers_connection_soak import Soak, open_descriptors, run_in_two_threads

import loomlet
from loomlet import net


def soak(seed, rounds, folder):
    path = os.path.join(folder, f"socket-{seed}")
    listeners = [net.listen(("127.0.0.1", 0)), net.listen(path)]
    addresses = [listener.local for listener in listeners]
    parts = [Soak(seed * 10 + n, listeners, addresses) for n in range(2)]

    def close(part):
        for listener in part.listeners:
            listener.close()

    return run_in_two_threads(parts, lambda: range(rounds), close)


def test_nothing_is_lost_and_nothing_is_left(seed, mode, scaled, tmp_path, memory):
    """Every message that was not interrupted came back; no descriptor or object is left."""
    soak(0, 10, tmp_path)
    before, (objects, _) = open_descriptors(), memory()
    count = soak(seed, scaled(300), tmp_path)
    assert count["echoed"] > 100
    assert count["DescriptorClosed"] > 0
    assert open_descriptors() == before
    assert memory()[0] < objects + 200


@pytest.mark.parametrize("size", [1, 64, 1000])
def test_connections_come_and_go(size, scaled):
    """As many at once, repeatedly, without a descriptor more than at the beginning."""
    before = None
    for _ in range(scaled(5)):
        with net.listen(("127.0.0.1", 0), backlog=size) as listener:
            address = listener.local

            def call(address=address):
                with net.connect(address) as stream:
                    stream.send_all(b"x")
                    return stream.receive_exactly(1)

            def serve(stream):
                with stream:
                    stream.send_all(stream.receive_exactly(1))

            calls = [loomlet.spawn(call) for _ in range(size)]
            served = [loomlet.spawn(serve, listener.accept()) for _ in range(size)]
            assert [task.result() for task in calls] == [b"x"] * size
            for task in served:
                task.join()
        before = before or open_descriptors()
        assert open_descriptors() == before
