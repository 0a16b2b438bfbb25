"""Methods of our locks and queues are those of a class: replaced, overridden, looked at, called.

Our classes in Python have the methods in C as their own, so that calls of them take the
interpreter's short way; no program may be able to tell, except by the time.
"""

import inspect
import pickle
import queue
import threading
from types import SimpleNamespace
from unittest import mock

import pytest

import loomlet
from loomlet import patch, sync


@pytest.fixture(autouse=True, scope="module")
def replaced():
    """Once for all tests of this file: they are many, and installing looks at all modules."""
    patch.install(sync=True)
    yield
    patch.uninstall()


@pytest.fixture(params=["ours", "replaced"])
def module(request):
    """Where the classes are: loomlet.sync, or the replaced names."""
    return sync if request.param == "ours" else SimpleNamespace(**vars(queue) | vars(threading))


METHODS = {
    "Lock": ("acquire", "release", "locked"),
    "RLock": ("acquire", "release"),
    "Condition": ("acquire", "release", "notify", "wait"),
    "Event": ("set", "clear", "wait", "is_set"),
    "Semaphore": ("acquire", "release"),
    "BoundedSemaphore": ("acquire", "release"),
    "Queue": ("put", "get", "qsize", "task_done", "put_nowait"),
    "LifoQueue": ("put", "get", "qsize", "task_done"),
    "SimpleQueue": ("put", "get", "qsize"),
}
HEAP_TYPE = 1 << 9
OF_THE_OBJECT = (("Condition", "acquire"), ("Condition", "release"))
EACH = [(kind, name) for kind, names in METHODS.items() for name in names]


@pytest.mark.parametrize(("kind", "name"), EACH)
def test_one_that_is_replaced_in_the_class(module, kind, name):
    cls = getattr(module, kind)
    if not cls.__flags__ & HEAP_TYPE:
        pytest.skip("the class is in C, and cannot be changed")
    made = cls()
    with mock.patch.object(cls, name, lambda self, *args: (self is made, args)):
        for _ in range(100):  # the interpreter has specialised the call by then
            assert getattr(made, name)(1) == (True, (1,))
    assert getattr(made, name).__name__ == name
    assert getattr(cls(), name).__self__ is not made


@pytest.mark.parametrize(("kind", "name"), EACH)
def test_one_that_a_subclass_overrides(module, kind, name):
    cls = getattr(module, kind)
    if (kind, name) in OF_THE_OBJECT and module is not sync:
        pytest.skip("a standard condition has the method of its lock in each object")

    class Own(cls):
        pass

    class Again(Own):
        pass

    def method(self, *args, **named):
        return "own", args, named

    setattr(Own, name, method)
    for _ in range(20):
        assert getattr(Again(), name)(1, two=2) == ("own", (1,), {"two": 2})
    delattr(Own, name)
    assert getattr(Again(), name).__name__ == name


@pytest.mark.parametrize(("kind", "name"), EACH)
def test_what_it_says_of_itself(module, kind, name):
    method = getattr(getattr(module, kind)(), name)
    assert method.__name__ == name
    assert method.__doc__
    inspect.signature(method)


@pytest.mark.parametrize("kind", ["Queue", "LifoQueue"])
def test_one_that_is_replaced_in_an_object(kind):
    made = getattr(queue, kind)()
    with mock.patch.object(made, "get", return_value=5):
        for _ in range(20):
            assert made.get() == 5
    made.put(1)
    assert made.get() == 1


def test_what_calls_the_method_of_its_base():
    class Counting(sync.Queue):
        count = 0

        def put(self, item, *args):
            self.count += 1
            super().put(item, *args)

    class Twice(Counting):
        def put(self, item, *args):
            super().put(item, *args)
            super().put(item, *args)

    made = Twice()
    made.put(1)
    made.put(2, True)
    assert (made.count, [made.get() for _ in range(4)]) == (4, [1, 1, 2, 2])


@pytest.mark.parametrize("kind", ["RLock", "BoundedSemaphore", "Queue", "LifoQueue", "SimpleQueue"])
def test_a_method_of_a_class_in_a_pickle(kind):
    cls = getattr(sync, kind)
    for name in METHODS[kind]:
        assert pickle.loads(pickle.dumps(getattr(cls, name))) is getattr(cls, name)


def test_an_object_of_another_class_is_refused():
    with pytest.raises(TypeError):
        sync.RLock.acquire(loomlet.Lock())
    with pytest.raises(TypeError):
        sync.LifoQueue.put(sync.Queue(), 1)


def test_an_object_that_gets_another_class():
    class One(sync.Queue):
        pass

    class Two(sync.Queue):
        def put(self, item):
            super().put(("two", item))

    made = One()
    made.put(1)
    made.__class__ = Two
    made.put(2)
    assert [made.get(), made.get()] == [1, ("two", 2)]


def test_blocking_calls_of_them_are_soft(switches):
    lock, items = sync.RLock(), sync.LifoQueue()

    def work():
        lock.acquire()
        item = items.get()
        lock.release()
        return item

    first, second = loomlet.spawn(work), loomlet.spawn(work)
    loomlet.schedule()
    loomlet.schedule()
    copies = loomlet.freeze([first, second])  # only what waits softly can be frozen
    assert copies
    items.put(1)
    items.put(2)
    assert sorted((first.result(), second.result())) == [1, 2]
