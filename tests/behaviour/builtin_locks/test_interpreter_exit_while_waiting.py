"""The interpreter ends while tasklets and threads wait for builtin locks: nothing hangs."""

import pytest

PROGRAM = """
    import queue, threading, warnings
    import loomlet
    warnings.simplefilter("ignore", ResourceWarning)  # of tasklets that the end collects
    from loomlet import _core
    _core._patch_builtin_locks()
    lock, rlock, condition = threading.Lock(), threading.RLock(), threading.Condition()

    def hold():
        with lock, rlock:
            loomlet.Channel().receive()

    class AtEnd:
        def __del__(self):
            print(lock.acquire(blocking=False), rlock.acquire(timeout=0.01))

    {body}
    print("end")
    """

BODIES = {
    "tasklets wait": """
    for body in (hold, lock.acquire, rlock.acquire, queue.Queue().get):
        loomlet.spawn(body)
    loomlet.schedule()
    """,
    "a daemon thread waits": """
    loomlet.spawn(hold)
    loomlet.schedule()
    threading.Thread(target=lock.acquire, daemon=True).start()
    """,
    "a daemon thread with tasklets waits": """
    loomlet.spawn(hold)
    loomlet.schedule()
    begun = threading.Event()

    def other():
        tasks = [loomlet.spawn(lock.acquire) for _ in range(3)]
        begun.set()
        tasks[0].join()

    threading.Thread(target=loomlet.run, args=(other,), daemon=True).start()
    begun.wait()
    """,
    "a thread ends later": """
    thread = threading.Thread(target=lambda: loomlet.run(loomlet.sleep, 0.05))
    loomlet.spawn(hold)
    loomlet.schedule()
    thread.start()
    """,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_nothing_hangs(body, python):
    """Tasklets that still wait do not run again."""
    done = python(PROGRAM.format(body=body.strip()))
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_destructor_at_the_very_end(python):
    """It may ask for locks that are held by tasklets which do not continue."""
    done = python(PROGRAM.format(body="loomlet.spawn(hold); loomlet.schedule(); last = AtEnd()"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "end"
