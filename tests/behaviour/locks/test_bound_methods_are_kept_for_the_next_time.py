"""What `with lock:` binds is an object that its thread keeps for the next one."""

import gc
import threading

import pytest

from loomlet import Lock

KIND = type(Lock().__enter__)


def bound_methods():
    return [each for each in gc.get_objects() if type(each) is KIND]


def nest(depth):
    """So many are in use at the same time."""
    if depth:
        with Lock():
            nest(depth - 1)


def test_one_that_is_kept_is_bound_to_nothing():
    nest(20)
    for each in bound_methods():
        assert gc.get_referents(each) == []
        with pytest.raises(TypeError, match="bound to no object"):
            each()


def test_few_are_kept():
    nest(3)
    before = len(bound_methods())
    nest(100)
    assert len(bound_methods()) <= before + 8


def test_none_of_a_thread_that_has_ended():
    nest(3)
    before = len(bound_methods())
    for _ in range(20):
        thread = threading.Thread(target=nest, args=(20,))
        thread.start()
        thread.join()
    assert len(bound_methods()) <= before + 8


def test_a_method_that_is_stored_keeps_its_object():
    lock = Lock()
    enter, leave = lock.__enter__, lock.__exit__
    nest(20)
    assert enter() is True
    assert lock.locked()
    leave(None, None, None)
    assert not lock.locked()


@pytest.mark.parametrize("before", ["nothing", "freeze", "garbage"])
def test_a_circle_through_a_method_is_collected(before):
    """Also where the spares were in use or not when the collector put away all that there was, or
    were garbage themselves."""

    class Own(Lock):
        pass

    if before == "garbage":
        for _ in range(20):
            own = Own()
            own.enter = own.__enter__
        del own
    gc.collect()
    if before == "freeze":
        with Lock():
            nest(20)
            gc.freeze()  # as tests/conftest.py does
    own = Own()
    own.enter = own.__enter__
    found = []

    class Seen:
        def __del__(self):
            found.append(True)

    own.seen = Seen()
    del own
    gc.collect()
    assert found == [True]
    nest(20)


def test_a_method_of_the_class_wants_an_object_of_it():
    lock = Lock()
    assert Lock.__enter__(lock) is True
    Lock.__exit__(lock, None, None, None)
    assert not lock.locked()
    for method, arguments in ((Lock.__enter__, ()), (Lock.__exit__, (None, None, None))):
        with pytest.raises(TypeError):
            method(5, *arguments)
        with pytest.raises(TypeError):
            method()
