"""run() ends with what main returned, whatever a signal handler does meanwhile."""

import contextlib
import signal
import threading
import warnings

import pytest

import loomlet
from loomlet import errors, schedule, spawn

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need main"
)


@pytest.fixture
def handler():
    """Sets the handler of SIGALRM."""
    before = signal.getsignal(signal.SIGALRM)
    yield lambda function: signal.signal(signal.SIGALRM, function)
    signal.signal(signal.SIGALRM, before)


class Raising(errors.TaskletExit):
    """Raises the signal where a TaskletExit is made, if Python code makes it."""

    def __new__(cls, *args):
        signal.raise_signal(signal.SIGALRM)
        return errors.TaskletExit.__new__(errors.TaskletExit, *args)


def test_a_handler_that_switches_where_the_exit_is_made(handler, monkeypatch, mode):
    """The victim ends by itself meanwhile: neither kill() nor run() fails."""
    handler(lambda number, frame: schedule())

    def main():
        task = spawn(int)
        monkeypatch.setattr(errors, "TaskletExit", Raising)
        task.kill()
        spawn(int)
        schedule()
        return "result"

    assert loomlet.run(main) == "result"


@pytest.mark.parametrize("seed", range(10))
def test_a_handler_that_switches_all_the_time(handler, seed, mode):
    """Each signal lets others run, spawns and sends, also while run() ends."""
    begun = []

    def work():
        begun.append(loomlet.current())
        try:
            loomlet.sleep(60)
        finally:
            for _ in range(seed):
                schedule()

    def handle(number, frame):
        if loomlet.current().state == "running" and len(begun) < 300:
            spawn(work)
            with contextlib.suppress(loomlet.SwitchTrapped):
                schedule()

    handler(handle)

    def main():
        for _ in range(20):
            spawn(work)
        schedule()
        signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
        return "result"

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # some never begin
            assert loomlet.run(main) == "result"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for task in begun:  # a signal may have come after run()
            task.kill()
    assert len(begun) >= 20


def test_an_exception_raised_in_main_meanwhile(mode):
    """The others are killed nevertheless; then it is raised, and run() has ended."""
    ended = []

    def work(name):
        try:
            loomlet.sleep(60)
        finally:
            ended.append(name)

    def interrupt(main):
        try:
            loomlet.sleep(60)
        finally:
            main.throw(KeyboardInterrupt("of main"))

    def main():
        for name in range(5):
            spawn(work, name)
        spawn(interrupt, loomlet.current())
        for name in range(5, 10):
            spawn(work, name)
        schedule()
        return "result"

    with pytest.raises(KeyboardInterrupt, match="of main"):
        loomlet.run(main)
    assert sorted(ended) == list(range(10))
    assert loomlet.run(lambda: "again") == "again"
