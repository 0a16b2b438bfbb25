"""sys.settrace and sys.setprofile are the running tasklet's; no other one is traced by them."""

import gc
import sys
import threading
import weakref

import pytest

import loomlet
from loomlet import Channel, schedule, spawn

SET = {"trace": (sys.settrace, sys.gettrace), "profile": (sys.setprofile, sys.getprofile)}


@pytest.fixture(params=list(SET))
def tool(request):
    """The pair that sets and gets; what was on in the test's own tasklet is put back."""
    put, get = SET[request.param]
    before = get()
    put(None)
    yield put, get
    put(before)


class Seen:
    """A trace function that notes in which functions events came."""

    def __init__(self):
        self.names = set()

    def __call__(self, frame, event, arg):
        self.names.add(frame.f_code.co_name)
        return self


def callee_of_first(ch):
    return ch.receive()


def callee_of_second():
    schedule()


def test_one_traces_another_does_not(tool, mode):
    """Two tasklets and main take turns; only the functions of the one are seen."""
    (put, get), seen, ch = tool, Seen(), Channel()

    def first():
        put(seen)
        total = callee_of_first(ch)
        assert get() is seen
        total += sorted([1], key=lambda n: callee_of_first(ch) or n)[0]
        put(None)
        return total

    def second():
        for _ in range(4):
            assert get() is None
            callee_of_second()
        return get()

    tasks = [spawn(first), spawn(second)]
    for _ in range(2):
        schedule()
        assert get() is None
        ch.send(1)
    assert [task.result() for task in tasks] == [2, None]
    assert "callee_of_first" in seen.names
    assert "callee_of_second" not in seen.names
    assert get() is None


def test_each_its_own(tool, mode):
    """Each tasklet finds its own function again after every switch."""
    put, get = tool

    def work(n):
        mine = Seen()
        put(mine)
        for _ in range(n):
            schedule()
            assert get() is mine
        put(None)
        schedule()
        return get()

    tasks = [spawn(work, n) for n in range(1, 8)]
    assert [task.result() for task in tasks] == [None] * 7


def test_mains_is_not_inherited(tool, mode):
    """What the main tasklet has set is not on in those that it spawns."""
    (put, get), seen = tool, Seen()
    put(seen)
    task = spawn(lambda: (callee_of_second(), get())[1])
    result = task.result()
    mine = get()
    put(None)
    assert (result, mine) == (None, seen)
    assert "callee_of_second" not in seen.names


def test_it_goes_with_its_tasklet(tool, mode):
    """A tasklet that ends, fails or is killed with a function on leaves nothing behind."""
    put, get = tool

    def body(how, ch):
        put(seen)
        if how == "fail":
            raise KeyError(how)
        if how == "kill":
            ch.receive()

    for how in ("end", "fail", "kill"):
        seen = Seen()
        gone = weakref.ref(seen)
        task = spawn(body, how, Channel())
        if how == "kill":
            schedule()
            task.kill()
        else:
            try:
                task.join()
            except KeyError:
                pass
        assert get() is None
        seen = task = None
        gc.collect()
        assert gone() is None


def test_switching_is_as_fast_as_before_when_all_is_off(tool, switches):
    """Soft again once nobody traces any more."""
    put, _ = tool

    def traced():
        put(Seen())
        schedule()
        put(None)

    spawn(traced).join()
    switches.take()

    def plain():
        for _ in range(10):
            schedule()

    tasks = [spawn(plain) for _ in range(2)]
    for task in tasks:
        task.join()
    soft, hard = switches.take()
    assert soft >= 20
    assert hard == 0


def test_threads_without_tasklets(tool):
    """There it is the thread's, as ever."""
    (put, get), seen, found = tool, Seen(), []

    def work():
        put(seen)
        callee()
        found.append(get())
        put(None)

    def callee():
        pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [seen]
    assert "callee" in seen.names
    assert get() is None


def test_on_before_the_first_tasklet_of_a_thread(tool):
    """What a thread has set itself is its main tasklet's."""
    (put, get), seen, found = tool, Seen(), []

    def work():
        put(seen)
        found.append(loomlet.run(lambda: spawn(get).result()))
        found.append(get())
        put(None)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None, seen]
