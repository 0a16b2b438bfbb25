"""A program's own subclasses are those of the standard classes, on our locks: nothing is lost."""

import abc
import queue
import threading

import pytest


class Unique(queue.Queue):
    """Bound before anything is installed: the standard class."""

    def _put(self, item):
        if item not in self.queue:
            super()._put(item)


def unique_now():
    """The same, made while the names are ours; its base is called by name, as old programs do."""

    class UniqueNow(queue.Queue):
        def __init__(self, maxsize=0, *, name="jobs"):
            queue.Queue.__init__(self, maxsize)
            self.name = name

        def _put(self, item):
            if item not in self.queue:
                queue.Queue._put(self, item)

        def put(self, item, block=True, timeout=None):
            queue.Queue.put(self, item, block, timeout)

    return UniqueNow


@pytest.mark.parametrize("kind", [lambda: Unique, unique_now])
def test_the_methods_that_keep_items_are_called(kind):
    names = kind()(5)
    for name in "aba":
        names.put(name)
    assert (names.qsize(), names.get(), names.get()) == (2, "a", "b")
    assert isinstance(names, queue.Queue)


def test_a_subclass_of_each_kind_of_queue():
    class Stack(queue.LifoQueue):
        pass

    class Heap(queue.PriorityQueue):
        pass

    found = []
    for kind in (Stack, Heap):
        made = kind()
        for item in (2, 1, 3):
            made.put(item)
        found.append([made.get() for _ in range(3)])
    assert found == [[3, 1, 2], [1, 2, 3]]


def test_threads_wait_for_a_queue_of_a_subclass():
    names, found = unique_now()(1), []
    thread = threading.Thread(target=lambda: found.extend(names.get() for _ in range(3)))
    thread.start()
    for name in "abc":
        names.put(name)
    thread.join()
    assert found == ["a", "b", "c"]


def test_init_has_arguments_of_its_own():
    class Signal(threading.Event):
        def __init__(self, name):
            super().__init__()
            self.name = name

    class Room(threading.Semaphore):
        def __init__(self, name):
            threading.Semaphore.__init__(self, 2)
            self.name = name

    class Changed(threading.Condition):
        def __init__(self, name):
            super().__init__(threading.Lock())
            self.name = name

    signal, room, changed = Signal("go"), Room("hall"), Changed("it")
    signal.set()
    assert signal.wait()
    with room, changed:
        assert not changed.wait(0.001)
        changed.notify_all()
    assert [each.name for each in (signal, room, changed)] == ["go", "hall", "it"]
    assert isinstance(signal, threading.Event)
    assert not isinstance(signal, threading.Semaphore)


def test_a_metaclass_of_abstract_classes():
    class Base(queue.Queue, abc.ABC):
        @abc.abstractmethod
        def name(self):
            """Of the queue."""

    class Real(Base):
        def name(self):
            return "real"

    with pytest.raises(TypeError, match="abstract"):
        Base()
    made = Real()
    made.put(1)
    assert (made.get(), made.name()) == (1, "real")


def test_methods_of_the_class_itself():
    plain, own = queue.Queue(), unique_now()()
    for each in (plain, own):
        queue.Queue.put(each, 1)
        assert list(map(queue.Queue.get, [each])) == [1]


def test_a_generic_base():
    class Numbers(queue.Queue[int]):
        pass

    numbers = Numbers()
    numbers.put(1)
    assert numbers.get() == 1
