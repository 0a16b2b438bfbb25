"""The pytest plugin: no tasklet dies unseen, and `--loomlet` runs tests in tasklets.

pytest loads it where loomlet is installed; `-p no:loomlet` leaves it out.

A tasklet that fails while nothing waits for it is reported on stderr, where a test suite hides it.
So the plugin is the error handler, unless the program has one already, and what it was given fails
the phase of the test (setup, call, teardown) in which it came, unless something has joined that
tasklet meanwhile.  A test that sets an error handler of its own sees the failure, and passes.

With --loomlet the whole session is inside loomlet.run(), with the blocking calls of the standard
library cooperative (loomlet.patch), so that tasklets of a fixture live as long as the fixture; each
test is a tasklet of its own.

Rejected: run() around each test, which would kill the tasklets of a session's fixture with the
first one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import pytest

import loomlet
from loomlet import _core, patch
from loomlet._runtime import report

UNSEEN = "tasklets have died unseen; join() them, or spawn them in a TaskGroup"

Step = Generator[None, object, object]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option --loomlet and the setting loomlet_unseen."""
    words = "run in loomlet.run(), each test in a tasklet; blocking calls let other tasklets run"
    parser.getgroup("loomlet").addoption("--loomlet", action="store_true", help=words)
    words = "a test fails when a tasklet has died that nothing joined (default: true)"
    parser.addini("loomlet_unseen", words, type="bool", default=True)


def pytest_configure(config: pytest.Config) -> None:
    """Registers what the options ask for."""
    if config.getini("loomlet_unseen"):
        config.pluginmanager.register(_Unseen(), "loomlet-unseen")
    if config.getoption("loomlet"):
        config.pluginmanager.register(_InTasklets(), "loomlet-tasklets")


class _Unseen:
    """Fails the tests in which tasklets die unseen."""

    def __init__(self) -> None:
        self._died: list[tuple[_core.Tasklet, BaseException]] = []
        self._handles = False

    def pytest_sessionstart(self) -> None:
        before = loomlet.set_error_handler(self._note)
        self._handles = before is None
        if before is not None:
            loomlet.set_error_handler(before)

    def pytest_sessionfinish(self) -> None:
        if self._handles:
            loomlet.set_error_handler(None)

    def _note(self, tasklet: _core.Tasklet, exception: BaseException) -> None:
        self._died.append((tasklet, exception))
        report(tasklet, exception)

    def _check(self) -> Step:
        result = yield
        died = [error for tasklet, error in self._died if not tasklet._observed]
        self._died.clear()
        if died:
            raise BaseExceptionGroup(UNSEEN, died)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Step:
        return (yield from self._check())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Step:
        return (yield from self._check())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Step:
        return (yield from self._check())


class _InTasklets:
    """Runs the session inside loomlet.run(), and each test in a tasklet."""

    def pytest_sessionstart(self) -> None:
        patch.install(threads=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object:
        manager = session.config.pluginmanager
        others: Callable[..., Any] = manager.subset_hook_caller("pytest_runtestloop", [self])
        return loomlet.run(partial(others, session=session))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Step:
        run_test = item.runtest
        item.runtest = lambda: loomlet.spawn(run_test).result()  # type: ignore[method-assign]
        try:
            return (yield)
        finally:
            del item.runtest
