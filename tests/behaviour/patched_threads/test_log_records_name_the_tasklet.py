"""logging under patch: a record knows the tasklet that has made it, and the right thread."""

import logging
import threading

import pytest

import loomlet
from loomlet import patch, spawn


@pytest.fixture
def lines():
    """What a logger named `here` has said, formatted with the tasklet's and the thread's name."""
    said = []

    class Keep(logging.Handler):
        def emit(self, record):
            said.append(self.format(record))

    handler = Keep()
    handler.setFormatter(logging.Formatter("%(tasklet)s %(threadName)s %(message)s"))
    logger = logging.getLogger("here")
    logger.addHandler(handler)
    logger.propagate = False
    yield said
    logger.removeHandler(handler)


def test_names_of_tasklets_and_threads(lines):
    """Of main, a spawned tasklet, a thread that is a tasklet, and one of the system."""
    log = logging.getLogger("here")

    def main():
        log.warning("one")
        task = spawn(log.warning, "two")
        task.name = "task"
        task.join()
        thread = threading.Thread(target=log.warning, args=("three",), name="thread")
        thread.start()
        thread.join()

    loomlet.run(main)
    other = threading.Thread(target=log.warning, args=("four",), name="other")
    other.start()
    other.join()
    assert lines == [
        "main MainThread one",
        "task MainThread two",
        "thread thread three",
        "main other four",
    ]


def test_a_thread_gets_no_scheduler_by_logging():
    """Logging alone does not make a thread one with tasklets."""
    counts = []

    def body():
        logging.getLogger("here").debug("nothing")
        logging.getLogRecordFactory()("name", 10, "path", 1, "text", (), None)
        counts.append(loomlet._core._threads())

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert counts == [[]]


def test_the_factory_of_the_user_is_called():
    """What it adds is there too; uninstall() gives it back."""
    patch.uninstall()

    def factory(*args, **names):
        record = logging.LogRecord(*args, **names)
        record.mine = "mine"
        return record

    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(factory)
    try:
        patch.install()
        record = logging.getLogger("here").makeRecord("here", 10, "path", 1, "text", (), None)
        assert (record.mine, record.tasklet) == ("mine", "main")
        patch.uninstall()
        assert logging.getLogRecordFactory() is factory
    finally:
        logging.setLogRecordFactory(before)


def test_a_factory_that_came_later_stays():
    """uninstall() removes nothing that other code has set."""
    before = logging.getLogRecordFactory()

    def later(*args, **names):
        record = before(*args, **names)
        record.later = True
        return record

    logging.setLogRecordFactory(later)
    patch.uninstall()
    try:
        assert logging.getLogRecordFactory() is later
        record = logging.getLogger("here").makeRecord("here", 10, "path", 1, "text", (), None)
        assert record.later
        assert not hasattr(record, "tasklet")
    finally:
        logging.setLogRecordFactory(logging.LogRecord)


def test_uninstall_takes_it_off():
    """Records are as they were."""
    patch.uninstall()
    assert logging.getLogRecordFactory() is logging.LogRecord


def test_killed_workers_of_an_executor_say_nothing(python):
    """Other exceptions that end one are logged as usual."""
    done = python("""
        import sys
        from concurrent.futures import ThreadPoolExecutor
        import loomlet
        from loomlet import patch
        patch.install(threads=True)
        def main():
            global pool
            pool = ThreadPoolExecutor(2)
            pool.submit(int).result()
            raise KeyError
        try:
            loomlet.run(main)
        except KeyError:
            print("good")
    """)
    assert (done.stdout, done.stderr) == ("good\n", "")
