"""Workers: they are replaced, and no request is lost."""

import os
import signal
import socket
import threading
import time

import pytest

PID = """
import os, time
def app(environ, start_response):
    if environ["PATH_INFO"] == "/slow":
        time.sleep(1)
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
"""


def worker_of(server):
    return int(server.get()[1])


def until_another(server, *known):
    """The number of a worker that is none of these."""
    end = time.monotonic() + 30
    while (pid := worker_of(server)) in known:
        assert time.monotonic() < end, server.log
        time.sleep(0.02)  # another process has to begin
    return pid


def test_one_that_is_killed_is_replaced(serve, program):
    program(PID)
    server = serve("site_app")
    first = worker_of(server)
    os.kill(first, signal.SIGKILL)
    assert until_another(server, first) != first
    assert f"worker {first} has ended (SIGKILL)" in server.log


def test_what_is_connected_waits_for_the_next_worker(serve, program):
    """The parent keeps the socket open, so a connection that nobody has accepted is not lost."""
    program(PID)
    server = serve("site_app")
    first = worker_of(server)
    os.kill(first, signal.SIGSTOP)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        os.kill(first, signal.SIGKILL)
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")


def test_one_that_does_not_answer_is_replaced(serve, program):
    program(PID)
    server = serve("site_app", "--timeout-worker-healthcheck", "2")
    first = worker_of(server)
    os.kill(first, signal.SIGSTOP)
    server.wait_for(f"worker {first} has not answered for 2 s and is killed")
    assert worker_of(server) != first


def child_of(server):
    number = server.process.pid
    with open(f"/proc/{number}/task/{number}/children") as file:
        return int(file.read())


@pytest.mark.parametrize("to_parent", [False, True])
def test_one_that_serves_a_folder_prints_what_it_does(serve, to_parent):
    """SIGUSR1 asks for it, of the worker or by way of the parent; both go on."""
    server = serve(".")
    server.wait_for(" serves\n")
    worker = child_of(server)
    os.kill(server.process.pid if to_parent else worker, signal.SIGUSR1)
    server.wait_for(f"process {worker}: ")
    assert server.get()[0] == 200
    assert child_of(server) == worker


def test_a_handler_that_the_application_has_comes_first(serve, program):
    """Also one that was set in the parent."""
    handler = "lambda *_: print('mine', file=sys.stderr)"
    program(f"import signal, sys\nsignal.signal(signal.SIGUSR1, {handler})\n{PID}")
    server = serve("site_app", "--preload")
    os.kill(worker_of(server), signal.SIGUSR1)
    server.wait_for("mine\n")


def test_all_are_replaced_on_request(serve, program):
    """With the program as it is then."""
    program(PID)
    server = serve("site_app", "--workers", "2")
    first = {worker_of(server) for _ in range(50)}
    program("import os\ndef app(environ, start_response):\n    start_response('200 OK', [])\n"
            "    return [b'new']\n")  # fmt: skip
    server.signal(signal.SIGHUP)
    end = time.monotonic() + 30
    while any(server.get()[1] != b"new" for _ in range(50)):
        assert time.monotonic() < end, server.log
    assert len(first) == 2


def test_a_program_that_cannot_begin_replaces_nobody(serve, program):
    program(PID)
    server = serve("site_app")
    first = worker_of(server)
    program("1 / 0\n")
    server.signal(signal.SIGHUP)
    server.wait_for(f"the new worker could not begin: worker {first} goes on")
    assert worker_of(server) == first


def test_replacing_loses_no_request(serve, program):
    """Clients that keep their connections get an answer to each request, or are told before."""
    program(PID)
    server = serve("site_app", "--workers", "2")
    server.get()
    counts = {"answered": 0, "lost": 0}
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            try:
                assert server.get(timeout=30)[0] == 200
                counts["answered"] += 1
            except OSError:
                counts["lost"] += 1

    clients = [threading.Thread(target=ask) for _ in range(4)]
    for client in clients:
        client.start()
    for count in range(1, 6):
        server.signal(signal.SIGHUP)
        server.wait_for("SIGHUP", count)
        time.sleep(0.3)  # the workers change while clients ask
    stop.set()
    for client in clients:
        client.join()
    assert counts["lost"] == 0
    assert counts["answered"] > 0


def test_ending_answers_what_was_begun(serve, program):
    program(PID)
    server = serve("site_app")
    server.get()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.2)  # it sleeps in the worker for a second
        server.signal(signal.SIGTERM)
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
    assert server.process.wait(30) == 0


WAITING = """
import os, time
def app(environ, start_response):
    start_response("200 OK", [])
    yield b"begun"
    while not os.path.exists("go-on"):
        time.sleep(0.01)  # until the test says so
    yield b"ended"
"""


def test_who_comes_when_it_ends_is_refused(serve, program, tmp_path):
    """While what was begun goes on, and nobody accepts from the sockets any more."""
    program(WAITING)
    server = serve("site_app", "--workers", "2")
    address = ("127.0.0.1", server.port)
    with socket.create_connection(address, timeout=30) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answer = b""
        while not answer.endswith(b"begun"):
            answer += client.recv(100)
        server.signal(signal.SIGTERM)
        with pytest.raises(ConnectionRefusedError):
            for _ in range(1000):
                socket.create_connection(address, timeout=30).close()
                time.sleep(0.02)  # the signal has to arrive
        (tmp_path / "go-on").touch()
        assert client.recv(100) == b"ended"
    assert server.process.wait(30) == 0


def test_ending_does_not_wait_for_ever(serve, program):
    program(PID.replace("sleep(1)", "sleep(600)"))
    server = serve("site_app", "--timeout-graceful-shutdown", "1")
    server.get()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.2)  # it sleeps in the worker
        server.signal(signal.SIGTERM)
        assert server.process.wait(30) == 0


@pytest.mark.parametrize(
    "flags",
    [["--limit-max-requests", "3"], ["--workers-lifetime", "1"], ["--workers-max-rss", "1"]],
)
def test_a_worker_that_has_done_its_part_is_replaced(serve, program, flags):
    program(PID)
    server = serve("site_app", *flags)
    first = worker_of(server)
    assert until_another(server, first) != first


def test_an_application_that_is_imported_once(serve, program):
    """--preload: by the parent."""
    program("import os\nparent = os.getpid()\ndef app(environ, start_response):\n"
            "    start_response('200 OK', [])\n    return [str(parent).encode()]\n")  # fmt: skip
    server = serve("site_app", "--preload", "--workers", "2")
    assert worker_of(server) == server.process.pid


COLLECTED = """
import gc
def app(environ, start_response):
    seen = {id(one) for one in gc.get_objects()}
    start_response("200 OK", [])
    return [b"%d %d" % (id(gc.__dict__) in seen, id(globals()) in seen)]
"""


def test_the_collector_of_a_worker_leaves_what_it_shares_with_the_parent_alone(serve, program):
    """Else it would write to each of those objects, and the worker would have all of it twice."""
    program(COLLECTED)
    assert serve("site_app").get()[1] == b"0 1"
