"""clone() gives a second continuation: data is copied, named and global objects are shared."""

import threading

import pytest
from helpers_frozen_tasklets import waiting

import loomlet
from loomlet import Channel


def choose(ch):
    path = []
    for _ in range(2):
        path.append(ch.receive())
    return path


def test_two_continuations():
    """Both wait on the same channel and do not see each other's data."""
    ch = Channel()
    task = waiting(choose, ch)
    other = loomlet.clone(task)
    assert (other.state, other.waiting_for) == ("blocked", ch)
    for value in "abcd":
        ch.send(value)
        loomlet.schedule()
    assert [task.result(), other.result()] == [["a", "c"], ["b", "d"]]


CHOICE, FOUND = [], []


def guess():
    """Returns a word of three letters, each chosen by the caller that resumes it."""
    word = ""
    for _ in range(3):
        loomlet.schedule()
        word += CHOICE[-1]
    FOUND.append(word)


def tried(task, letter):
    """A copy of a paused tasklet that has taken this choice."""
    CHOICE.append(letter)
    copy = loomlet.clone(task)
    copy.run()
    return copy.remove()


@pytest.mark.filterwarnings("ignore:tasklet .* was collected while blocked:ResourceWarning")
def test_a_search():
    """Every choice from every point, though the function knows only one path."""
    level = [waiting(guess).remove()]
    for _ in range(3):
        level = [tried(task, letter) for task in level for letter in "xyz"]
    assert sorted(FOUND) == [a + b + c for a in "xyz" for b in "xyz" for c in "xyz"]


def holds(ch, *things):
    ch.receive()
    return things


def test_what_is_copied_and_what_is_shared():
    """Data and cells are copied; functions, classes, modules, locks and other tasklets are not."""

    class Local:
        pass

    other, lock, inner = waiting(choose, Channel()), loomlet.Lock(), Channel()
    lock.acquire()
    shared = (Local, choose, lambda: 1, threading, other, lock, inner, globals)
    data = [Local(), {"a": [1]}, {1, 2}]
    ch = Channel()
    task = waiting(holds, ch, *shared, data)
    copy = loomlet.clone(task)
    ch.send(None)
    ch.send(None)
    *same, fresh = copy.result()
    assert all(one is two for one, two in zip(same, shared, strict=True))
    assert type(fresh[0]) is Local
    assert fresh[0] is not data[0]
    assert fresh[1:] == data[1:]
    assert fresh[1]["a"] is not data[1]["a"]
    lock.release()


def test_globals_of_main_are_shared():
    """A clone stays in this process, so its globals are the same."""
    space = {"__name__": "__main__", "count": []}
    exec("def body(ch):\n    ch.receive()\n    count.append(1)\n    return count", space)
    ch = Channel()
    copy = loomlet.clone(waiting(space["body"], ch))
    ch.send(None)
    ch.send(None)
    assert copy.result() is space["count"]


def test_bytes_of_a_clone_are_of_no_use(monkeypatch):
    """References to shared objects are valid in this process only."""
    from loomlet.snapshot import _envelope, _pickler
    from loomlet.snapshot._progress import Saving

    task = waiting(choose, Channel())
    saving = Saving(shared=[])
    saving.snapshots[id(task)] = (task, loomlet._core._tasklet_snapshot(task))
    with pytest.raises(loomlet.ThawError, match="belong to a clone"):
        loomlet.thaw(_envelope.seal(_pickler.dump(task, saving), None))
