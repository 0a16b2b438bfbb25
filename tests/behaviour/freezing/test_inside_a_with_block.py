"""A tasklet that is frozen inside `with lock:` leaves the block of its own lock when it is thawed.

What leaves the block lies on the stack meanwhile: from 3.14 on the method of the class and the
object, before that one object that has both.
"""

import subprocess
import sys

import pytest
from helpers_frozen_tasklets import through

import loomlet
from loomlet import Condition, Lock, Semaphore, patch, spawn, sync

pytestmark = pytest.mark.usefixtures("switches")


class OwnLock(Lock):
    """One of a program."""


class Counting(Condition):
    """One whose leaving is its own, and uses ours."""

    left = 0

    def __exit__(self, *exception):
        self.left += 1
        super().__exit__(*exception)


KINDS = {
    "Lock": Lock,
    "RLock": sync.RLock,
    "Condition": Condition,
    "condition of a Lock": lambda: Condition(Lock()),
    "condition of an RLock": lambda: Condition(sync.RLock()),
    "Semaphore": Semaphore,
    "BoundedSemaphore": sync.BoundedSemaphore,
    "subclass": OwnLock,
    "subclass with its own __exit__": Counting,
}


def is_free(made):
    """Whether it can be entered; it stays free."""
    free = made.acquire(False)
    if free:
        made.release()
    return free


def inside(made, ends):
    """In the block it cannot be entered; afterwards it can, once."""
    log = []
    try:
        with made:
            loomlet.schedule()
            log.append(spawn(is_free, made).result())
            if ends == "raise":
                raise KeyError(log)
            if ends == "return":
                return made, log
    except KeyError as error:
        log = error.args[0]
    return made, log


@pytest.mark.parametrize("ends", ["go on", "return", "raise"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_block_is_left(kind, ends):
    made = KINDS[kind]()
    (again,) = through(spawn(inside, made, ends))
    copy, log = again.insert().result()
    assert copy is not made
    assert type(copy) is type(made)
    assert log == [False]
    assert is_free(copy)
    assert getattr(copy, "left", 1) == 1


@pytest.mark.parametrize("name", ["Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore"])
def test_those_in_the_place_of_the_standard_ones(name):
    import threading

    patch.install(sync=True)
    try:
        made = getattr(threading, name)()
        (again,) = through(spawn(inside, made, "go on"))
        copy, log = again.insert().result()
    finally:
        patch.uninstall()
    assert type(copy) is type(made)
    assert log == [False]
    assert is_free(copy)


def test_several_blocks_are_left_in_order():
    """Also two blocks of one reentrant lock."""

    def work(one, two, three):
        log = []
        with one, two:
            with three, two:
                loomlet.schedule()
                log.append((three.value, two._depth))
            log.append((three.value, two._depth))
        log.append((one.locked(), two._depth))
        return log

    (again,) = through(spawn(work, Lock(), Condition(), Semaphore(1)))
    assert again.insert().result() == [(0, 2), (1, 1), (False, 0)]


def test_in_a_generator():
    def steps(made):
        with made:
            yield is_free(made)
        yield is_free(made)

    def work(made):
        found = steps(made)
        first = next(found)
        loomlet.schedule()
        return first, next(found)

    (again,) = through(spawn(work, Semaphore(1)))
    assert again.insert().result() == (False, True)


def test_killed_inside_after_the_thaw():
    def work(made, log):
        log.append(made)
        with made:
            loomlet.schedule()
        log.append("never")

    def hold(log):
        loomlet.schedule()
        return log

    log = []
    killed, holder = through(spawn(work, Condition(), log), spawn(hold, log))
    killed.kill()
    (condition,) = holder.insert().result()
    assert is_free(condition)


PROGRAM = """
import sys, loomlet
from loomlet import sync

def try_it(made):
    free = made.acquire(False)
    if free:
        made.release()
    return free

def work(made):
    with made, sync.Lock():
        loomlet.schedule()
        inside = loomlet.spawn(try_it, made).result()
    return type(made).__name__, inside, loomlet.spawn(try_it, made).result()

def freeze():
    kinds = (loomlet.Lock, sync.RLock, loomlet.Condition, loomlet.Semaphore, sync.BoundedSemaphore)
    tasks = [loomlet.spawn(work, kind()) for kind in kinds]
    loomlet.schedule()
    sys.stdout.buffer.write(loomlet.freeze(tasks))
    for task in tasks:
        task.discard()

def thaw():
    tasks = loomlet.thaw(sys.stdin.buffer.read())
    print([task.insert().result() for task in tasks])

loomlet.run(freeze if sys.argv[1] == "freeze" else thaw)
"""


def test_in_a_new_process(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    data = None
    for step in ("freeze", "thaw"):
        done = subprocess.run(
            [sys.executable, path, step], input=data, capture_output=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        data = done.stdout
    kinds = ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore")
    assert data.decode().strip() == repr([(kind, False, True) for kind in kinds])
