"""Memory runs out while a group is cancelled or left: whom it concerns is cancelled, and the group
is left, all the same."""

import pytest

pytest.importorskip("_testcapi")

PROGRAM = """
    import sys, _testcapi, loomlet
    from loomlet import CancelScope, Cancelled, Channel, TaskGroup, schedule, spawn

    loomlet.set_error_handler(lambda tasklet, error: None)
    sys.unraisablehook = lambda about: None
    children = []


    def out_of_memory(function, *args):
        try:
            function(*args)
        except BaseException as error:
            _testcapi.remove_mem_hooks()
            return type(error)
        finally:
            _testcapi.remove_mem_hooks()
        return None


    def group(first, last):
        with TaskGroup() as opened:
            _testcapi.set_nomemory(first, last)
            for _ in range(3):
                children.append(opened.spawn(int, "x"))
            children.append(opened.spawn(channel.receive))


    def check(n):
        assert loomlet.current()._scope is None, n
        assert all(child.state == "done" for child in children), (n, children)
        schedule()
        children.clear()


    channel = Channel()
    loomlet.current()
"""
ONE_FAILS = """
    for n in range(1, 70):
        error = out_of_memory(group, n, n + 1)
        assert error is not None, n
        check(n)
    print("done")
"""
ALL_FAIL = """
    for n in range(1, 70):
        error = out_of_memory(group, n, 0)
        assert error is not None, n
        check(n)
    print("done")
"""
ANOTHER_THREAD = """
    import threading

    def wait(n):
        try:
            with scopes[n]:
                channel.receive()
        finally:
            ended[n] = True  # without a GIL there may be no memory for this thread either

    def work():
        for n in range(20):
            spawn(wait, n)
        ready.set()
        while not all(ended):
            loomlet.sleep(0.01)

    scopes, ended, ready = [CancelScope() for _ in range(20)], [False] * 20, threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    while channel.balance != -20:
        loomlet.sleep(0.001)
    def cancel(scope, first):
        _testcapi.set_nomemory(first, 0)
        scope.cancel()

    for n, scope in enumerate(scopes):
        out_of_memory(cancel, scope, n % 3)
    thread.join()
    print("done")
"""


@pytest.mark.parametrize("rest", [ONE_FAILS, ALL_FAIL, ANOTHER_THREAD])
def test_every_allocation_in_turn(python, rest):
    """One that fails, all that fail from there on, and a cancel of another thread's tasklets."""
    done = python(PROGRAM + rest)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


AGAIN = """
    def again():
        try:
            with TaskGroup() as opened:
                for _ in range(3):
                    children.append(opened.spawn(int, "x"))
                children.append(opened.spawn(loomlet.sleep, 0.01))
        except ExceptionGroup:
            pass

    again()
    again()
    children.clear()
    _testcapi.set_nomemory({}, 0)
    print(out_of_memory(again) is not None)
"""


@pytest.mark.parametrize("n", range(9, 15))
def test_the_process_ends(python, n):
    """Nothing was freed twice: without the GIL, a list that lacks memory frees its former items."""
    done = python(PROGRAM + AGAIN.format(n))
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
