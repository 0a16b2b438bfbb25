"""Patching affects the whole process, and can be undone at any time."""

import os
import select
import socket
import threading
import time

import pytest

import loomlet
from loomlet import _core, patch

BEFORE = """
    import http.client, select, selectors, socket, ssl, time, urllib.request
    from socket import socket as kept
    from time import sleep
    one, other = socket.socketpair()
    receive = one.recv
    import loomlet.patch
    loomlet.patch.install()
"""
AFTER = """
    import loomlet.patch
    loomlet.patch.install()
    import http.client, select, selectors, socket, ssl, time, urllib.request
    from socket import socket as kept
    from time import sleep
    one, other = socket.socketpair()
    receive = one.recv
"""
BODY = """
    order = []
    def wait():
        order.append(receive(5))
    def answer():
        sleep(0.001)
        order.append("slept")
        other.sendall(b"hello")
    loomlet.run(lambda: [t.join() for t in [loomlet.spawn(wait), loomlet.spawn(answer)]])
    assert order == ["slept", b"hello"], order
    assert type(one) is kept
    one.close(), other.close()
    print("good")
"""


def test_again_does_nothing():
    """It is not counted."""
    patch.install()
    patch.install()
    assert patch.installed()
    patch.uninstall()
    assert not patch.installed()
    patch.uninstall()
    patch.install()
    assert patch.installed()


@pytest.mark.parametrize("order", [BEFORE, AFTER], ids=["imports first", "patch first"])
def test_the_order_of_imports_does_not_matter(python, order):
    """Names, sockets and bound methods that exist are patched like those to come."""
    done = python(order + BODY)
    assert (done.stdout, done.stderr) == ("good\n", "")


def test_no_class_and_no_name_is_replaced():
    """Every public name is still the same object."""
    names = ["recv", "send", "sendall", "_accept", "connect", "close", "recvmsg_into"]
    patch.uninstall()
    before = [vars(socket._socket.socket)[name] for name in names]
    kind = socket.socket
    patch.install()
    assert socket.socket is kind
    assert all(
        vars(socket._socket.socket)[name] is was for name, was in zip(names, before, strict=True)
    )


def test_waiting_tasklets_continue_after_uninstall(sockets):
    """In the middle of a call, with the socket open; the next call is the original."""
    one, other = sockets
    task = loomlet.spawn(one.recv, 5)
    loomlet.schedule()
    patch.uninstall()
    other.sendall(b"hello")
    assert task.result() == b"hello"
    one.settimeout(0.001)
    beside = loomlet.spawn(lambda: None)
    with pytest.raises(TimeoutError, match="timed out"):
        one.recv(1)
    assert beside.state == "runnable"  # the whole thread waited


def test_a_thread_without_tasklets_stays_so(sockets):
    """Such a thread calls the original, which waits in the system."""
    one, other = sockets
    thread = threading.Thread(target=lambda: one.sendall(one.recv(5).upper()))
    thread.start()
    other.sendall(b"hello")
    task = loomlet.spawn(other.recv, 5)
    assert task.result() == b"HELLO"
    thread.join()


def test_nothing_changes_when_a_function_was_replaced(monkeypatch, sockets):
    """A function that other code has replaced is named, and the rest stays as it was."""
    patch.uninstall()
    monkeypatch.setattr(select, "select", len)
    with pytest.raises(RuntimeError, match="len>, which is not the interpreter's own function"):
        patch.install()
    assert not patch.installed()
    one, _ = sockets
    one.settimeout(0.001)
    beside = loomlet.spawn(lambda: None)
    with pytest.raises(TimeoutError):
        one.recv(1)
    assert beside.state == "runnable"


def test_a_waiting_tasklet_may_hold_a_lock(python):
    """Also without time slices: the next tasklet waits for it, not the thread."""
    done = python("""
        import socket, threading
        import loomlet
        from loomlet import patch
        patch.install()
        one, other = socket.socketpair()
        lock, got = threading.Lock(), []
        def read():
            with lock:
                got.append(one.recv(1))
        def main():
            tasks = [loomlet.spawn(read), loomlet.spawn(read)]
            loomlet.schedule()
            other.sendall(b"ab")
            for task in tasks:
                task.join()
        loomlet.run(main, slice=None)
        one.close(), other.close()
        print(got)
    """)
    assert (done.stderr, done.stdout) == ("", "[b'a', b'b']\n")


def test_warm_code_is_patched_too(sockets):
    """Instructions that have been specialized for the original call."""
    one, other = sockets

    def read(count):
        for _ in range(count):
            one.recv(1)
            time.sleep(0)

    for install in (patch.uninstall, patch.install, patch.uninstall, patch.install):
        install()
        other.sendall(bytes(200))
        read(200)
    task = loomlet.spawn(read, 1)
    loomlet.schedule()
    assert task.state == "blocked"
    other.sendall(b"x")
    task.join()


def test_again_and_again_while_threads_run():
    """A call during a replacement gets either the original or the replacement."""
    stop = []

    def talk():
        one, other = socket.socketpair()
        with one, other:
            while not stop:
                one.sendall(b"x")
                assert other.recv(1) == b"x"
                assert select.select([], [one], [], 5)[1] == [one]
                time.sleep(0)

    def with_tasklets():
        loomlet.run(lambda: [t.join() for t in [loomlet.spawn(talk) for _ in range(3)]])

    threads = [threading.Thread(target=run) for run in (talk, with_tasklets, talk)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        patch.uninstall()
        time.sleep(0.0005)  # the others call meanwhile
        patch.install()
        time.sleep(0.0005)
    stop.append(True)
    for thread in threads:
        thread.join()


def test_at_the_end_of_the_interpreter_nothing_hangs(python):
    """Tasklets that wait in patched calls do not run again."""
    done = python("""
        import select, socket, time
        import loomlet
        from loomlet import patch
        patch.install()
        one, other = socket.socketpair()
        calls = [lambda: one.recv(1), lambda: time.sleep(99), lambda: select.select([one], [], [])]
        for call in calls:
            loomlet.spawn(call)
        loomlet.schedule()
        print("good")
    """)
    assert (done.returncode, done.stdout) == (0, "good\n")


@pytest.mark.busy_fork
def test_a_forked_child_waits_by_itself(python):
    """Tasklets that wait at the fork continue in both processes."""
    done = python(
        """
        import os, select, socket
        import loomlet
        from loomlet import patch
        patch.install()
        one, other = socket.socketpair()
        mine, theirs = socket.socketpair()
        def main():
            tasks = [loomlet.spawn(one.recv, 1), loomlet.spawn(select.select, [mine], [], [])]
            loomlet.schedule()
            child = os.fork()
            if child:  # by asking: what the child sends must not be read here
                while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
                    pass
                assert ended[1] == 0
            other.sendall(b"x")
            theirs.sendall(b"x")
            assert tasks[0].result() == b"x"
            if not child:
                os._exit(0)
            assert tasks[1].result() == ([mine], [], [])
        loomlet.run(main)
        one.close(), other.close(), mine.close(), theirs.close()
        print("good")
    """,
        PYTHONWARNINGS="ignore",  # of a fork beside the monitor thread
    )
    assert (done.stderr, done.stdout) == ("", "good\n")


def test_without_memory_a_wait_is_an_error(sockets):
    """MemoryError, and the socket stays usable."""
    one, other = sockets
    one.settimeout(5)
    for nth in (1, 2):
        task = loomlet.spawn(failing, one, nth)
        assert isinstance(task.result(), MemoryError | bytes | TimeoutError)
    other.sendall(b"x")
    assert one.recv(1) == b"x"


def failing(one, nth):
    """The exception of a wait whose nth allocation fails."""
    _core._fail_allocation(nth)
    one.settimeout(0.001)
    try:
        return one.recv(1)
    except (MemoryError, TimeoutError) as error:
        return error
    finally:
        _core._fail_allocation(0)


def test_a_lone_main_tasklet_waits_in_the_system(sockets):
    """A main tasklet without other tasklets calls the original, which signals interrupt."""
    one, _ = sockets
    one.settimeout(0.001)
    with pytest.raises(TimeoutError, match="timed out"):
        one.recv(1)


@pytest.mark.parametrize("function", [time.sleep, select.select, os.read, os.waitpid])
def test_a_patched_function_describes_itself_as_before(function):
    """help() and inspect.signature() show what they always did."""
    shown = function.__doc__, function.__text_signature__
    patch.uninstall()
    assert (function.__doc__, function.__text_signature__) == shown
