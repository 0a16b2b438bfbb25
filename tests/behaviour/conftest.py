"""What the behaviour tests share.

Each test runs on the scheduler of pytest's own thread: the test function is the
main tasklet.  Around every test the scheduler is put back as it was, and a
tasklet that failed unobserved fails the test.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

import loomlet
from loomlet import _core

pytest.register_assert_rewrite("helpers_ending_waits")

Failures = list[tuple[loomlet.Tasklet, BaseException]]


_left: list[loomlet.Tasklet] = []


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """What a test leaves behind is ended: a collection that comes first would warn of it."""
    result = yield
    _left.extend(_core.tasklets()[1:])
    return result


def _end_all() -> None:
    """Ends every tasklet that the test left behind."""
    for _ in range(10):
        for tasklet in _core.tasklets()[1:]:
            with contextlib.suppress(loomlet.LoomletError):
                tasklet.kill()
        if len(_core.tasklets()) == 1:
            return


@pytest.fixture(autouse=True)
def failures() -> Iterator[Failures]:
    """The (tasklet, exception) pairs that reached the error handler.

    A test that expects some removes them; any that remain fail the test.
    """
    seen: Failures = []
    soft = _core.soft()
    previous = loomlet.set_error_handler(lambda tasklet, error: seen.append((tasklet, error)))
    yield seen
    unexpected = list(seen)
    _core._virtual_clock(None)
    _core._seed(0)
    _end_all()
    _left.clear()
    _core.soft(soft)
    loomlet.set_error_handler(previous)
    assert unexpected == []


@pytest.fixture(params=["soft", "hard"] if _core.soft() else ["hard"])
def mode(request: pytest.FixtureRequest) -> str:
    """Runs the test twice: with soft switching where it is possible, and without."""
    _core.soft(request.param == "soft")
    return request.param


class Count:
    """Switches of spawned tasklets since the last look, by kind; not the main tasklet's."""

    def __init__(self) -> None:
        self._base = self._now()

    @staticmethod
    def _now() -> tuple[int, int]:
        stats = _core.stats()
        hard = sum(n for why, n in stats["why_hard"].items() if why != "main tasklet")
        return stats["soft"], hard

    def take(self) -> tuple[int, int]:
        """(soft, hard) switches since the last call."""
        now, base = self._now(), self._base
        self._base = now
        return now[0] - base[0], now[1] - base[1]


@pytest.fixture
def switches() -> Count:
    """Counts switches; skips where every switch is hard."""
    if not _core.soft() or "switch" in os.environ.get("LOOMLET_TORTURE", ""):
        pytest.skip("soft switching is off or not supported here")
    return Count()


@pytest.fixture
def caught() -> Callable[..., loomlet.Tasklet]:
    """Spawns a call; the tasklet's result is the exception that came out of it, or None."""

    def run(function: Callable[..., object], *args: object) -> BaseException | None:
        try:
            function(*args)
        except BaseException as error:
            return error
        return None

    return lambda function, *args: loomlet.spawn(run, function, *args)


@pytest.fixture
def clock() -> Callable[[], float]:
    """A virtual clock: stands still and jumps to the next timer when nothing can run."""
    _core._virtual_clock(0.0)
    return loomlet.now


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program text in an interpreter of its own and returns the completed process."""

    def run(program: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-X", "faulthandler", "-W", "error"]
        command += ["-c", textwrap.dedent(program), *args]
        options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120}
        return subprocess.run(command, env={**os.environ, **env}, check=False, **options)

    return run


@pytest.fixture
def alarm() -> Iterator[Callable[[Callable[[int, object], object]], None]]:
    """Runs a function as the handler of a signal, 0.05 s later.

    The signal comes again until it is served: one that comes right before a call of C waits for the
    end of that call, under any Python. When the test ends the timer is off and SIGALRM has its
    handler of before, also where the test has set them itself.
    """

    def later(handler: Callable[[int, object], object]) -> None:
        served: list[int] = []

        def once(number: int, frame: object) -> None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            if not served:  # on a busy machine another one has come by now
                served.append(number)
                handler(number, frame)

        signal.signal(signal.SIGALRM, once)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)

    before = signal.getsignal(signal.SIGALRM)
    yield later
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Those of the tests, and contexts with them; only their tests import ssl."""
    from helpers_certificates import Certificates

    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl command on this machine, which makes the certificates")
    return Certificates(tmp_path_factory.mktemp("certificates"), openssl)
