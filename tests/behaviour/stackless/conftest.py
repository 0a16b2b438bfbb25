"""What the tests of the Stackless API share.

The first words of each docstring name the row of docs/reference/stackless.md that the test holds
to: "Spec 3, tasklet.insert: ..." is the row `tasklet.insert` of its section 3.  The texts of errors
are those of Stackless Python, to the letter.
"""

from __future__ import annotations

import os
import pickle
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import loomlet.compat.stackless as stackless
from loomlet import _core


def _put_back() -> list[str]:
    """Restores the settings of the thread and the process; returns what was not as it should be."""
    wrong = []
    level = stackless.switch_trap(0)
    if level:
        stackless.switch_trap(-level)
        wrong.append(f"switch trap at {level}")
    for name in ("set_schedule_callback", "set_channel_callback", "set_error_handler"):
        if getattr(stackless, name)(None) is not None:
            wrong.append(f"{name} was left set")
    if stackless.pickle_flags(0) or stackless.pickle_flags_default(0):
        wrong.append("pickle flags were left set")
    current = stackless.getcurrent()
    if current.atomic or current.ignore_nesting or current.block_trap:
        current.set_atomic(False)
        current.set_ignore_nesting(False)
        current.block_trap = False
        wrong.append("flags of the main tasklet were left set")
    return wrong


@pytest.fixture(autouse=True)
def as_found(failures: object) -> Iterator[None]:
    """Every test ends in the main tasklet, alone in the run queue, all settings as before."""
    assert stackless.getcurrent() is stackless.getmain()
    yield
    wrong = _put_back()
    if stackless.getcurrent() is not stackless.getmain():
        wrong.append("the test did not end in the main tasklet")
    if stackless.getruncount() != 1:
        wrong.append(f"{stackless.getruncount() - 1} tasklets were left in the run queue")
    if len(_core.tasklets()) > 1 and not wrong:
        stackless.run()
    assert wrong == []


class Thread:
    """A thread that runs one function; result() waits for its end and gives its outcome."""

    def __init__(self, func: Callable[..., Any], *args: Any) -> None:
        self._func, self._args = func, args
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._thread.start()

    def _main(self) -> None:
        try:
            self._value = self._func(*self._args)
        except BaseException as error:  # raised again in result()
            self._error = error

    @property
    def id(self) -> int:
        """The thread's ident."""
        assert self._thread.ident is not None
        return self._thread.ident

    def join(self) -> None:
        """Waits for the end, but not for ever."""
        self._thread.join(60)
        assert not self._thread.is_alive(), "the thread hangs"

    def result(self) -> Any:
        """What the function returned; raises what it raised."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._value


@pytest.fixture
def thread() -> Iterator[Callable[..., Thread]]:
    """Starts threads: thread(func, *args) gives a Thread; all have ended when the test is over."""
    made: list[Thread] = []

    def start(func: Callable[..., Any], *args: Any) -> Thread:
        made.append(Thread(func, *args))
        return made[-1]

    yield start
    for one in made:
        one.join()


@pytest.fixture
def soft() -> None:
    """Skips where a tasklet that waits may keep its C stack for no reason of the program."""
    if not _core.soft() or "switch" in os.environ.get("LOOMLET_TORTURE", ""):
        pytest.skip("soft switching is off or not supported here")


@pytest.fixture
def raises() -> Callable[[type[BaseException], str], Any]:
    """raises(kind, text): as pytest.raises, for exactly this text."""

    def expect(kind: type[BaseException], text: str) -> Any:
        return pytest.raises(kind, match=f"^{re.escape(text)}$")

    return expect


@pytest.fixture(params=range(pickle.HIGHEST_PROTOCOL + 1))
def through(request: pytest.FixtureRequest) -> Callable[[Any], list[Any]]:
    """through(value): what comes back by the pickler in C and by the one in Python."""

    def both(value: Any) -> list[Any]:
        dumped = [dumps(value, request.param) for dumps in (pickle.dumps, pickle._dumps)]
        return [pickle.loads(data) for data in dumped]

    return both
