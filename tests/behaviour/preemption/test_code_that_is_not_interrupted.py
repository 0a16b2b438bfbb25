"""Imports, destructors, collections, callbacks and trace functions are never found half done."""

import gc
import sys
import types

import loomlet

SPIN = "for _ in range(2000): pass"


def spin(rounds=2000):
    for _ in range(rounds):
        pass


def beside(every_safepoint, work):
    """How often a counting tasklet ran while `work` did, and behind it."""
    log = []

    def counting():
        while True:
            log.append(1)

    def main():
        loomlet.spawn(counting)
        inside = work(log)
        spin()
        return inside, len(log) > inside

    return every_safepoint(main)


def test_an_import(every_safepoint, tmp_path, monkeypatch):
    """A module is not seen half initialised because of a slice."""
    (tmp_path / "slow_module.py").write_text(f"{SPIN}\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def work(log):
        with loomlet.nopreempt():
            before = len(log)
            __import__("slow_module")
            assert len(log) == before
        sys.modules.pop("slow_module")
        seen = types.SimpleNamespace(inside=None)
        (tmp_path / "slow_module.py").write_text(
            f"import sys\nlog = sys.log\nbefore = len(log)\n{SPIN}\ninside = len(log) - before\n"
        )
        sys.log = log
        try:
            seen.inside = __import__("slow_module").inside
        finally:
            del sys.log
            sys.modules.pop("slow_module", None)
        return seen.inside

    assert beside(every_safepoint, work) == (0, True)


def test_a_destructor(every_safepoint):
    """__del__ runs to its end."""
    inside = []

    class Thing:
        def __init__(self, log):
            self.log = log

        def __del__(self):
            before = len(self.log)
            spin()
            inside.append(len(self.log) - before)

    def work(log):
        Thing(log)
        return inside[0]

    assert beside(every_safepoint, work) == (0, True)


def test_a_collection(every_safepoint):
    """The collector's callbacks run to their end."""
    inside = []

    def work(log):
        def callback(phase, info):
            before = len(log)
            spin(200)
            inside.append(len(log) - before)

        gc.callbacks.append(callback)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(callback)
        return sum(inside)

    assert beside(every_safepoint, work) == (0, True)


def test_a_trace_function(every_safepoint):
    """What a debugger sees does not change under it."""
    inside = []

    def work(log):
        def trace(frame, event, arg):
            before = len(log)
            spin(200)
            inside.append(len(log) - before)

        def traced():
            return 1

        sys.settrace(trace)
        try:
            traced()
        finally:
            sys.settrace(None)
        return sum(inside)

    assert beside(every_safepoint, work) == (0, True)


def test_the_error_handler(every_safepoint):
    """A callback of the scheduler is not interrupted: nothing may switch in it."""
    inside = []

    def fail():
        raise KeyError

    def work(log):
        def handler(tasklet, error):
            before = len(log)
            spin()
            inside.append(len(log) - before)

        before = loomlet.set_error_handler(handler)
        try:
            loomlet.spawn(fail)
            while not inside:
                loomlet.schedule()
        finally:
            loomlet.set_error_handler(before)
        return inside[0]

    assert beside(every_safepoint, work) == (0, True)
