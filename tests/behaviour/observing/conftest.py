"""Fixtures of the observing tests: programs that run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loomlet import observe

Done = subprocess.CompletedProcess[str]


@pytest.fixture
def command() -> Callable[..., Done]:
    """Runs `python -m loomlet` with these arguments."""

    def run(*args: object, cwd: Path | None = None, **env: str) -> Done:
        line = [sys.executable, "-W", "error", "-m", "loomlet", *map(str, args)]
        options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120}
        return subprocess.run(line, env={**os.environ, **env}, cwd=cwd, check=False, **options)

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a program to a file."""

    def write(text: str, name: str = "script.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def begin() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a program, waits until it prints `ready`, and ends it with the test."""
    started = []

    def start(program: str, *args: object, **env: str) -> subprocess.Popen[str]:
        line = [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *map(str, args)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        options: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, **pipes}
        process = subprocess.Popen(line, env={**os.environ, **env}, **options)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()
        return process

    yield start
    for process in started:
        process.kill()
        print(process.communicate()[1])  # pytest shows it if the test has failed


@pytest.fixture
def look() -> Callable[..., observe.Dump]:
    """observe.dump(pid), repeated until the condition holds."""

    def ask(pid: int, until: Callable[[observe.Dump], object] = lambda dump: True) -> observe.Dump:
        end = time.monotonic() + 60
        while True:
            found = observe.dump(pid)
            if until(found) or time.monotonic() > end:
                return found
            time.sleep(0.01)  # a pause between two looks

    return ask
