"""Attributes that no documentation promises, and that programs and libraries use all the same."""

import _thread
import copy
import pickle
import queue
import threading
import weakref

import pytest
from helpers_children import works_in_a_child

import loomlet

MADE = {
    "Lock": threading.Lock,
    "RLock": threading.RLock,
    "Condition": threading.Condition,
    "Event": threading.Event,
    "Semaphore": threading.Semaphore,
    "BoundedSemaphore": threading.BoundedSemaphore,
}
LOCKS = ("Lock", "RLock", "Condition")


def new(name, *args):
    return getattr(threading, name)(*args)


@pytest.mark.parametrize("name", MADE)
def test_weak_references(name):
    made = new(name)
    assert weakref.ref(made)() is made


@pytest.mark.parametrize("name", [*MADE, "Queue", "LifoQueue", "SimpleQueue"])
def test_they_are_not_pickled(name):
    made = new(name) if name in MADE else getattr(queue, name)()
    with pytest.raises(TypeError, match=r"cannot pickle|Lock|pickle"):
        pickle.dumps([made])
    with pytest.raises(TypeError, match=r"cannot pickle|Lock|pickle"):
        copy.deepcopy(made)


@pytest.mark.parametrize("name", ["Condition", "Event", "Semaphore", "Barrier", "Queue"])
def test_attributes_of_the_program(name):
    made = queue.Queue() if name == "Queue" else new(name, *((2,) if name == "Barrier" else ()))
    made.owner = "me"
    assert made.owner == "me"


def test_values():
    semaphore, bounded, event = (
        threading.Semaphore(2),
        threading.BoundedSemaphore(3),
        threading.Event(),
    )
    semaphore.acquire()
    event.set()
    assert (semaphore._value, bounded._value, bounded._initial_value) == (1, 3, 3)
    assert event._flag


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_a_thread_of_the_parent_holds_is_free_in_the_child(name):
    lock, held, over = new(name), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def work():
        lock._at_fork_reinit()
        return lock.acquire(timeout=10)

    assert works_in_a_child(work)
    over.set()
    thread.join()


def test_an_event_after_a_fork():
    event = threading.Event()
    thread = threading.Thread(target=event.wait)
    thread.start()

    def work():
        event._at_fork_reinit()
        event.set()
        return event.wait(10)

    assert works_in_a_child(work)
    event.set()
    thread.join()


@pytest.mark.parametrize("make", [_thread.allocate_lock, _thread.RLock, threading.Lock])
@pytest.mark.parametrize("of", ["threading", "loomlet"])
def test_a_condition_of_any_lock(make, of):
    lock = make()
    kind = threading.Condition if of == "threading" else loomlet.Condition
    changed, items, found = kind(lock), [], []

    def take():
        with changed:
            changed.wait_for(lambda: items)
            found.append(items.pop())

    thread, task = threading.Thread(target=take), loomlet.spawn(take)
    thread.start()
    for item in (1, 2):
        loomlet.schedule()
        with lock:
            items.append(item)
            changed.notify_all()
    thread.join()
    task.join()
    assert sorted(found) == [1, 2]
    with pytest.raises(RuntimeError):
        changed.notify()
    assert isinstance(changed, kind)


def test_a_condition_gives_its_lock_up_and_takes_it_again():
    changed = threading.Condition()
    with pytest.raises(RuntimeError):
        changed._release_save()
    with changed, changed:
        assert changed._is_owned()
        state = changed._release_save()
        assert not changed._is_owned()
        changed._acquire_restore(state)
        assert changed._is_owned()
    assert not changed._is_owned()


def test_the_items_of_a_queue():
    jobs = queue.Queue()
    for job in (1, 2, 3):
        jobs.put(job)
    assert (list(jobs.queue), len(jobs.queue), jobs.queue[0]) == ([1, 2, 3], 3, 1)
    assert 2 in jobs.queue
    with jobs.mutex:
        jobs.queue.clear()
    assert (jobs.empty(), jobs.unfinished_tasks) == (True, 3)


def test_a_queue_is_emptied_for_good():
    """The recipe that programs use to give up all jobs."""
    jobs = queue.Queue()
    jobs.put(1)
    thread = threading.Thread(target=jobs.join)
    thread.start()
    with jobs.mutex:
        jobs.queue.clear()
        jobs.all_tasks_done.notify_all()
        jobs.unfinished_tasks = 0
    thread.join()
    assert jobs.unfinished_tasks == 0
    with pytest.raises(ValueError, match="at most"):
        jobs.unfinished_tasks = 5


def test_a_join_with_a_limit():
    """Another recipe: the condition of the tasks."""
    jobs = queue.Queue()
    jobs.put(1)
    with jobs.all_tasks_done:
        assert not jobs.all_tasks_done.wait(0.001)
        thread = threading.Thread(target=lambda: (jobs.get(), jobs.task_done()))
        thread.start()
        while jobs.unfinished_tasks:
            assert jobs.all_tasks_done.wait(60)
    thread.join()


def test_those_who_wait_for_a_change_of_the_queue():
    jobs, seen = queue.LifoQueue(1), []

    def watch():
        with jobs.not_empty:
            while jobs.empty():
                jobs.not_empty.wait()
            seen.append("filled")
        with jobs.not_full:
            while jobs.full():
                jobs.not_full.wait()
            seen.append("emptied")

    task = loomlet.spawn(watch)
    loomlet.schedule()
    jobs.put("job")
    loomlet.schedule()
    assert jobs.get_nowait() == "job"
    task.join()
    assert seen == ["filled", "emptied"]


@pytest.mark.parametrize("name", ["Queue", "LifoQueue"])
@pytest.mark.parametrize("word", ["_init", "_qsize", "_put", "_get"])
def test_what_keeps_items_is_replaced_in_a_subclass_only(name, word):
    """An object with a `_put` of its own was never asked to put anything, and nobody said so."""
    jobs = getattr(queue, name)()
    with pytest.raises(AttributeError, match=rf"{name} .* subclass of queue\.{name}"):
        setattr(jobs, word, print)
    with pytest.raises(AttributeError, match="does not call"):
        getattr(jobs, word)
    assert callable(getattr(getattr(queue, name), word))


@pytest.mark.parametrize("name", ["Event", "Semaphore", "BoundedSemaphore", "Barrier"])
def test_a_condition_that_nothing_would_use_is_refused(name):
    """It was kept, and nobody waited for it; a subclass is the standard class, which does."""
    kind = getattr(threading, name)
    size = [] if name == "Event" else [1]
    with pytest.raises(AttributeError, match=rf"{name} .* subclass of threading\.{name}, whose"):
        kind(*size)._cond = threading.Condition()
    assert not hasattr(kind(*size), "_cond")
    own = type("Own", (kind,), {})(*size)
    own._cond = condition = threading.Condition()
    assert own._cond is condition


@pytest.mark.parametrize("word", ["not_empty", "not_full", "all_tasks_done"])
def test_a_condition_that_a_program_gives_a_queue_is_notified(word):
    jobs = queue.Queue()
    changed = threading.Condition()
    setattr(jobs, word, changed)

    def wait():
        with changed:
            changed.wait()

    task = loomlet.spawn(wait)
    loomlet.schedule()
    jobs.put(1)
    jobs.get()
    jobs.task_done()
    task.join()
    assert getattr(jobs, word) is changed


@pytest.mark.parametrize("left", [-1, -0.5, -1e-9, 0])
@pytest.mark.parametrize("kind", ["Semaphore", "BoundedSemaphore"])
def test_a_deadline_that_has_passed(kind, left):
    """The time that is left is computed, and -1 may come out: that was a wait without an end."""
    permits = getattr(threading, kind)(1)
    assert permits.acquire(timeout=left)
    assert not permits.acquire(timeout=left)


def test_old_names_warn():
    event, changed = threading.Event(), threading.Condition()
    with pytest.warns(DeprecationWarning, match="is_set"):
        assert not event.isSet()
    with changed, pytest.warns(DeprecationWarning, match="notify_all"):
        changed.notifyAll()
