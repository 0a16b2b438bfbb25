"""schedule() lets the next tasklet of the ring run."""

import loomlet.compat.stackless as stackless


def test_it_returns_the_current_tasklet(mode):
    """Spec 2, schedule: without an argument the caller itself comes back."""
    main, seen = stackless.getcurrent(), []
    task = stackless.tasklet(lambda: seen.append(stackless.schedule()))()
    assert stackless.schedule() is main
    stackless.run()
    assert seen == [task]


def test_it_returns_its_argument(mode):
    """Spec 2, schedule: also None, by position or by name."""
    assert stackless.schedule(None) is None
    assert stackless.schedule(3) == 3
    seen = []

    def body():
        seen.append(stackless.schedule("value"))
        seen.append(stackless.schedule(retval="named"))
        seen.append(stackless.schedule(None))

    stackless.tasklet(body)()
    stackless.run()
    assert seen == ["value", "named", None]


def test_alone_it_returns_at_once():
    """Spec 2, schedule: with no other tasklet it is no switch."""
    assert stackless.schedule() is stackless.getcurrent()
    assert stackless.getruncount() == 1


def test_the_caller_goes_to_the_tail(mode):
    """Spec 2, schedule: all others run before the caller runs again."""
    log = []
    for name in "ab":
        stackless.tasklet(log.append)(name)
    stackless.schedule()
    log.append("main")
    assert log == ["a", "b", "main"]


def test_an_exception_thrown_meanwhile_comes_out(mode):
    """Spec 2, schedule: an exception thrown into the caller changes the outcome."""
    main, log = stackless.getcurrent(), []
    stackless.tasklet(lambda: main.throw(KeyError, "thrown"))()
    try:
        stackless.schedule()
    except KeyError as error:
        log.append(error.args)
    stackless.run()
    assert log == [("thrown",)]
