"""getuncollectables() lists tasklets with C state; getdebug() describes the build."""

import sys
import threading

import loomlet.compat.stackless as stackless


def test_tasklets_with_a_c_stack():
    """Spec 2, getuncollectables: a list of those whose C stack is kept, each once."""
    ch = stackless.channel()
    hard = [stackless.tasklet(stackless._test_nostacklesscall)(ch.receive) for _ in range(2)]
    stackless.run()
    found = stackless.getuncollectables()
    assert isinstance(found, list)
    assert [found.count(task) for task in hard] == [1, 1]
    for _ in hard:
        ch.send(None)
    assert not set(hard) & set(stackless.getuncollectables())


def test_those_of_other_threads(thread):
    """Spec 2, getuncollectables: C stacks of every thread count."""
    ready, end, made = threading.Event(), threading.Event(), []

    def body():
        ch = stackless.channel()
        made.append(stackless.tasklet(stackless._test_nostacklesscall)(ch.receive))
        stackless.run()
        ready.set()
        end.wait(60)
        ch.send(None)

    other = thread(body)
    assert ready.wait(60)
    assert made[0] in stackless.getuncollectables()
    end.set()
    other.result()


def test_a_tasklet_that_has_not_started_has_none():
    """Spec 2, getuncollectables: only what has run can have C state."""
    task = stackless.tasklet(print, ())
    assert task not in stackless.getuncollectables()


def test_getdebug():
    """Spec 2, getdebug: whether the interpreter is a debug build."""
    assert stackless.getdebug() is hasattr(sys, "gettotalrefcount")
