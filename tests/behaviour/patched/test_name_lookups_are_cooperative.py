"""Names are looked up on other threads while the tasklet waits.

getaddrinfo is looked up without Python, on threads that no program sees (the tests of net have
those that hang); the other functions are called on threads of the pool.
"""

import socket
import sys
from socket import getaddrinfo

import pytest
from helpers_children import works_in_a_child
from helpers_original_errors import errors_of

import loomlet
from loomlet import _core, blocking, patch
from loomlet.testing import assert_no_leaks

SERVER = ("127.0.0.1", 80)
CANONICAL = socket.AI_CANONNAME


class Index:
    """An object whose __index__ is 0."""

    def __index__(self):
        return 0


LOOKUPS = {
    "getaddrinfo": lambda: getaddrinfo("localhost", 80),
    "getaddrinfo by name": lambda: getaddrinfo(host="localhost", port=80),
    "getaddrinfo of bytes": lambda: getaddrinfo(b"localhost", "80", socket.AF_INET),
    "getaddrinfo with a canonical name": lambda: getaddrinfo("localhost", None, flags=CANONICAL),
    "getaddrinfo of an index": lambda: getaddrinfo("localhost", 80, Index(), Index()),
    "getnameinfo": lambda: socket.getnameinfo(SERVER, socket.NI_NUMERICSERV),
    "gethostbyname": lambda: socket.gethostbyname("localhost"),
    "gethostbyname_ex": lambda: socket.gethostbyname_ex("localhost"),
    "gethostbyaddr": lambda: socket.gethostbyaddr("127.0.0.1"),
}


@pytest.fixture(params=LOOKUPS)
def look_up(request):
    """Each function."""
    return LOOKUPS[request.param]


def at_rest():
    """Waits for lookups that continue alone."""
    while blocking.threads().idle < blocking.threads().all or _core._resolver_threads():
        loomlet.sleep(0.001)


def test_others_run_meanwhile(mode, look_up):
    """The tasklet waits; the answer is the original's."""
    patch.uninstall()
    stock = look_up()
    patch.install()
    task = loomlet.spawn(look_up)
    other = loomlet.spawn(lambda: task.state)
    assert other.result() != "done"
    assert task.result() == stock


def test_it_is_soft(switches, look_up):
    """A waiting tasklet costs only its frames."""

    def body():
        for _ in range(5):
            look_up()

    tasks = [loomlet.spawn(body) for _ in range(2)]
    for task in tasks:
        task.join()
    soft, hard = switches.take()
    assert soft > 0
    assert hard == 0


@pytest.mark.parametrize("host", ["127.0.0.1", b"127.0.0.1", "::1", "127.1", None])
def test_an_address_is_not_looked_up(host):
    """It is taken as it is, on the tasklet's own thread, at once."""
    task = loomlet.spawn(getaddrinfo, host, 80)
    loomlet.schedule()
    assert task.state == "done"
    assert task.result() == getaddrinfo(host, 80)


WRONG = {
    "no name": lambda: getaddrinfo("no-such-host.invalid", 80),
    "no name of one": lambda: socket.gethostbyname("no-such-host.invalid"),
    "no service": lambda: getaddrinfo("localhost", "no-such-service"),
    "no argument": lambda: getaddrinfo(),
    "an unknown one": lambda: getaddrinfo("localhost", 80, other=1),
    "too many": lambda: socket.gethostbyname("localhost", 1),
    "named": lambda: socket.gethostbyname(hostname="localhost"),
    "another type": lambda: socket.gethostbyaddr(5),
    "half an address": lambda: socket.getnameinfo(("127.0.0.1",), 0),
    "a name as an address": lambda: socket.getnameinfo(("localhost", 80), 99999),
    "a NUL": lambda: getaddrinfo("local\0host", 80),
    "a surrogate": lambda: getaddrinfo("\udc80", 80),
    "too long": lambda: getaddrinfo("x" * 70, 80),
    "another script": lambda: getaddrinfo("m\u00fcnchen.invalid", 80),
    "far too long": lambda: getaddrinfo("x." * 1000, 80),
    "an invalid port": lambda: getaddrinfo("localhost", 2**80),
    "a port below 0": lambda: getaddrinfo("localhost", -1),
    "a port of another type": lambda: getaddrinfo("localhost", 80.0),
    "an invalid family": lambda: getaddrinfo("localhost", 80, 9999),
    "a family beyond all": lambda: getaddrinfo("localhost", 80, 2**40),
    "neither": lambda: getaddrinfo(None, None),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_errors_are_those_of_the_original(call):
    """Type, number and text."""
    stock, ours = errors_of(call)
    assert str(ours).removeprefix("_socket.") == str(stock).removeprefix("_socket.")
    assert getattr(ours, "errno", None) == getattr(stock, "errno", None)


def test_a_kill_a_throw_and_a_timeout_end_it(mode, look_up, caught):
    """At once; late results are dropped, and nothing is left behind."""

    def rounds():
        for _ in range(20):
            killed, thrown, scoped = (caught(call) for call in (look_up, look_up, within))
            loomlet.schedule()
            killed.kill()
            thrown.throw(KeyError("x"))
            assert isinstance(thrown.result(), KeyError)
            assert isinstance(scoped.result(), TimeoutError | None)
            at_rest()

    def within():
        with loomlet.timeout(0.00001):
            look_up()

    rounds()
    with assert_no_leaks():
        rounds()


def test_audit_events_are_unchanged():
    """The same events with the same arguments, on whatever thread.

    In a child, because a hook stays: each call of id() after it would take thirty times as long.
    """

    def work():
        heard = []
        sys.addaudithook(lambda *event: event[0].startswith("socket.get") and heard.append(event))
        for look_up in LOOKUPS.values():
            loomlet.spawn(look_up).result()
            ours, heard[:] = heard[:], []
            patch.uninstall()
            look_up()
            patch.install()
            assert ours == heard
            assert heard
            heard.clear()
        return True

    assert works_in_a_child(work)


def test_in_a_cancelled_scope_it_raises(look_up):
    """Like every wait."""

    def body():
        with loomlet.CancelScope() as scope:
            scope.cancel()
            look_up()
        return scope.cancelled_caught

    assert loomlet.spawn(body).result() is True


SLOW = """
    import socket, sys, threading
    from socket import gethostbyname
    import loomlet
    from loomlet import patch
    patch.install()
    go, seen = threading.Event(), []
    def slow(event, args):
        if event == "socket.gethostbyname" and args[0] == "localhost":
            seen.append(threading.get_ident())
            go.wait()
    sys.addaudithook(slow)
"""


def test_a_slow_lookup_blocks_no_other_tasklet(python):
    """A hundred at once run on a hundred threads, and each can be abandoned while it hangs."""
    done = python(
        SLOW
        + """
    def main():
        here = threading.get_ident()
        tasks = [loomlet.spawn(gethostbyname, "localhost") for _ in range(100)]
        while len(seen) < 100:
            loomlet.schedule()
        tasks[0].kill()
        assert tasks[0].state == "done"
        try:
            with loomlet.timeout(0.001):
                gethostbyname("localhost")
        except TimeoutError:
            print("late")
        go.set()
        assert {task.result() for task in tasks[1:]} == {"127.0.0.1"}
        assert here not in seen
    loomlet.run(main)
    print("good")
    """
    )
    assert (done.stderr, done.stdout) == ("", "late\ngood\n")


def test_a_thread_without_tasklets_looks_up_itself(python):
    """So does a main tasklet that is alone."""
    done = python(
        SLOW
        + """
    go.set()
    def look():
        gethostbyname("localhost")
        assert seen.pop() == threading.get_ident()
    look()
    thread = threading.Thread(target=look)
    thread.start(), thread.join()
    print("good")
    """
    )
    assert (done.stderr, done.stdout) == ("", "good\n")
