"""A server under load: minutes of wrk, ten times what it can do, and no memory.

LOOMLET_STRESS=100 makes it ten minutes of wrk, and some of overload.
"""

import json
import re
import resource
import shutil
import signal
import subprocess
import sys

import pytest
from helpers_http_clients import Clients, resident
from helpers_serving import Serving

APPLICATION = """
import os, time
def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/slow":
        time.sleep(0.02)
    body = b"x" * 50_000_000 if path == "/much" else b"hello " * 20
    start_response("200 OK", [("X-Worker", str(os.getpid()))])
    return [body]
"""


@pytest.fixture
def serve(tmp_path):
    """Starts servers of the application, and of the files beside it."""
    (tmp_path / "site_app.py").write_text(APPLICATION)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "page").write_bytes(b"y" * 6900)
    made = []

    def start(*flags, **options):
        flags += ("--static-path-mount", "/static=files", "--status-path", "/-/status")
        made.append(Serving(tmp_path, "site_app", "--port", "0", *flags, **options))
        return made[-1]

    yield start
    for one in made:
        one.close()


def worker_of(server):
    """The number of its one worker, which has begun."""
    server.get("/-/status")
    listed = subprocess.run(
        ["ps", "--ppid", str(server.process.pid), "-o", "pid="], capture_output=True, check=True
    )
    [number] = map(int, listed.stdout.split())
    return number


# ---- wrk --------------------------------------------------------------------------------------


def run_wrk(wrk, server, path, seconds):
    """How many requests were answered; all of them were, and well."""
    address = f"{server.port}{path}"
    command = [wrk, "-t1", "-c64", f"-d{seconds}s", "http:" + f"//127.0.0.1:{address}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Socket errors" not in said and "Non-2xx" not in said, said
    return int(re.search(r"(\d+) requests in", said)[1])


def test_minutes_of_wrk_and_a_clean_end(serve, scaled):
    """Memory is what it was when the server was warm."""
    wrk = shutil.which("wrk")
    if wrk is None:
        pytest.skip("no wrk on this machine: the server is NOT put under its load")
    server = serve("--access-log")
    pid = worker_of(server)
    paths = ("/", "/static/page", "/static/", "/slow")
    sizes, requests = [], 0
    for seconds in (1, max(1, scaled(6) // len(paths))):
        requests = sum(run_wrk(wrk, server, path, seconds) for path in paths)
        sizes.append(resident(pid))
    assert requests > 1000
    assert sizes[1] < sizes[0] * 1.1 + 2**20
    assert worker_of(server) == pid
    assert server.end() == 0
    assert "Traceback" not in server.log
    assert "ERROR" not in server.log


# ---- ten times as many as it can take -----------------------------------------------------------

MOST = 100
MANY = 1600
"""More than run and queue together."""


@pytest.fixture
def many_descriptors():
    """For both ends of each connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * MANY:
        pytest.skip(f"this test needs {2 * MANY} descriptors, and {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * MANY), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_overload(serve, scaled):
    """Who cannot queue is told when to come again; files and status go on, memory is bounded."""
    server = serve("--limit-concurrency", str(MOST))
    pid = worker_of(server)
    with Clients(server.port, MOST, "/slow", keeps=True) as clients:
        clients.wait_for(10 * MOST)
    normal = resident(pid)
    found = []
    with Clients(server.port, MANY, "/slow", keeps=True) as clients:

        def look():
            for path in ("/static/page", "/-/status"):
                status, body = server.get(path)
                assert status == 200, body
            found.append((json.loads(body)["busy"], resident(pid)))

        clients.wait_for(scaled(5 * MANY), meanwhile=look)
        clients.wait_until(lambda: clients.count[503], look)
    assert clients.bad() == {}
    assert set(clients.count) == {200, 503}
    assert set(clients.retry_after) == {"1"}
    busy, sizes = zip(*found, strict=True)
    assert max(busy) <= MOST + 1
    assert max(sizes) < 1.5 * normal
    assert server.end() == 0


# ---- no memory --------------------------------------------------------------------------------


def limited(megabytes):
    """In the child: its address space."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20,) * 2)


def test_no_memory_at_the_start(tmp_path):
    """It ends with an error that says so; an interpreter that cannot begin says it by an abort."""
    (tmp_path / "site_app.py").write_text(APPLICATION)
    for megabytes in (30, 100):
        done = subprocess.run(
            [sys.executable, "-m", "loomlet", "serve", "site_app", "--port", "0"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limited(megabytes),
            timeout=60,
        )
        assert done.returncode not in (0, -signal.SIGSEGV), done.stderr
        assert "emory" in done.stderr


def test_no_memory_under_load(serve):
    """What needs too much is refused, and all the others are answered: 20 times 50 MB in 600."""
    server = serve(preexec_fn=limited(600))
    pid, seen = worker_of(server), set()
    with (
        Clients(server.port, 20, "/much", keeps=True, pause=0.01) as hungry,
        Clients(server.port, 20, "/", keeps=True) as others,
    ):
        others.wait_until(
            lambda: hungry.count[503] >= 20 and others.answered >= 1000,
            lambda: seen.add(server.get("/static/page")[0]),
        )
    assert seen == {200}
    assert set(hungry.count) <= {200, 503}
    assert set(others.count) <= {200, 503}
    assert worker_of(server) == pid
    assert "MemoryError" in server.log
    assert server.end() == 0
