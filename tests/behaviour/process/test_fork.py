"""fork: the child continues with its own thread's tasklets, the parent with its own."""

import os

import pytest

if not hasattr(os, "fork"):
    pytest.skip("this system has no fork", allow_module_level=True)


def test_tasklets_continue_in_both_processes(python):
    """Tasklets suspended at the fork, soft and hard, continue in parent and child."""
    done = python(
        """
        import os, sys
        import loomlet

        ch = loomlet.Channel()

        def body(n):
            return n, ch.receive()

        def hard(n):
            return sorted([n], key=lambda _: ch.receive()), None

        tasks = [loomlet.spawn(body if n % 2 else hard, n) for n in range(10)]
        loomlet.schedule()
        child = os.fork()
        for n in range(10):
            ch.send(n)
        results = [task.result() for task in tasks]
        assert results == [((n, n) if n % 2 else ([n], None)) for n in range(10)], results
        assert loomlet.spawn(lambda: "new").result() == "new"
        if child == 0:
            sys.exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")


@pytest.mark.parametrize("call", ["fork()", "sorted([0], key=lambda _: fork())"])
def test_a_fork_inside_a_tasklet(python, call):
    """A tasklet may fork, also below C code; it continues in both processes."""
    done = python(
        f"""
        import os, sys
        import loomlet

        def fork():
            global child
            child = os.fork()
            return child

        def body():
            loomlet.schedule()
            {call}
            loomlet.schedule()
            return "forked"

        other = loomlet.spawn(lambda: [loomlet.schedule() for _ in range(10)])
        assert loomlet.spawn(body).result() == "forked"
        assert len(other.result()) == 10
        if child == 0:
            sys.exit(6)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "6\n", "")


def test_tasklets_of_other_threads_never_run_in_the_child(python):
    """In the child only the forking thread's tasklets continue; others' cannot be woken there."""
    done = python(
        """
        import os, sys, threading, warnings
        import loomlet

        warnings.simplefilter("ignore", DeprecationWarning)
        ch, ready, log = loomlet.Channel(), threading.Event(), []

        def thread():
            def body():
                log.append(ch.receive())
            task = loomlet.spawn(body)
            loomlet.schedule()
            ready.set()
            task.join()

        other = threading.Thread(target=thread)
        other.start()
        ready.wait()
        child = os.fork()
        if child == 0:
            ch.send("to a tasklet that does not run")
            loomlet.schedule()
            assert log == []
            try:
                loomlet.Channel().receive()
            except loomlet.Deadlock:
                sys.exit(7)
            sys.exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        ch.send("value")
        other.join()
        print(code, log)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7 ['value']\n", "")


def test_the_child_may_use_threads(python):
    """Threads started in the child work with loomlet as any."""
    done = python(
        """
        import os, sys, threading, warnings
        import loomlet

        warnings.simplefilter("ignore", DeprecationWarning)
        loomlet.spawn(loomlet.schedule).join()
        child = os.fork()
        if child == 0:
            ch = loomlet.Channel()
            thread = threading.Thread(target=lambda: ch.send(loomlet.run(lambda: 8)))
            thread.start()
            code = ch.receive()
            thread.join()
            sys.exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "8\n", "")


def test_sleepers_wake_in_both(python):
    """Timers set before the fork fire in parent and child."""
    done = python(
        """
        import os, sys
        import loomlet

        task = loomlet.spawn(loomlet.sleep, 0.01)  # real time: the fork lies in between
        loomlet.schedule()
        child = os.fork()
        task.join()
        if child == 0:
            sys.exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "9\n", "")


def test_what_runs_before_a_fork_may_wait(python):
    """For a tasklet that waits for its slice, because another one computes."""
    done = python(
        """
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        waits = []
        os.register_at_fork(before=lambda: waits and waits.pop()())
        import loomlet

        computes = True
        ch = loomlet.Channel()

        def compute():
            while computes:
                pass

        def fork():
            global computes
            waits.append(ch.receive)
            process = os.fork()
            if process == 0:
                os._exit(7)
            computes = False
            return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

        def main():
            forking = loomlet.spawn(fork)
            loomlet.spawn(compute)
            loomlet.spawn(ch.send, None)
            return forking.result()

        print(loomlet.run(main, slice=0.001))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
