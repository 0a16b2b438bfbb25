"""A service manager opens the sockets, as systemd does, and is told when the server is ready."""

import contextlib
import http.client
import signal
import socket
import sys
import threading

import pytest

PID = """
import os
def app(environ, start_response):
    start_response("200 OK", [])
    return [str(os.getppid()).encode()]
"""

LAUNCH = """
import os, sys
count = int(sys.argv[1])
for at, fd in enumerate(sys.argv[2 : 2 + count]):
    os.dup2(int(fd), 3 + at)
os.environ.update(LISTEN_FDS=str(count), LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="x")
os.execv(sys.argv[2 + count], sys.argv[2 + count :])
"""
"""What the manager does in the process that becomes the server."""


@pytest.fixture
def activate(serve):
    """Starts a server that gets these sockets."""

    def start(sockets, *arguments, **options):
        high = [each.fileno() for each in sockets]
        prefix = [sys.executable, "-c", LAUNCH, str(len(high)), *map(str, high)]
        server = serve(*arguments, prefix=prefix, pass_fds=high, **options)
        server.wait_for("serving")
        return server

    return start


@pytest.fixture
def sockets():
    """Two that listen, at numbers that are not those that the server gets."""
    with contextlib.ExitStack() as stack:
        made = []
        while len(made) < 2:
            each = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            if each.fileno() > 10:
                made.append(each)
        yield made


def ask(sock):
    """What a client gets from the server that listens there."""
    host, port = sock.getsockname()
    client = http.client.HTTPConnection(host, port, timeout=30)
    with contextlib.closing(client):
        client.request("GET", "/")
        return client.getresponse().read()


def test_sockets_of_a_manager(activate, program, sockets):
    program(PID)
    server = activate(sockets, "site_app", "--workers", "2")
    assert {ask(each) for each in sockets} == {str(server.process.pid).encode()}
    shown = ", ".join("http://{}:{}/".format(*each.getsockname()) for each in sockets)
    assert f" on {shown} " in server.log


def test_sockets_for_another_process(serve, program):
    """What a parent was given is not ours."""
    program(PID)
    server = serve("site_app", env={"LISTEN_FDS": "1", "LISTEN_PID": "1"})
    assert server.get() == (200, str(server.process.pid).encode())


def test_the_next_server_takes_over(activate, program, sockets):
    """The socket stays open, so no client sees that the server is another one."""
    program(PID)
    (place, _) = sockets
    first = activate([place], "site_app")
    answers, lost, stop = set(), [], threading.Event()

    def ask_on():
        while not stop.is_set():
            try:
                answers.add(ask(place))
            except (OSError, http.client.HTTPException) as error:
                lost.append(error)

    clients = [threading.Thread(target=ask_on) for _ in range(3)]
    for client in clients:
        client.start()
    second = activate([place], "site_app")
    first.wait_for("serving")
    assert first.end() == 0
    while ask(place) != str(second.process.pid).encode():
        pass  # it has to import first
    assert second.end() == 0
    third = activate([place], "site_app")  # what was asked meanwhile has waited for it
    assert ask(place) == str(third.process.pid).encode()
    stop.set()
    for client in clients:
        client.join()
    assert not lost
    assert len(answers) == 3


def test_the_manager_is_told(serve, tmp_path):
    path = str(tmp_path / "manager")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(30)
        server = serve(".", env={"NOTIFY_SOCKET": path})
        assert manager.recv(100) == b"READY=1"
        server.signal(signal.SIGTERM)
        assert manager.recv(100) == b"STOPPING=1"
