"""Signals while tasklets wait for builtin locks."""

import pytest

PROGRAM = """
    import os, signal, threading, time
    import loomlet
    from loomlet import _core
    _core._patch_builtin_locks()

    def from_outside(number=signal.SIGINT):
        def later():
            time.sleep(0.1)  # all wait by then
            os.kill(os.getpid(), number)

        threading.Thread(target=later, daemon=True).start()

    def main():
        lock, condition, event = threading.Lock(), threading.Condition(), threading.Event()
        gate = loomlet.Channel()

        def hold(lock):
            with lock:
                gate.receive()

        {body}

    loomlet.run(main, slice=0.001)
    """

BODIES = {
    "main waits for a lock": """
        holder = loomlet.spawn(hold, lock)
        loomlet.schedule()
        from_outside()
        try:
            lock.acquire()
        except KeyboardInterrupt:
            gate.send(None)
            holder.join()
            print("main", lock.acquire(blocking=False))
        """,
    "a tasklet waits for a lock": """
        holder, waiter = loomlet.spawn(hold, lock), loomlet.spawn(lock.acquire)
        loomlet.schedule()
        from_outside()
        try:
            waiter.join()
        except KeyboardInterrupt:
            gate.send(None)
            print("main", waiter.result())
        """,
    "main waits in a condition": """
        loomlet.spawn(gate.receive)
        from_outside()
        with condition:
            try:
                condition.wait()
            except KeyboardInterrupt:
                print("main", condition._is_owned())
        """,
    "main takes the lock of a condition back": """
        def notify_and_hold():
            with condition:
                condition.notify()
                from_outside()
                loomlet.sleep(0.3)  # the signal comes while main waits for this lock

        loomlet.spawn(notify_and_hold)
        with condition:
            try:
                condition.wait()
            except KeyboardInterrupt:
                print("main", condition._is_owned())
        """,
    "a handler sets an event": """
        signal.signal(signal.SIGUSR1, lambda *_: event.set())
        waiter = loomlet.spawn(event.wait)
        from_outside(signal.SIGUSR1)
        print("main", waiter.result())
        """,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_reaches_main(body, python):
    """The exception is raised in the main tasklet; locks are in the right state."""
    done = python(PROGRAM.format(body=body.strip()))
    assert (done.returncode, done.stdout, done.stderr) == (0, "main True\n", "")
