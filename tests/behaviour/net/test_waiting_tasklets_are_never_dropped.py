"""Streams that are dropped are closed with a warning; waiting tasklets are never dropped."""

import gc
import weakref

import pytest

import loomlet
from loomlet import net


def test_an_unclosed_stream_warns_and_is_closed():
    """The fixture counts descriptors."""
    one, other = net.pair()
    other.close()
    with pytest.warns(ResourceWarning, match="unclosed <Stream fd="):
        del one
        gc.collect()


def test_a_closed_stream_says_nothing(recwarn):
    """Nor a detached one."""
    one, other = net.pair()
    one.close()
    other.close()
    del one, other
    gc.collect()
    assert not recwarn.list


def test_a_waiting_tasklet_is_kept_alive_by_its_descriptor(mode):
    """A tasklet that nothing in the program reaches, but whose peer may still speak."""
    got = []

    def body(stream):
        with stream:
            got.append(stream.receive_some())

    one, other = net.pair()
    loomlet.spawn(body, one)
    one = weakref.ref(one)
    loomlet.schedule()
    gc.collect()
    gc.collect()
    assert one() is not None
    other.send_all(b"still there")
    while not got:
        loomlet.schedule()
    assert got == [b"still there"]
    loomlet.schedule()
    other.close()
    gc.collect()
    assert one() is None


def test_a_tasklet_that_has_ended_leaves_its_stream(mode):
    """A wait releases its references when it ends, whichever way."""
    one, other = net.pair()
    buffer = bytearray(4)
    task = loomlet.spawn(one.receive_into, buffer)
    loomlet.schedule()
    task.kill()
    buffer.clear()
    one.close()
    other.close()


def test_run_ends_waiting_tasklets():
    """At the end of run() their `finally` blocks close their streams."""

    def body(stream):
        with stream:
            stream.receive_some()

    def main():
        one, other = net.pair()
        loomlet.spawn(body, one)
        loomlet.schedule()
        kept.append(other)

    kept = []
    loomlet.run(main)
    kept[0].close()


def test_an_interpreter_that_exits_does_not_wait(python):
    """Tasklets and threads that wait for a descriptor delay no other tasklet."""
    done = python(
        """
        import threading
        import loomlet
        from loomlet import net

        one, other = net.pair()
        loomlet.spawn(one.receive_some)
        loomlet.schedule()
        threading.Thread(target=other.receive_some, daemon=True).start()
        print("done")
        """
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
