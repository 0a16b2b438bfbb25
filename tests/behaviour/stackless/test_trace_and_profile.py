"""Each tasklet has its own trace and profile function."""

import sys

import pytest

import loomlet.compat.stackless as stackless

KINDS = {
    "trace_function": (sys.settrace, sys.gettrace),
    "profile_function": (sys.setprofile, sys.getprofile),
}


@pytest.fixture(params=KINDS)
def kind(request):
    """The attribute's name; what was set in the main tasklet is set again afterwards."""
    put, get = KINDS[request.param]
    before = get()
    put(None)
    yield request.param
    put(before)


def watched():
    pass


def watch(seen):
    """A trace or profile function that notes calls of watched()."""

    def note(frame, event, arg):
        if event == "call" and frame.f_code is watched.__code__:
            seen.append(stackless.getcurrent())

    return note


def test_none_by_default(kind):
    """Spec 3, tasklet.trace_function, profile_function: nothing is set in a new tasklet."""
    assert getattr(stackless.tasklet(print, ()), kind) is None
    assert getattr(stackless.getcurrent(), kind) is None


def test_of_the_current_tasklet(kind):
    """Spec 3, tasklet.trace_function, profile_function: the same as what sys sets and gets."""
    put, get = KINDS[kind]
    me, func = stackless.getcurrent(), watch([])
    put(func)
    assert getattr(me, kind) is func
    setattr(me, kind, None)
    assert get() is None
    setattr(me, kind, func)
    assert get() is func
    put(None)


def test_it_sees_only_its_tasklet(kind, mode):
    """Spec 1, trace and profile functions: set in one tasklet, other tasklets are not watched."""
    put, _ = KINDS[kind]
    seen = []

    def body(func):
        put(func)
        for _ in range(2):
            watched()
            stackless.schedule()
        put(None)

    a = stackless.tasklet(body)(watch(seen))
    stackless.tasklet(body)(None)
    for _ in range(4):
        watched()
        stackless.schedule()
    assert seen == [a, a]


def test_it_can_be_read_while_the_tasklet_waits(kind, mode):
    """Spec 3, tasklet.trace_function, profile_function: another tasklet can ask for it."""
    put, get = KINDS[kind]
    func = watch([])

    def body():
        put(func)
        stackless.schedule()
        put(None)

    task = stackless.tasklet(body)()
    stackless.schedule()
    assert getattr(task, kind) is func
    assert get() is None
    stackless.run()


def test_it_can_be_set_while_the_tasklet_waits(kind, mode):
    """Spec 3, tasklet.trace_function, profile_function: another tasklet can set and clear it."""
    seen = []

    def body():
        for _ in range(3):
            watched()
            stackless.schedule()

    task = stackless.tasklet(body)()
    stackless.schedule()
    setattr(task, kind, watch(seen))
    stackless.schedule()
    setattr(task, kind, None)
    stackless.run()
    assert seen == [task]


def test_it_can_be_set_before_the_tasklet_runs(kind, mode):
    """Spec 3, tasklet.trace_function, profile_function: it begins with the tasklet."""
    seen = []
    task = stackless.tasklet(watched)()
    setattr(task, kind, watch(seen))
    watched()
    stackless.run()
    assert seen == [task]


def test_a_new_tasklet_does_not_inherit_it(kind, mode):
    """Spec 1, trace and profile functions: made by one that is watched, it is not."""
    seen, me = [], stackless.getcurrent()
    setattr(me, kind, watch(seen))
    task = stackless.tasklet(watched)()
    inherited = getattr(task, kind)
    stackless.run()
    setattr(me, kind, None)
    assert inherited is None
    assert seen == []


def test_a_schedule_callback_may_set_it(kind, mode):
    """Spec 3, tasklet.trace_function, profile_function: so debuggers follow every tasklet."""
    seen = []

    def follow(prev, following):
        if not following.is_main and getattr(following, kind) is None:
            setattr(following, kind, watch(seen))

    def body():
        watched()
        stackless.schedule()
        watched()

    tasks = [stackless.tasklet(body)() for _ in range(3)]
    stackless.set_schedule_callback(follow)
    stackless.run()
    stackless.set_schedule_callback(None)
    assert seen == tasks * 2


def test_of_a_dead_tasklet(kind, raises):
    """Spec 3, tasklet.trace_function, profile_function: setting it on a dead one is an error."""
    with raises(RuntimeError, "tasklet is not alive"):
        setattr(stackless.tasklet(), kind, watch([]))


def test_of_another_threads_current_tasklet(kind, thread):
    """Spec 3, tasklet.trace_function, profile_function: what runs elsewhere cannot be changed."""
    main = stackless.getcurrent()

    def change():
        with pytest.raises(RuntimeError):
            setattr(main, kind, watch([]))

    thread(change).result()
