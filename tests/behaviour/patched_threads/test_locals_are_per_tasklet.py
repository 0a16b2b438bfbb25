"""threading.local under patch: each tasklet has values of its own, threads or not."""

import gc
import sys
import threading
import weakref

import pytest

import loomlet
from loomlet import patch, spawn


class Value:
    """Something that can be weakly referenced."""


class Counting(threading.local):
    """Counts how often it is initialized; made before anything is patched."""

    made = 0

    def __init__(self, start, *, step=1):
        Counting.made += 1
        self.value = start
        self.step = step


@pytest.fixture(params=[False, True], ids=["spawned", "threads"])
def run_all(request):
    """Runs functions in a tasklet each, until all have ended; main runs in between."""

    def as_thread(body):
        thread = threading.Thread(target=body)
        thread.start()
        return thread

    def main(bodies):
        for one in [as_thread(body) if request.param else spawn(body) for body in bodies]:
            one.join()

    return lambda *bodies: loomlet.run(main, bodies)


def test_what_is_set_is_seen_by_the_tasklet_alone(run_all):
    """No other tasklet sees it, and it sees no other's, over switches."""
    local = threading.local()
    local.x = "main"
    seen = []

    def body(n):
        assert not hasattr(local, "x")
        local.x = n
        loomlet.schedule()
        seen.append(local.x)
        del local.x
        loomlet.schedule()
        with pytest.raises(AttributeError):
            local.x  # noqa: B018
        with pytest.raises(AttributeError):
            del local.x

    run_all(*[lambda n=n: body(n) for n in range(10)])
    assert sorted(seen) == list(range(10))
    assert local.x == "main"


def test_its_dictionary_is_the_tasklets(run_all):
    """`__dict__` can be read and changed, not set or deleted."""
    local = threading.local()
    local.x = 1

    def body():
        assert local.__dict__ == {}
        local.__dict__["y"] = 2
        assert (local.y, vars(local)) == (2, {"y": 2})
        with pytest.raises(AttributeError, match="'__dict__' is read-only"):
            local.__dict__ = {}
        with pytest.raises(AttributeError, match="'__dict__' is read-only"):
            del local.__dict__

    run_all(body, body)
    assert local.__dict__ == {"x": 1}


def test_a_subclass_is_initialized_once_per_tasklet(run_all):
    """With the arguments of its call, at the first use; values set by others are not touched."""
    Counting.made = 0
    local = Counting(5, step=2)
    local.value = 100

    def body():
        assert (local.value, local.step) == (5, 2)
        local.value += local.step
        loomlet.schedule()
        assert local.value == 7

    run_all(body, body, body)
    assert (Counting.made, local.value) == (4, 100)


def test_an_initialization_that_fails_is_tried_again(run_all):
    """The next use calls __init__() once more, and starts with nothing."""
    fail = []

    class Failing(threading.local):
        def __init__(self):
            self.x = 1
            if fail:
                fail.pop()
                raise ValueError("no")

    local = Failing()

    def body():
        fail.append(True)
        with pytest.raises(ValueError, match="no"):
            local.x  # noqa: B018
        assert local.x == 1

    run_all(body)
    assert fail == []


def test_a_local_that_is_made_in_a_tasklet(run_all):
    """Its maker's values come from the call; others, main too, initialize their own."""
    Counting.made = 0
    made = []

    def make():
        made.append(Counting(1))
        assert Counting.made == 1
        made[0].value = 2
        loomlet.schedule()
        assert made[0].value == 2

    run_all(make)
    assert Counting.made == 1
    assert made[0].value == 1
    assert Counting.made == 2


def test_methods_slots_and_class_attributes(run_all):
    """What a subclass defines is found as in any class; __slots__ are shared by all."""

    class Rich(threading.local):
        __slots__ = ("shared",)
        number = 2

        def double(self):
            return self.x * self.number

        @property
        def half(self):
            return self.x / 2

    local = Rich()
    local.shared = "by all"

    def body():
        local.x = 5
        assert (local.double(), local.half, local.shared) == (10, 2.5, "by all")

    run_all(body, body)


def test_super_reaches_the_same_values(run_all):
    """Through the methods of the base class that an override calls."""

    class Watching(threading.local):
        def __getattribute__(self, name):
            return super().__getattribute__(name)

        def __setattr__(self, name, value):
            super().__setattr__(name, value)

        def __delattr__(self, name):
            super().__delattr__(name)

    local = Watching()
    local.x = "main"

    def body(n):
        local.x = n
        loomlet.schedule()
        assert local.x == n
        del local.x
        assert not hasattr(local, "x")

    run_all(lambda: body(1), lambda: body(2))
    assert local.x == "main"


def test_values_die_with_the_tasklet(run_all):
    """Before any tasklet that joins it continues."""
    local = threading.local()
    values, alive = [], []

    def body():
        local.x = Value()
        values.append(weakref.ref(local.x))

    run_all(body, body, lambda: alive.append([value() for value in values]))
    assert [value() for value in values] == [None, None]
    assert len(gc.get_referrers(local)) < 10


def test_values_die_with_the_local(run_all):
    """Also those of tasklets that live on."""
    values = []

    def body():
        local = threading.local()
        local.x = Value()
        values.append(weakref.ref(local.x))
        del local
        assert values[-1]() is None

    run_all(body, body)
    assert len(values) == 2


def test_a_cycle_through_a_local_is_collected(run_all):
    """A value that holds its own local."""
    values = []

    def body():
        local = threading.local()
        local.x = Value()
        local.x.local = local
        values.append(weakref.ref(local.x))
        del local
        gc.collect()
        assert values[-1]() is None

    run_all(body, body)
    assert len(values) == 2


def test_a_destructor_may_use_the_local(run_all):
    """At the end of the tasklet, as that tasklet, and may wait for a lock."""
    local = threading.local()
    lock = threading.Lock()
    seen = []

    class Closing:
        def __del__(self):
            with lock:
                seen.append((loomlet.current().is_main, getattr(local, "y", None)))
                local.z = 1

    def body():
        local.y = 7
        local.x = Closing()

    run_all(body, body)
    assert [is_main for is_main, _ in seen] == [False, False]
    assert not hasattr(local, "z")


def test_many_locals_that_come_and_go(run_all):
    """A long-lived tasklet keeps entries only for live locals."""
    counts = []

    def body():
        before = sys.getallocatedblocks()
        for _ in range(5000):
            local = threading.local()
            local.x = 1
        counts.append(sys.getallocatedblocks() - before)

    run_all(body)
    assert counts[0] < 1000


def test_a_thread_without_tasklets_has_its_own():
    """As usual, beside tasklets."""
    local = threading.local()
    local.x = "main"
    seen = []

    def plain():
        seen.append(getattr(local, "x", None))
        local.x = "thread"
        seen.append(local.x)

    thread = threading.Thread(target=plain)
    thread.start()
    thread.join()
    assert seen == [None, "thread"]
    assert local.x == "main"


def test_uninstall_and_install_again():
    """Unpatched, a tasklet without values uses its thread's; one with values keeps them."""
    local = threading.local()
    local.x = "main"
    seen = []

    def early():
        local.x = "early"
        loomlet.schedule()
        seen.append(local.x)

    def main():
        one = spawn(early)
        loomlet.schedule()
        patch.uninstall()
        assert spawn(lambda: local.x).result() == "main"
        patch.install()
        assert spawn(getattr, local, "x", None).result() is None
        one.join()

    loomlet.run(main)
    assert seen == ["early"]
    assert local.x == "main"


def test_subclasses_that_are_made_later(run_all):
    """Classes inherit what they find."""

    class Later(threading.local):
        x = 0

    class Last(Later):
        pass

    local = Last()
    local.x = 1

    def body():
        assert local.x == 0
        local.x = 2
        loomlet.schedule()
        assert local.x == 2

    run_all(body, body)
    assert local.x == 1


def test_time_slices_do_not_mix_them(run_all):
    """Tasklets that are interrupted anywhere."""
    local = Counting(0)

    def body():
        local.value = 0
        for _ in range(20_000):
            local.value += 1
        assert local.value == 20_000

    loomlet.run(lambda: [task.join() for task in [spawn(body) for _ in range(5)]], slice=0.0005)
    run_all(body)


def test_without_memory_it_is_an_error(run_all):
    """MemoryError, and the next use works."""
    local = threading.local()

    def body():
        loomlet._core._fail_allocation(1)
        try:
            local.x = 1
        except MemoryError:
            local.x = 2
        finally:
            loomlet._core._fail_allocation(0)
        assert local.x in (1, 2)

    run_all(body)
