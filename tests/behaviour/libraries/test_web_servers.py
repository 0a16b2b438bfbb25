"""Web servers, unmodified, under `python -m loomlet run`, asked by forty clients at once."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers_servers import Address, free_port

CLIENTS = 40
HERE = Path(__file__).parent
APPS = HERE / "helpers_web_apps.py"


class Server(NamedTuple):
    """Its modules, its command line, how many views it runs at once, what ends it, its status.

    And whether it has its own handler for that signal, instead of KeyboardInterrupt.
    """

    needs: str
    command: str
    at_once: int = CLIENTS
    end: signal.Signals = signal.SIGINT
    status: int = 0
    handler: bool = False


SERVERS = {
    "werkzeug": Server("flask", "-m flask --app helpers_web_apps:flask run --port {port}"),
    "django": Server("django", f"{APPS} runserver --noreload 127.0.0.1:{{port}}"),
    "uvicorn": Server(
        "fastapi uvicorn",
        "-m uvicorn --factory helpers_web_apps:fastapi --port {port}",
        handler=True,
    ),
    "gunicorn-sync": Server(
        "gunicorn",
        "-m gunicorn -w 2 -b 127.0.0.1:{port} helpers_web_apps:wsgi",
        at_once=2,
        end=signal.SIGTERM,
        handler=True,
    ),
    "gunicorn-gthread": Server(
        "gunicorn",
        f"-m gunicorn -k gthread --threads {CLIENTS} -b 127.0.0.1:{{port}} helpers_web_apps:wsgi",
        end=signal.SIGTERM,
        handler=True,
    ),
    "waitress": Server(
        "waitress",
        f"-m waitress --threads={CLIENTS} --listen=127.0.0.1:{{port}} helpers_web_apps:wsgi",
    ),
    "cheroot": Server(
        "cheroot",
        f"-m cheroot --threads {CLIENTS} --bind 127.0.0.1:{{port}} helpers_web_apps:wsgi",
        status=-signal.SIGINT,  # it closes its sockets and raises KeyboardInterrupt again
    ),
}
CASES = [(name, "") for name in SERVERS] + [("uvicorn", "_async")]


def until(enough, child, log):
    """Polls; fails with what the server printed if it ends meanwhile."""
    limit = time.monotonic() + 60
    while not enough():
        assert child.poll() is None and time.monotonic() < limit, log.read_text()
        time.sleep(0.01)


def is_idle(child):
    """Whether all its tasklets wait, so that KeyboardInterrupt is raised in main.

    Otherwise it is raised in the one that runs, and the workers of waitress catch it.
    """
    command = [sys.executable, "-m", "loomlet", "dump", str(child.pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return ", 0 of them runnable" in done.stdout and " running" not in done.stdout


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def started(command, log, marks):
    """Inside, the program runs; it is killed at the end if it has not ended."""
    paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
    names = {"PYTHONPATH": os.pathsep.join(paths), "LOOMLET_WEB_MARKS": str(marks)}
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "loomlet", "run", *command],
            cwd=log.parent,
            env={**os.environ, **names},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # its workers too
        child.wait()


@pytest.mark.parametrize(("name", "kind"), CASES, ids=[name + kind for name, kind in CASES])
def test_slow_views_delay_no_others(name, kind, tmp_path):
    """All but one of the views it can run at once sleep; forty clients get answers meanwhile.

    The sleeping ones are released after that and answer too; a signal ends the server.
    """
    server = SERVERS[name]
    for module in server.needs.split():
        pytest.importorskip(module)
    port, marks, log = free_port(), tmp_path / "marks", tmp_path / "log"
    marks.mkdir()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(view, number):
        url = f"{Address(port, '').url}/{view}{kind}?n={number}"
        with opener.open(url, timeout=60) as response:
            return response.read().decode()

    held = range(server.at_once - 1)
    with (
        ThreadPoolExecutor(2 * CLIENTS) as clients,
        started(server.command.format(port=port).split(), log, marks) as child,
    ):
        until(lambda: listens(port), child, log)
        slow = [clients.submit(ask, "slow", number) for number in held]
        until(lambda: len(list(marks.iterdir())) == len(held), child, log)
        plain = list(clients.map(lambda number: ask("plain", number), range(CLIENTS)))
        assert plain == [f"plain{kind} {number}" for number in range(CLIENTS)]
        assert not any(one.done() for one in slow)
        tmp_path.joinpath("go").touch()
        assert [one.result() for one in slow] == [f"slow{kind} {number}" for number in held]
        until(lambda: server.handler or is_idle(child), child, log)
        child.send_signal(server.end)
        assert child.wait(60) == server.status, log.read_text()
    assert log.read_text().count("Traceback") == (server.status != 0)
