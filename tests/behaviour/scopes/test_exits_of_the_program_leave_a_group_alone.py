"""KeyboardInterrupt and SystemExit are not wrapped: they end the program, not a group."""

import pytest

import loomlet
from loomlet import Channel, TaskGroup

KINDS = [KeyboardInterrupt, SystemExit]


def fail(error):
    raise error


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_child(kind, mode):
    """It cancels the others and comes out as it is."""
    error = kind()
    with pytest.raises(kind) as info, TaskGroup() as group:
        group.spawn(fail, error)
        Channel().receive()
    assert info.value is error


@pytest.mark.parametrize("kind", KINDS)
def test_of_the_body(kind):
    """Likewise; the children have ended."""
    log = []

    def child():
        try:
            Channel().receive()
        finally:
            log.append("ended")

    with pytest.raises(kind), TaskGroup() as group:
        group.spawn(child)
        loomlet.schedule()
        raise kind
    assert log == ["ended"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_failures_are_reported(kind, failures):
    """What cannot be raised beside it goes to the error handler: never silence."""
    error = ValueError("a")
    with pytest.raises(kind), TaskGroup() as group:
        task = group.spawn(fail, error)
        group.spawn(fail, kind())
    assert failures == [(task, error)]
    failures.clear()


def test_a_ctrl_c_while_the_group_waits(python):
    """The main tasklet that waits for its children gets it; they end before it continues."""
    done = python(
        """
        import os, signal, threading, loomlet
        from loomlet import Channel, TaskGroup

        def child():
            try:
                Channel().receive()
            finally:
                print("child ended")

        def interrupt():
            os.kill(os.getpid(), signal.SIGINT)

        def main():
            with TaskGroup() as group:
                group.spawn(child)
                threading.Timer(0.2, interrupt).start()

        try:
            loomlet.run(main)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert done.stdout == "child ended\ninterrupted\n", done.stderr
    assert done.returncode == 0
