"""A function that is patched calls the original, and may be taken there; then it waits."""

import ctypes
import functools
import os
import select

import pytest
from helpers_c_calls import Gate, libc, run

from loomlet import patch, sleep, spawn


@pytest.fixture(autouse=True)
def patched():
    """For the time of a test."""
    patch.install()
    yield
    patch.uninstall()


class Slow:
    """Its descriptor is found out by a C call that waits until the gate is opened so wide."""

    def __init__(self, descriptor, gate):
        buffer = ctypes.create_string_buffer(descriptor)
        self.fileno = functools.partial(libc.read, gate.reader, buffer, descriptor)


def await_select(task):
    """The task has met the scheduler and waits for its descriptors."""
    while task.waiting_in != "read":
        sleep(0.001)  # there is nothing to wait for but the state of a tasklet


def test_select_waits_after_the_original_was_handed_over():
    """In the original, and each time again, another tasklet lets it go on."""

    def main():
        reader, writer = os.pipe()
        with Gate() as gate:

            def feed():
                for _ in range(3):
                    os.write(gate.writer, bytes(reader))
                await_select(waiting)
                os.write(writer, b"x")

            slow = Slow(reader, gate)
            waiting = spawn(select.select, [slow], [], [])
            spawn(feed)
            found = waiting.result()
        os.close(reader)
        os.close(writer)
        return found == ([slow], [], [])

    assert run(main)


def test_many_at_once():
    """Each meets the scheduler before it waits, wherever that is by then."""

    def main():
        pipes = [os.pipe() for _ in range(20)]
        gates = [Gate() for _ in pipes]

        def feed():
            for (reader, _), gate in zip(pipes, gates, strict=True):
                for _ in range(3):
                    os.write(gate.writer, bytes(reader))
            for task, (_, writer) in zip(waiting, pipes, strict=True):
                await_select(task)
                os.write(writer, b"x")

        slow = [Slow(reader, gate) for (reader, _), gate in zip(pipes, gates, strict=True)]
        waiting = [spawn(select.select, [one], [], []) for one in slow]
        spawn(feed)
        found = [task.result()[0] for task in waiting]
        for pair, gate in zip(pipes, gates, strict=True):
            gate.__exit__()
            os.close(pair[0])
            os.close(pair[1])
        return found == [[one] for one in slow]

    assert run(main)
