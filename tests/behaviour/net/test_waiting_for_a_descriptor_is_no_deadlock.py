"""The outside world can wake a tasklet that waits for a descriptor: that is no deadlock."""

import threading
import time

import pytest

import loomlet


def test_waiting_for_a_tasklet_that_waits_for_a_descriptor(mode, pair):
    """main waits for a tasklet, which waits for a stream, for as long as it takes."""
    one, other = pair
    task = loomlet.spawn(one.receive_some)
    timer = threading.Timer(0.3, other.send_all, (b"late",))
    timer.start()
    assert task.result() == b"late"
    timer.join()


def test_a_thread_that_waits_for_a_descriptor_is_awake(mode, pair):
    """Another thread that waits for that one is in no deadlock either."""
    one, other = pair
    channel = loomlet.Channel()
    thread = threading.Thread(target=lambda: channel.send(one.receive_some()))
    thread.start()
    loomlet.spawn(lambda: (time.sleep(0.3), other.send_all(b"late")))
    assert channel.receive() == b"late"
    thread.join()


def test_deadlocks_are_found_again_when_no_wait_is_left(mode, pair):
    """A thread with a poller finds its deadlocks."""
    one, other = pair
    task = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    other.send_all(b"x")
    task.join()
    with pytest.raises(loomlet.Deadlock):
        loomlet.Channel().receive()


def test_a_killed_wait_is_no_wait(mode, pair):
    """Each way out of a wait uncounts it."""
    one, _ = pair
    killed = loomlet.spawn(one.receive_some)
    late = loomlet.spawn(limited, one)
    loomlet.schedule()
    killed.kill()
    late.join()
    closed = loomlet.spawn(list, one)
    loomlet.schedule()
    one.close()
    closed.join()
    with pytest.raises(loomlet.Deadlock):
        loomlet.Channel().receive()


def limited(stream):
    try:
        with loomlet.timeout(0.001):
            stream.receive_some()
    except TimeoutError:
        return
