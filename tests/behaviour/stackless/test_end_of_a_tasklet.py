"""What happens when the function of a tasklet returns or raises."""

import sys

import pytest

import loomlet.compat.stackless as stackless


def fails(error):
    raise error


def test_the_function_returns(mode):
    """Spec 5, the function returns: dead; the value is dropped, the next in the queue runs."""
    log = []
    task = stackless.tasklet(lambda: log.append("a") or "value")()
    stackless.tasklet(log.append)("b")
    stackless.schedule()
    assert log == ["a", "b"]
    assert not task.alive
    assert task.tempval is None


def test_an_empty_queue_wakes_the_watchdog(mode):
    """Spec 5, the function returns: with no tasklet left, the innermost run() continues."""
    log = []

    def inner():
        stackless.tasklet(log.append)("innermost")
        stackless.run()
        log.append("inner run")

    stackless.tasklet(inner)()
    stackless.run()
    log.append("outer run")
    assert log == ["innermost", "inner run", "outer run"]


def test_taskletexit_is_silent(mode):
    """Spec 5, TaskletExit: ends the tasklet silently."""
    log = []
    task = stackless.tasklet(fails)(TaskletExit())
    stackless.tasklet(log.append)("next")
    stackless.run()
    assert log == ["next"]
    assert not task.alive


def test_an_error_reaches_run(mode):
    """Spec 5, other exceptions: the very object, with its traceback, is raised by run()."""
    error = KeyError("boom")
    task = stackless.tasklet(fails)(error)
    with pytest.raises(KeyError) as caught:
        stackless.run()
    assert caught.value is error
    assert "fails" in [entry.name for entry in caught.traceback]
    assert not task.alive


def test_an_error_reaches_the_innermost_run(mode):
    """Spec 5, other exceptions: of nested run()s the innermost."""
    log = []

    def watch():
        stackless.tasklet(fails)(KeyError())
        try:
            stackless.run()
        except KeyError:
            log.append("inner")

    stackless.tasklet(watch)()
    stackless.run()
    assert log == ["inner"]


def test_an_error_without_run_reaches_main(mode):
    """Spec 5, other exceptions: raised by whatever main is waiting in."""
    stackless.tasklet(fails)(KeyError("first"))
    with pytest.raises(KeyError, match="first"):
        stackless.schedule()
    task = stackless.tasklet(fails)(KeyError("second"))
    with pytest.raises(KeyError, match="second"):
        task.run()


def test_an_error_takes_main_off_its_channel(mode):
    """Spec 5, other exceptions: a blocked main waits no longer."""
    ch = stackless.channel()
    stackless.tasklet(fails)(KeyError("boom"))
    with pytest.raises(KeyError, match="boom"):
        ch.receive()
    assert ch.balance == 0
    assert stackless.getruncount() == 1


def test_others_stay_queued(mode):
    """Spec 5, other exceptions: a later run() continues with them."""
    log = []
    stackless.tasklet(log.append)("a")
    stackless.tasklet(fails)(KeyError())
    stackless.tasklet(log.append)("b")
    with pytest.raises(KeyError):
        stackless.run()
    assert log == ["a"]
    assert stackless.getruncount() == 2
    stackless.run()
    assert log == ["a", "b"]


def test_systemexit_on_another_thread(thread, mode):
    """Spec 5, SystemExit: silent there, as TaskletExit."""
    log = []

    def body():
        stackless.tasklet(sys.exit)(3)
        stackless.tasklet(log.append)("next")
        stackless.run()
        log.append("end")

    thread(body).result()
    assert log == ["next", "end"]


def test_systemexit_on_the_initial_thread(python):
    """Spec 5, SystemExit: the interpreter exits, with the usual processing."""
    done = python("""
        import atexit, sys
        import loomlet.compat.stackless as stackless
        atexit.register(print, "atexit")
        stackless.tasklet(sys.exit)(3)
        stackless.run()
        print("not reached")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (3, "atexit\n", "")


def test_main_ends_first(python):
    """Spec 5, main ends: tasklets that are still queued simply do not run."""
    done = python("""
        import loomlet.compat.stackless as stackless
        stackless.tasklet(print)("not reached")
        print("main ends")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "main ends\n", "")


def test_kill_of_main(mode):
    """Spec 5, main ends: killing the current main tasklet raises TaskletExit there."""
    with pytest.raises(TaskletExit):
        stackless.getmain().kill()


def test_an_error_stays_in_its_thread(thread, mode):
    """Spec 5, other exceptions: raised in the main tasklet of the same thread."""

    def body():
        stackless.tasklet(fails)(KeyError("there"))
        with pytest.raises(KeyError, match="there"):
            stackless.schedule()
        return "continued"

    stackless.tasklet(lambda: None)()
    assert thread(body).result() == "continued"
    stackless.run()


def test_systemexit_of_a_blocked_main(python):
    """Spec 5, SystemExit: directly from the tasklet, whatever main waits for."""
    done = python("""
        import sys
        import loomlet.compat.stackless as stackless
        stackless.tasklet(sys.exit)("a word")
        try:
            stackless.channel().receive()
        finally:
            print("not reached")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "a word\n")
