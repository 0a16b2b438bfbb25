"""The interpreter ends, whatever tasklets are left."""

import pytest


def check(done):
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("run", ["main()", "loomlet.run(main)"])
def test_with_100_000_blocked_tasklets(python, run):
    """A hundred thousand tasklets blocked in cycles do not hang or crash the exit."""
    check(
        python(
            f"""
            import loomlet

            def body(ch, holder):
                holder.append(ch.receive())

            def main():
                global kept
                kept = loomlet.Channel()
                for n in range(100_000):
                    holder = []
                    holder.append(loomlet.spawn(body, kept if n % 2 else loomlet.Channel(), holder))
                loomlet.schedule()

            import gc
            gc.disable()
            {run}
            print("end")
            """
        )
    )


def test_with_hard_suspended_tasklets(python):
    """Tasklets that keep C stacks are abandoned without harm."""
    check(
        python(
            """
            import loomlet

            ch = loomlet.Channel()
            body = lambda: sorted([1], key=lambda _: ch.receive())
            tasks = [loomlet.spawn(body) for _ in range(100)]
            loomlet.schedule()
            print("end")
            """
        )
    )


def test_with_sleeping_and_runnable_tasklets(python):
    """Timers and the run queue do not keep the process."""
    check(
        python(
            """
            import warnings
            import loomlet

            warnings.filterwarnings("ignore", "the program has ended before", RuntimeWarning)
            for n in range(1000):
                loomlet.spawn(loomlet.sleep, 1000 + n)
            loomlet.schedule()
            for n in range(1000):
                loomlet.spawn(loomlet.schedule)
            task = loomlet.spawn(lambda: None).remove()
            print("end")
            """
        )
    )


def test_in_a_tasklet(python):
    """sys.exit() in the main tasklet while others are suspended."""
    done = python(
        """
        import sys
        import loomlet

        def body():
            try:
                loomlet.schedule()
                sys.stdout.write("runs\\n")
                loomlet.Channel().receive()
            finally:
                sys.stdout.write("finally\\n")

        def main():
            loomlet.spawn(body)
            loomlet.schedule()
            loomlet.schedule()
            sys.exit(3)

        loomlet.run(main)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "runs\nfinally\n", "")


def test_loomlet_in_atexit_functions(python):
    """Functions called at exit may still spawn, switch and use channels."""
    check(
        python(
            """
            import atexit
            import loomlet

            ch = loomlet.Channel()
            waiting = loomlet.spawn(ch.receive)
            loomlet.schedule()

            @atexit.register
            def last():
                ch.send("end")
                print(waiting.result())
            """
        )
    )


def test_destructors_at_the_very_end(python):
    """Objects that die while the interpreter ends may call loomlet without a crash."""
    done = python(
        """
        import loomlet

        class Late:
            def __init__(self):
                self.loomlet, self.ch = loomlet, loomlet.Channel(1)
            def __del__(self):
                try:
                    self.ch.send(1)
                    self.loomlet.spawn(len, "x")
                    self.loomlet.schedule()
                except BaseException:
                    pass

        late = Late()
        late.itself = late
        loomlet.late = late
        print("end")
        """
    )
    assert (done.returncode, done.stdout) == (0, "end\n")


def test_an_error_in_main(python):
    """An exception of main ends the process as always, tasklets or not."""
    done = python(
        """
        import loomlet

        def main():
            loomlet.spawn(loomlet.Channel().receive)
            loomlet.schedule()
            raise ValueError("of main")

        loomlet.run(main)
        """
    )
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: of main\n")
