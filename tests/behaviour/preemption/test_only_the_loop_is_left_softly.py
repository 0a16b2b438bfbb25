"""A safepoint that C code triggers keeps the C stack, which holds references."""

SIGNALS = """
    import ctypes, gc, signal
    import loomlet
    from loomlet import _core

    serve = ctypes.PyDLL(None).Py_MakePendingCalls
    serve.argtypes = [ctypes.py_object, ctypes.py_object]
    signal.signal(signal.SIGALRM, serve)  # called by C, while the frame stands at its check

    def spin(n):
        for _ in range(n):
            pass
        while n:
            n -= 1
        return n

    def send_signals(tasks):  # each when the last has been handled, or slow code gets no further
        while any(task.state != "done" for task in tasks):
            if signal.getitimer(signal.ITIMER_REAL)[0] == 0:
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
            loomlet.schedule()

    def main():
        _core._slice_budget(1)
        tasks = [loomlet.spawn(spin, 100_000) for _ in range(2)]
        loomlet.spawn(send_signals, tasks).join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        return [task.result() for task in tasks]

    def both():
        stats = _core.stats()
        return stats["soft"], stats["why_hard"].get("preempted", 0)

    assert loomlet.run(main, slice=None) == [0, 0]
    gc.collect()
    objects, (soft, hard) = len(gc.get_objects()), both()
    for _ in range(3):
        assert loomlet.run(main, slice=None) == [0, 0]
    gc.collect()
    after = both()
    assert after[0] > soft + 100_000, (soft, after)
    assert after[1] > hard + 100, (hard, after)
    assert len(gc.get_objects()) < objects + 50, len(gc.get_objects()) - objects
    print("done")
"""


def test_a_signal_handler_serves_the_calls(python, switches):
    """A handler in C, called by the safepoint itself, calls Py_MakePendingCalls: hard, no leak."""
    done = python(SIGNALS)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
