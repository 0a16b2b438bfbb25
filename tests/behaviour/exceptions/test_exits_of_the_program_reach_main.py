"""KeyboardInterrupt and SystemExit that end a tasklet concern the whole program."""

import pytest

import loomlet
from loomlet import Channel


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("wait", [lambda: Channel().receive(), loomlet.schedule])
def test_the_main_tasklet_gets_it(kind, wait, mode, failures):
    """Without a joiner, the exception is raised in the main tasklet's wait, whatever it is."""
    error = kind()

    def fail():
        raise error

    loomlet.spawn(fail)
    with pytest.raises(kind) as info:
        wait()
    assert info.value is error
    assert failures == []


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_a_joiner_gets_it_instead(kind, mode):
    """A joiner of the tasklet gets it, like any other exception."""

    def fail():
        loomlet.schedule()
        raise kind

    def joiner(task):
        with pytest.raises(kind):
            task.join()
        return "caught"

    assert loomlet.spawn(joiner, loomlet.spawn(fail)).result() == "caught"


def test_a_paused_main_gets_it(mode):
    """A main tasklet that switched away is woken by it."""

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loomlet.spawn(fail).switch()


def test_sys_exit_in_a_tasklet_ends_the_program(python):
    """sys.exit(n) in a tasklet ends the process with that code, main's finally blocks run."""
    done = python(
        """
        import sys
        import loomlet

        def main():
            loomlet.spawn(sys.exit, 7)
            try:
                loomlet.Channel().receive()
            finally:
                print("finally")

        loomlet.run(main)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "finally\n", "")
