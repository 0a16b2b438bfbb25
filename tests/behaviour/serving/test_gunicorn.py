"""`gunicorn -k loomlet.http.gunicorn.Worker`: the worker of loomlet in processes of gunicorn."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("gunicorn")

PATIENCE = 30
LISTENS = re.compile(r"Listening at: https?://127.0.0.1:(\d+) ")
APPLICATION = """
import os, threading, time
local = threading.local()
def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/slow":
        time.sleep(1)
    if path == "/forever":
        while True:
            time.sleep(1)
    if path == "/stuck":
        import ctypes
        ctypes.PyDLL(None).sleep(60)
    if path == "/fails":
        raise KeyError("in the view")
    fresh = not hasattr(local, "seen")
    local.seen = True
    start_response("200 OK", [])
    return [f"{os.getpid()} {fresh} {environ['wsgi.url_scheme']}".encode()]
"""


class Gunicorn:
    """An arbiter, and what it has logged."""

    def __init__(self, folder, *flags):
        worker = ("-k", "loomlet.http.gunicorn.Worker", "-b", "127.0.0.1:0")
        command = [sys.executable, "-m", "gunicorn", *worker, *flags, "site_app:app"]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": ""}
        self.process = subprocess.Popen(
            command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.log = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.log += line

    def wait_for(self, words):
        end = time.monotonic() + PATIENCE
        while words not in self.log:
            assert time.monotonic() < end, f"not logged: {words!r}\n{self.log}"
            time.sleep(0.01)  # another process logs it

    def client(self, timeout=PATIENCE, tls=None):
        self.wait_for("Listening at")
        port = int(LISTENS.search(self.log)[1])
        if tls is not None:
            return http.client.HTTPSConnection("127.0.0.1", port, context=tls, timeout=timeout)
        return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def get(self, path="/", fields=None, **options):
        """(status, words of the body)"""
        client = self.client(**options)
        try:
            client.request("GET", path, headers={"Connection": "close", **(fields or {})})
            answer = client.getresponse()
            return answer.status, answer.read().decode().split()
        finally:
            client.close()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()  # the workers see that it has gone
            self.process.wait()
        self._reader.join(PATIENCE)
        self.process.stderr.close()


@pytest.fixture
def gunicorn(tmp_path):
    """Starts gunicorn with the application of this file."""
    (tmp_path / "site_app.py").write_text(APPLICATION)
    made = []

    def start(*flags):
        made.append(Gunicorn(tmp_path, *flags))
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_requests(gunicorn):
    """Each is a thread of its own; what fails is logged where gunicorn logs."""
    server = gunicorn("--access-logfile", "/dev/stderr", "--access-logformat", "took %(m)s %(s)s")
    assert [server.get()[1][1:] for _ in range(3)] == [["True", "http"]] * 3
    assert server.get(fields={"X-Forwarded-Proto": "https"})[1][2] == "https"
    assert server.get("/fails")[0] == 500
    server.wait_for("KeyError: 'in the view'")
    server.wait_for("took GET 500")
    assert server.end() == 0


def test_what_blocks_holds_up_nobody(gunicorn):
    server = gunicorn("--graceful-timeout", "1")
    with socket.create_connection((server.client().host, server.client().port)) as slow:
        slow.sendall(b"GET /forever HTTP/1.1\r\nHost: a\r\n\r\n")
        assert server.get()[0] == 200
        assert server.end() == 0


def test_ending_answers_what_was_begun(gunicorn):
    server = gunicorn()
    server.get()
    found = []
    asking = threading.Thread(target=lambda: found.append(server.get("/slow")))
    asking.start()
    time.sleep(0.3)  # it sleeps in the worker for a second
    assert server.end() == 0
    asking.join()
    assert found[0][0] == 200


def test_sigquit_waits_for_nobody(gunicorn):
    server = gunicorn("--graceful-timeout", "600")
    server.get()
    client = server.client()
    client.request("GET", "/forever")
    time.sleep(0.3)  # it has begun in the worker
    assert server.end(signal.SIGQUIT) == 0
    with pytest.raises(ConnectionError):
        client.getresponse()
    client.close()


@pytest.mark.slow
def test_workers_are_replaced(gunicorn):
    """By max_requests, on SIGHUP, and when the arbiter has heard nothing for too long."""
    server = gunicorn("--max-requests", "3", "--timeout", "3")
    first = server.get()[1][0]
    assert _until_another(server, first) != first
    server.wait_for("Autorestarting worker after")
    client = server.client()
    client.request("GET", "/stuck")
    server.wait_for("WORKER TIMEOUT")
    client.close()
    assert server.get()[0] == 200


def _until_another(server, *known):
    end = time.monotonic() + PATIENCE
    while (pid := server.get()[1][0]) in known:
        assert time.monotonic() < end, server.log
        time.sleep(0.02)  # another process has to begin
    return pid


def test_reloading(gunicorn):
    server = gunicorn()
    first = server.get()[1][0]
    server.process.send_signal(signal.SIGHUP)
    assert _until_another(server, first) != first


@pytest.mark.slow
def test_a_worker_whose_arbiter_has_gone_ends(gunicorn):
    server = gunicorn()
    pid = int(server.get()[1][0])
    server.process.kill()
    server.process.wait()
    server.wait_for("Parent changed, shutting down")
    end = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < end, server.log
        time.sleep(0.05)  # it ends by itself


def test_an_application_that_cannot_be_imported(gunicorn, tmp_path):
    (tmp_path / "site_app.py").write_text("1 / 0\n")
    server = gunicorn()
    server.wait_for("ZeroDivisionError")
    assert server.process.wait(PATIENCE) == 3


def test_tls(gunicorn, certificates):
    files = [certificates.path(f"server.{end}") for end in ("pem", "key")]
    server = gunicorn("--certfile", files[0], "--keyfile", files[1])
    assert server.get(tls=certificates.client())[1][1:] == ["True", "https"]
