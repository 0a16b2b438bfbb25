"""Names are looked up on threads of the pool: tasklets wait for them, threads do not."""

import socket
import threading

import pytest

import loomlet
from loomlet import blocking, net


def flags_of(args, named):
    """The last argument of getaddrinfo, however it was given."""
    return named.get("flags") or (args[5] if len(args) > 5 else 0)


@pytest.fixture
def looked_up(monkeypatch):
    """The threads on which names were looked up, with the host; numeric hosts are not recorded."""
    seen = []
    getaddrinfo = socket.getaddrinfo

    def look_up(*args, **named):
        seen.append((threading.get_ident(), args[0], flags_of(args, named)))
        return getaddrinfo(*args, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return seen


def test_resolve_is_getaddrinfo():
    """The same results, in the same order, for the same arguments."""
    for host in ("localhost", "127.0.0.1", None):
        assert net.resolve(host, 80) == socket.getaddrinfo(host, 80)
    assert net.resolve(
        "localhost", "80", family=socket.AF_INET, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ) == socket.getaddrinfo("localhost", 80, socket.AF_INET, socket.SOCK_STREAM, 0, 1)


def test_names_are_looked_up_on_another_thread(mode, looked_up):
    """By connect() and listen(), after a look whether they are numbers."""

    def body():
        with net.listen(("localhost", 0)) as listener:
            name = ("localhost", listener.local[1])
            task = loomlet.spawn(net.connect, name)
            with listener.accept(), task.result() as stream:
                return stream.peer == listener.local

    assert loomlet.spawn(body).result()
    here = threading.get_ident()
    names = [(ident, flags) for ident, _, flags in looked_up if not flags & socket.AI_NUMERICHOST]
    assert len(names) == 2
    assert all(ident != here for ident, _ in names)


@pytest.mark.parametrize("host", ["127.0.0.1", "", "127.1"])
def test_numbers_are_not_looked_up(looked_up, host):
    """They need no thread."""
    with net.listen((host, 0)) as listener:
        net.connect(("127.0.0.1", listener.local[1])).close()
        listener.accept().close()
    assert {ident for ident, _, _ in looked_up} == {threading.get_ident()}
    assert all(flags & socket.AI_NUMERICHOST for _, _, flags in looked_up)


def test_an_unknown_name_is_an_error(mode):
    """gaierror, as everywhere in Python.  .invalid exists nowhere."""
    for call in (net.connect, net.listen, lambda address: net.resolve(*address)):
        task = loomlet.spawn(refused, call)
        assert isinstance(task.result(), socket.gaierror)


def test_its_error_has_no_context_of_others():
    """The exception that another tasklet handles meanwhile does not become the error's context."""
    task = loomlet.spawn(refused, lambda address: net.resolve(*address))
    try:
        raise KeyError("mine")
    except KeyError:
        while task.state != "done":
            loomlet.schedule()
    assert task.result().__context__ is None


def refused(call):
    """The error of a call with a name that does not exist."""
    with pytest.raises(socket.gaierror) as caught:
        call(("no-such-host.invalid", 80))
    return caught.value


def test_many_lookups_at_once(monkeypatch):
    """Each on a thread of its own, if they take their time."""
    together = threading.Barrier(100)
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))]

    def look_up(*args):
        together.wait(60)
        return found

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    tasks = [loomlet.spawn(net.resolve, f"host-{n}", 80) for n in range(100)]
    assert all(task.result() == found for task in tasks)


def test_a_lookup_can_be_ended(mode, monkeypatch):
    """By a timeout or a kill; it continues alone."""
    go = threading.Event()
    real = socket.getaddrinfo

    def look_up(*args, **named):
        if not flags_of(args, named) & socket.AI_NUMERICHOST:
            go.wait()
        return real(*args, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    try:
        with pytest.raises(TimeoutError), loomlet.timeout(0.01):
            net.connect(("localhost", 1))
        task = loomlet.spawn(net.connect, ("localhost", 1))
        loomlet.schedule()
        assert task.waiting_in == "run_blocking"
        task.kill()
        assert task.state == "done"
    finally:
        go.set()
    while blocking.threads().idle < blocking.threads().all:
        loomlet.sleep(0.001)  # for the lookups to end
