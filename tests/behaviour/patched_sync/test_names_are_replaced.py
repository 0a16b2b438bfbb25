"""install(sync=True) replaces names in all modules, and uninstall() puts them back."""

import inspect
import pickle
import queue
import subprocess
import sys
import threading
import types
from types import ModuleType
from unittest import mock

import pytest

import loomlet
from loomlet import patch

THREADING = ("Lock", "RLock", "Condition", "Event", "Semaphore", "BoundedSemaphore", "Barrier")
QUEUE = ("Queue", "LifoQueue", "SimpleQueue")
NAMES = [(threading, name) for name in THREADING] + [(queue, name) for name in QUEUE]


@pytest.fixture
def standard():
    """The originals."""
    patch.uninstall()
    found = {(module, name): getattr(module, name) for module, name in NAMES}
    patch.install(sync=True)
    return found


@pytest.fixture
def module():
    """A module of a program, which is imported."""
    made = ModuleType("loomlets_own_test_module")
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


@pytest.mark.parametrize(("where", "name"), NAMES)
def test_every_name_means_another_class(standard, where, name):
    assert getattr(where, name) is not standard[where, name]
    patch.uninstall()
    assert getattr(where, name) is standard[where, name]


def test_without_sync_no_name_is_replaced(standard):
    patch.uninstall()
    patch.install()
    assert all(getattr(*key) is value for key, value in standard.items())


def test_a_module_that_had_imported_a_name(standard, module):
    patch.uninstall()
    module.Mutex, module.Queue = threading.Lock, queue.Queue
    patch.install(sync=True)
    assert (module.Mutex, module.Queue) == (threading.Lock, queue.Queue)
    assert module.Mutex is not standard[threading, "Lock"]
    patch.uninstall()
    assert module.Mutex is standard[threading, "Lock"]


def test_a_module_that_imports_a_name_later(standard, module):
    module.Event = threading.Event
    patch.uninstall()
    assert module.Event is standard[threading, "Event"]


def test_our_own_names_stay(module):
    module.Lock = loomlet.Lock
    patch.uninstall()
    assert module.Lock is loomlet.Lock


def test_a_program_that_has_replaced_a_name_itself_keeps_it(monkeypatch):
    mine = object()
    monkeypatch.setattr(threading, "Barrier", mine)
    patch.uninstall()
    assert threading.Barrier is mine


def test_a_second_call_reaches_modules_that_are_new(standard, module):
    module.Lock = standard[threading, "Lock"]
    patch.install(sync=True)
    assert module.Lock is threading.Lock


def test_objects_from_before_and_after_work_on(standard):
    before = standard[queue, "Queue"]()
    during = queue.Queue()
    patch.uninstall()
    for each in (before, during):
        each.put(1)
        assert each.get() == 1


@pytest.mark.parametrize(("where", "name"), NAMES[2:])
def test_an_object_of_either_class_is_an_instance(standard, where, name):
    more = (2,) if name == "Barrier" else ()
    kind = getattr(where, name)
    for made in (kind(*more), standard[where, name](*more)):
        assert isinstance(made, kind)
    assert not isinstance(object(), kind)
    assert issubclass(standard[where, name], kind)


def test_the_classes_of_priority_queues_and_errors_are_the_old_ones():
    assert issubclass(queue.PriorityQueue, queue.Queue)
    with pytest.raises(queue.Empty):
        queue.Queue().get_nowait()
    full = queue.Queue(1)
    full.put(1)
    with pytest.raises(queue.Full):
        full.put_nowait(2)


@pytest.mark.parametrize(("where", "name"), NAMES[2:])
def test_methods_have_the_names_and_signatures_of_the_standard_ones(standard, where, name):
    ours, theirs = getattr(where, name), standard[where, name]
    for word, method in vars(theirs).items():
        if isinstance(method, types.FunctionType):
            found = getattr(ours, word)
            assert inspect.signature(found) == inspect.signature(method)
            assert found.__qualname__ == method.__qualname__
            assert found is getattr(ours, word)


def test_a_method_of_a_class_can_be_pickled():
    assert pickle.loads(pickle.dumps(queue.Queue.put)) is queue.Queue.put


def test_a_mock_of_a_class_has_its_signatures():
    mocked = mock.create_autospec(queue.Queue)(3)
    mocked.put("item", timeout=1)
    with pytest.raises(TypeError, match="unexpected"):
        mocked.put("item", seconds=1)


def test_a_method_that_a_program_replaces_is_its_own(monkeypatch):
    found = []
    monkeypatch.setattr(queue.Queue, "put", lambda self, item: found.append((self, item)))
    items = queue.Queue()
    queue.Queue.put(items, 1)
    items.put(2)
    assert found == [(items, 1), (items, 2)]


@pytest.mark.parametrize("options", [(), ("--sync",), ("--sync", "--os-threads")])
def test_the_command_has_an_option_for_it(options):
    program = "import threading; print('loomlet' in repr(threading.Lock()))"
    command = [sys.executable, "-m", "loomlet", "run", *options, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (str(bool(options)), "")
