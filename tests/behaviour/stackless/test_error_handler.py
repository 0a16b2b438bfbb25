"""set_error_handler() chooses what handles an exception that ends a tasklet."""

import pytest

import loomlet.compat.stackless as stackless


@pytest.fixture
def seen():
    """What the handler was called with, the current tasklet first."""
    calls = []
    stackless.set_error_handler(lambda *args: calls.append((stackless.getcurrent(), *args)))
    yield calls
    stackless.set_error_handler(None)


def fails(error):
    raise error


def test_it_returns_the_old_one():
    """Spec 2, set_error_handler: None takes it away and is what there was at first."""

    def handler(kind, value, traceback):
        pass

    assert stackless.set_error_handler(handler) is None
    assert stackless.set_error_handler(handler) is handler
    assert stackless.set_error_handler() is handler
    assert stackless.set_error_handler(None) is None


def test_it_swallows_the_error(seen, mode):
    """Spec 2, set_error_handler: called in the dying tasklet; its return ends the handling."""
    error = KeyError("boom")
    task = stackless.tasklet(fails)(error)
    assert stackless.run() is None
    ((current, kind, value, traceback),) = seen
    assert current is task
    assert (kind, value) == (KeyError, error)
    assert traceback.tb_frame.f_code is fails.__code__
    assert not task.alive


def test_other_tasklets_continue(seen, mode):
    """Spec 2, set_error_handler: tasklets behind the failed one run as if nothing had happened."""
    log = []
    stackless.tasklet(fails)(KeyError())
    stackless.tasklet(log.append)("ran")
    stackless.run()
    assert log == ["ran"]
    assert len(seen) == 1


def test_an_error_of_the_handler(mode):
    """Spec 2, set_error_handler: a new exception of the handler goes the usual way."""

    def handler(kind, value, traceback):
        raise OSError("from the handler")

    stackless.set_error_handler(handler)
    try:
        stackless.tasklet(fails)(KeyError())
        with pytest.raises(OSError, match="from the handler"):
            stackless.run()
    finally:
        stackless.set_error_handler(None)


def test_silent_ends_are_not_reported(seen, mode):
    """Spec 2, set_error_handler: TaskletExit is not an error."""
    stackless.tasklet(fails)(TaskletExit())
    task = stackless.tasklet(stackless.schedule)()
    stackless.schedule()
    task.kill()
    stackless.run()
    assert seen == []


def test_it_is_one_for_all_threads(seen, thread):
    """Spec 2, set_error_handler: tasklets of other threads have the same one."""
    error = KeyError()

    def body():
        stackless.tasklet(fails)(error)
        stackless.run()

    thread(body).result()
    assert [call[2] for call in seen] == [error]
