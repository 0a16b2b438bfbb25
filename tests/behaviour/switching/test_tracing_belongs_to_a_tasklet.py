"""sys.settrace and sys.setprofile are the running tasklet's, and of those that it spawns later."""

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


def test_a_spawned_tasklet_begins_with_its_spawners(tool, mode):
    """Then each has its own: what one sets or takes off, the other does not see."""
    (put, get), seen, found = tool, Seen(), []

    def child():
        found.append(get())
        callee_of_second()
        put(None)
        schedule()
        found.append(get())

    def spawner():
        put(seen)
        task = spawn(child)
        schedule()
        assert get() is seen
        put(None)
        task.join()

    spawn(spawner).join()
    assert found == [seen, None]
    assert get() is None
    assert "callee_of_second" in seen.names


def test_it_is_taken_over_at_the_spawn(tool, mode):
    """What the spawner sets later is its own, and so is what it takes off."""
    put, get = tool
    first, second = Seen(), Seen()
    put(first)
    early = spawn(get)
    put(second)
    late = spawn(get)
    put(None)
    none = spawn(get)
    assert [task.result() for task in (early, late, none)] == [first, second, None]


def test_a_tasklet_that_never_runs_gives_it_up(tool, mode):
    """Killed before its start, or dropped."""
    put, _ = tool
    seen = Seen()
    gone = weakref.ref(seen)
    put(seen)
    tasks = [spawn(schedule) for _ in range(3)]
    put(None)
    tasks.pop().remove()
    for task in tasks:
        task.kill()
    task = tasks = seen = None
    gc.collect()
    assert gone() is None


SET_BEFORE_OR_AFTER = """
import sys
seen = set()
def tracer(frame, event, arg):
    seen.add(frame.f_code.co_name)
    return tracer
if {before}:
    sys.{setter}(tracer)
import loomlet
def inner():
    loomlet.schedule()
def body():
    inner()
    sorted([1], key=lambda _: inner())
    return sys.{getter}()
def main():
    if not {before}:
        sys.{setter}(tracer)
    tasks = [loomlet.spawn(body) for _ in range(3)]
    assert [task.result() for task in tasks] == [tracer] * 3
    assert sys.{getter}() is tracer
loomlet.run(main)
sys.{setter}(None)
assert {{"inner", "body"}} <= seen, seen
"""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("what", ["trace", "profile"])
def test_set_before_or_after_the_import(python, what, before):
    """It makes no difference."""
    program = SET_BEFORE_OR_AFTER.format(before=before, setter=f"set{what}", getter=f"get{what}")
    done = python(program)
    assert (done.returncode, done.stderr) == (0, "")


def test_sys_settrace_may_be_replaced_before_the_import(python):
    """As a debugger does that wants no other to be set."""
    done = python(
        "import sys\n"
        "original = sys.settrace\n"
        "sys.settrace = lambda function: print('ignored', file=sys.stderr)\n"
        "import loomlet\n"
        "original(print)\n"
        "task = loomlet.spawn(sys.gettrace)\n"
        "original(None)\n"
        "assert task.result() is print\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_it_ends_with_its_tasklet(tool, mode):
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
    """Switches are soft again once no tasklet is traced."""
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
    """There it is the thread's, as usual."""
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
    """What a thread has set itself is its main tasklet's, and of those that this one spawns."""
    (put, get), seen, found = tool, Seen(), []

    def work():
        put(seen)
        found.append(loomlet.run(lambda: spawn(get).result()))
        found.append(get())
        put(None)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [seen, seen]


def test_set_for_all_threads_it_is_set_for_all_tasklets(tool, mode):
    """threading.settrace_all_threads(): also for those that wait, and it is taken off again."""
    (_, get), seen = tool, Seen()
    what = "settrace" if get is sys.gettrace else "setprofile"
    set_for_all = getattr(threading, f"{what}_all_threads", None)
    if set_for_all is None:
        pytest.skip("came with 3.12")
    before = getattr(threading, what.replace("set", "get"))()
    ch = Channel()

    def body():
        found = []
        for _ in range(2):
            callee_of_first(ch)
            found.append(get())
            sorted([1], key=lambda _: ch.receive())
            found.append(get())
        return found

    tasks = [spawn(body) for _ in range(3)]
    schedule()
    set_for_all(seen)
    for _ in tasks * 2:
        ch.send(1)
        schedule()
    set_for_all(None)
    for _ in tasks * 2:
        ch.send(1)
        schedule()
    getattr(threading, what)(before)
    assert [task.result() for task in tasks] == [[seen, seen, None, None]] * 3
    assert get() is None


THREADS = """
import sys, threading, time
import loomlet
from loomlet import patch

def make(name):
    def function(frame, event, arg):
        if frame.f_code.co_name in ("body", "inner", "work"):
            seen.add((name, frame.f_code.co_name))
        return function
    return function

seen = set()
def inner():
    time.sleep(0.01)
def work():
    time.sleep(0.01)
    inner()
def body():
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    inner()

mains = make("main")
def main():
    threading.{setter}(make("thread"))
    sys.{setter}(mains)
    body()
    assert sys.{getter}() is mains
    sys.{setter}(None)

patch.install(threads=True)
loomlet.run(main)
mine = {{("main", "body"), ("main", "inner")}}
assert seen == mine | {{("thread", "work"), ("thread", "inner")}}, seen
"""


@pytest.mark.parametrize("what", ["trace", "profile"])
def test_threads_that_are_tasklets_begin_with_those_of_threads(python, what):
    """What threading.settrace() was given; main keeps its own, whatever waits in between."""
    done = python(THREADS.format(setter=f"set{what}", getter=f"get{what}"))
    assert (done.returncode, done.stderr) == (0, "")
