"""What the tests of unmodified libraries share: real servers, started once for all of them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import helpers_servers
import helpers_simultaneous_waits
import pytest
from helpers_servers import Address

from loomlet import _core, patch


def _server(name: str) -> Iterator[Address]:
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(helpers_servers.running(name))
        except helpers_servers.NoServer as error:
            pytest.skip(f"no {name} server: {error}")
        yield address


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Address]:
    """Where a redis server is."""
    yield from _server("redis")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Address]:
    """Where a PostgreSQL server is."""
    yield from _server("postgresql")


@pytest.fixture(scope="session")
def nginx_server() -> Iterator[Address]:
    """Where an nginx is."""
    yield from _server("nginx")


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Address]:
    """Where a MariaDB server is."""
    yield from _server("mariadb")


@pytest.fixture
def alone(request: pytest.FixtureRequest) -> Callable[..., str]:
    """Runs helpers_simultaneous_waits.py in another process; returns its output or its errors."""
    here = Path(__file__).parent

    def run(order: str, library: str, count: int, **env: str) -> str:
        address = request.getfixturevalue(f"{helpers_simultaneous_waits.SERVERS[library]}_server")
        command = [
            sys.executable,
            "-P",
            str(here / "helpers_simultaneous_waits.py"),
            order,
            library,
            str(count),
        ]
        paths = [str(here), str(here.parents[1]), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [*command, json.dumps(dataclasses.asdict(address))],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )
        return done.stdout if done.returncode == 0 else done.stderr

    return run


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Writes a program into a file and runs it under `python -m loomlet run`."""

    def run(
        text: str, *args: str, typed: str = "", options: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        return subprocess.run(
            [sys.executable, "-m", "loomlet", "run", *options, str(path), *args],
            input=typed,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


@pytest.fixture
def run_with_handoff(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> Callable[..., str]:
    """Runs a program under `python -m loomlet run --handoff`; returns what it printed."""
    if not _core._can_hand_over():
        pytest.skip("handoff needs 3.12 or later")
    if "switch" in os.environ.get("LOOMLET_TORTURE", ""):
        pytest.skip("all tasklets keep a stack by turns here, and wait for who sits beside them")

    def run(text: str, *args: str) -> str:
        done = run_program(text, *args, options=("--handoff",))
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(autouse=True)
def patched() -> Iterator[None]:
    """The standard library lets other tasklets run."""
    patch.install()
    yield
    patch.uninstall()
