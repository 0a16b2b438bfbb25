"""Workers that come and go under load: reloads, `kill -9`, the end.

LOOMLET_STRESS=100 makes it 1 000 reloads and 300 kills, in some three minutes.
"""

import os
import signal

import pytest
from helpers_http_clients import Clients
from helpers_serving import Serving

CLIENTS = 16
WORKERS = 2
APPLICATION = """
import os
NAME = b"%d %s" % (os.getpid(), os.urandom(4).hex().encode())  # numbers come again
BEGUN = os.open("begun", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
def app(environ, start_response):
    os.write(BEGUN, b"x")
    start_response("200 OK", [])
    return [NAME]
"""


@pytest.fixture
def server(tmp_path):
    """With two workers."""
    (tmp_path / "site_app.py").write_text(APPLICATION)
    made = Serving(tmp_path, "site_app", "--port", "0", "--workers", str(WORKERS))
    made.get()
    yield made
    made.close()
    assert "has not ended well" not in made.log
    assert "Traceback" not in made.log


@pytest.mark.parametrize("keeps", [False, True], ids=["new connections", "kept connections"])
def test_reloads_lose_nothing(server, scaled, keeps):
    """All that the kernel has connected is answered, by one worker or its successor."""
    rounds = scaled(10)
    with Clients(server.port, CLIENTS, keeps=keeps) as clients:
        clients.wait_for(100)
        for count in range(1, rounds + 1):
            known = len(clients.bodies)
            server.signal(signal.SIGHUP)
            server.wait_for("SIGHUP: the workers are replaced", count)
            clients.wait_until(lambda known=known: len(clients.bodies) >= known + WORKERS)
    assert clients.bad() == {}
    assert len(clients.bodies) >= WORKERS * (rounds + 1) - 1


def test_a_killed_worker_takes_its_own_connections_along(server, scaled):
    """And no others: those that it has not accepted wait for the next one."""
    kills = scaled(3)
    with Clients(server.port, CLIENTS) as clients:
        for _ in range(kills):
            clients.wait_for(100)
            os.kill(int(server.get()[1].split()[0]), signal.SIGKILL)
        clients.wait_for(100)
    bad = clients.bad()
    assert bad.pop("lost", 0) + bad.pop("cut", 0) <= kills * CLIENTS
    assert bad == {}
    assert server.log.count("has ended (SIGKILL)") == kills


@pytest.mark.parametrize("keeps", [False, True], ids=["new connections", "kept connections"])
def test_the_end_answers_all_that_was_begun(server, tmp_path, keeps):
    with Clients(server.port, CLIENTS, keeps=keeps) as clients:
        clients.wait_for(500)
        assert server.end() == 0
    begun = len((tmp_path / "begun").read_bytes()) - 1
    assert begun == clients.answered
    assert clients.count["cut"] == clients.count["late"] == 0
    assert clients.count["refused"] > 0
