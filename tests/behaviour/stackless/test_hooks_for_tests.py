"""The undocumented functions that the test suites of Stackless programs use."""

import gc
import types

import pytest

import loomlet.compat.stackless as stackless


def test_cframe_nr_switches(mode):
    """Spec 2, test_cframe_nr: a function that does nothing but switch, n times."""
    turns = []
    task = stackless.tasklet(stackless.test_cframe_nr)(3)

    def count():
        while task.alive:
            turns.append(None)
            stackless.schedule()

    stackless.tasklet(count)()
    stackless.run()
    assert len(turns) == 3


def test_outside_runs_the_queue(mode):
    """Spec 2, test_outside: until it is empty, as if from outside any main tasklet."""
    log = []
    for name in "ab":
        stackless.tasklet(log.append)(name)
    stackless.test_outside()
    assert log == ["a", "b"]
    assert stackless.getcurrent() is stackless.getmain()
    assert stackless.getruncount() == 1


def test_nostacklesscall_calls():
    """Spec 2, _test_nostacklesscall: arguments, result and exceptions pass through."""
    assert stackless._test_nostacklesscall(int, "12", base=3) == 5
    with pytest.raises(KeyError):
        stackless._test_nostacklesscall({}.__getitem__, 1)


def test_nostacklesscall_forces_hard_switches():
    """Spec 2, _test_nostacklesscall: what blocks below it keeps its C stack."""
    ch = stackless.channel()
    task = stackless.tasklet(stackless._test_nostacklesscall)(lambda: ch.receive())
    stackless.run()
    assert task.nesting_level > 0
    ch.send(None)


def test_gc_track_and_untrack():
    """Spec 2, _gc_track, _gc_untrack: hide an object from the collector, and show it again."""
    found = []
    stackless._gc_untrack(found)
    hidden = gc.is_tracked(found)
    stackless._gc_track(found)
    assert not hidden
    assert gc.is_tracked(found)


def test_pickle_moduledict(through):
    """Spec 2, _pickle_moduledict: the dict of a module as its attribute; no other object."""
    make, args = stackless._pickle_moduledict(None, globals())
    assert make(*args) is globals()
    for loaded in through((make, args)):
        assert loaded[0](*loaded[1]) is globals()
    assert stackless._pickle_moduledict(None, gc)[1] == (gc, "__dict__")
    for other in ({}, {"__name__": __name__}, {"__name__": []}, types.ModuleType("gone"), 7, None):
        assert stackless._pickle_moduledict(None, other) is None
