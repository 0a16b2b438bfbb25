"""Pickling of tasklets, by every protocol and both picklers."""

import copy
import io
import pickle
import sys
import types

import pytest

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import _core


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_current_tasklet(protocol, raises):
    """Spec 3, tasklet.__reduce__: what runs can never be pickled."""
    with raises(RuntimeError, "You cannot __reduce__ the tasklet which is current."):
        stackless.getcurrent().__reduce_ex__(protocol)
    with raises(RuntimeError, "You cannot __reduce__ the tasklet which is current."):
        pickle.dumps(stackless.getcurrent(), protocol)


def test_the_current_tasklet_reduces(raises):
    """Spec 3, tasklet.__reduce__: the method of that name says the same."""
    with raises(RuntimeError, "You cannot __reduce__ the tasklet which is current."):
        stackless.getcurrent().__reduce__()


log = []


def test_an_unbound_one(through):
    """Spec 8, pickling tasklets: one without a function comes back so."""
    for loaded in through(stackless.tasklet()):
        assert (loaded.alive, type(loaded)) == (False, stackless.tasklet)
        loaded.bind(log.append)


def test_a_bound_one(through):
    """Spec 8, pickling tasklets: loaded paused; insert() runs it."""
    log.clear()
    for loaded in through(stackless.tasklet(divmod, (17, 5))):
        assert (loaded.alive, loaded.paused, loaded.scheduled) == (True, True, False)
        loaded.insert()
        stackless.run()
        assert not loaded.alive


def waits(ch):
    total = 0

    def add(n):
        nonlocal total
        total += n

    for _ in range(2):
        add(ch.receive())
    log.append(total)


@pytest.mark.usefixtures("soft")
def test_a_blocked_tasklet(through):
    """Spec 8, pickling tasklets: blocked again in the channel that comes along; the original
    continues waiting."""
    ch = stackless.channel()
    task = stackless.tasklet(waits)(ch)
    stackless.run()
    ch.send(1)
    for loaded, inner in through((task, ch)):
        assert (loaded.alive, loaded.paused, loaded.blocked) == (True, False, True)
        assert (inner is not ch, inner.balance, inner.queue) == (True, -1, loaded)
        inner.send(6)
        assert log.pop() == 7
    assert (task.blocked, ch.queue) == (True, task)
    ch.send(5)
    assert log[-1] == 6


ALONE = stackless.channel()


def waits_outside():
    value = ALONE.receive()
    log.append(value)


@pytest.mark.usefixtures("soft")
def test_a_blocked_tasklet_alone(through):
    """Spec 8, pickling tasklets: its wait brings no channel along; without one it is paused."""
    log.clear()
    task = stackless.tasklet(waits_outside)()
    stackless.run()
    for loaded in through(task):
        assert (loaded.paused, loaded.blocked, ALONE.balance) == (True, False, -1)
        loaded.insert()
        stackless.run()
    assert log == [None, None]
    task.kill()


def pauses():
    log.append("before")
    stackless.schedule_remove()
    log.append("behind")


@pytest.mark.usefixtures("soft")
def test_a_paused_tasklet(through):
    """Spec 8, pickling tasklets: each copy runs what is left."""
    log.clear()
    task = stackless.tasklet(pauses)()
    stackless.run()
    for loaded in through(task):
        assert loaded.paused
        loaded.insert()
        stackless.run()
    assert log == ["before", "behind", "behind"]
    task.kill()


def holds(ch):
    return max([1, 2], key=lambda n: ch.receive())


needs_soft = pytest.mark.skipif(not _core.SOFT_SUPPORTED, reason="no tasklet is pickled here")


@needs_soft
def test_a_tasklet_held_by_a_c_function(through):
    """Spec 8, pickling tasklets: loaded alive; an error where it runs, which says what held it and
    shows the place; loaded from what was loaded, too.  The original goes on."""
    ch = stackless.channel()
    task = stackless.tasklet(holds)(ch)
    stackless.run()
    for first in through(task):
        for loaded in (first, *through(first)):
            assert (loaded.alive, loaded.paused, type(loaded)) == (True, True, stackless.tasklet)
            loaded.insert()
            with pytest.raises(
                RuntimeError, match=r"invalid frame .*built-in function max"
            ) as info:
                stackless.run()
            assert [entry.name for entry in info.traceback[-2:]] == ["holds", "<lambda>"]
            assert not loaded.alive
    ch.send(1)
    ch.send(2)
    assert not task.alive


@needs_soft
def test_the_state_of_one_held_by_a_c_function():
    """Spec 8, the state: blocked, its nesting level, and a frame for each function."""
    task = stackless.tasklet(holds)(stackless.channel())
    stackless.run()
    flags, _, level, frames, *_ = task.__reduce__()[2]
    assert (flags & 3, level, len(frames)) == (3, task.nesting_level, 2)
    task.kill()


@needs_soft
def test_one_that_waited_while_soft_switching_was_off(through, raises):
    """Spec 8, pickling tasklets: it cannot be restored, so it does not run."""
    stackless.enable_softswitch(False)
    try:
        task = stackless.tasklet(pauses)()
        stackless.run()
        assert not task.restorable
        for loaded in through(task):
            with pytest.raises(RuntimeError, match=r"^cannot execute invalid frame with 'pauses'"):
                loaded.run()
        task.kill()
    finally:
        stackless.enable_softswitch(True)


def test_a_native_one_held_by_a_c_function():
    """Spec 8, pickling tasklets: of the native API it is refused."""
    ch = loomlet.Channel()
    task = loomlet.spawn(holds, ch)
    loomlet.schedule()
    with pytest.raises(loomlet.FreezeError):
        pickle.dumps(task)
    task.kill()


def execution():
    """What a running function is made of."""

    def inner():
        return frame

    frame = 5
    yield from (inner.__code__, inner.__closure__[0], sys, {}.keys(), (_ for _ in ()))


@pytest.mark.parametrize("thing", [*execution()], ids=lambda thing: type(thing).__name__)
def test_execution(thing, through):
    """Spec 8, pickling execution: every pickler knows these once the module is imported."""
    for loaded in through(thing):
        assert type(loaded) is type(thing)
        assert loaded is thing or not isinstance(thing, types.ModuleType)


def test_an_execution_continues(through):
    """Spec 8, pickling execution: generators and iterators in the middle of their work."""
    parts = (
        (n * n for n in range(5)),
        iter([1, 2, 3]),
        reversed("abc"),
        zip("ab", "12", strict=True),
    )
    for part in parts:
        next(part)
    for squares, numbers, letters, pairs in through(parts):
        assert list(squares) == [1, 4, 9, 16]
        assert list(numbers) == [2, 3]
        assert list(letters) == ["b", "a"]
        assert list(pairs) == [("b", "2")]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_functions_by_name(protocol):
    """Spec 8, pickling functions: one that can be imported, and the builtins."""
    for dumps in (pickle.dumps, pickle._dumps):
        assert pickle.loads(dumps([execution, divmod], protocol)) == [execution, divmod]


def test_functions_by_value(through):
    """Spec 8, pickling functions: lambdas and local functions, with what they close over."""
    factor = 3
    functions = [lambda n: n * factor, recursive(), uses_its_module, counting(10)]
    for twice, down, module, count in through(functions):
        assert (twice(2), down(4), module()) == (6, [4, 3, 2, 1], log)
        assert (count(), count()) == (11, 12)
    for found in through([functions[0], functions[0]]):
        assert found[0] is found[1]


def recursive():
    down = lambda n: [n, *down(n - 1)] if n else []  # noqa: E731
    return down


uses_its_module = lambda: log  # noqa: E731
uses_its_module.__qualname__ = "it is not found so"


def counting(n):
    def count():
        nonlocal n
        n += 1
        return n

    return count


def test_a_pickler_of_ones_own():
    """Spec 8, pickling functions: derived from the pickler in C, with a persistent_id."""

    class Named(pickle.Pickler):
        def persistent_id(self, value):
            return "the log" if value is log else None

    class Known(pickle.Unpickler):
        def persistent_load(self, name):
            return name.upper()

    file = io.BytesIO()
    Named(file).dump([log, lambda: 5])
    named, five = Known(io.BytesIO(file.getvalue())).load()
    assert (named, five()) == ("THE LOG", 5)


def test_what_pickle_refuses(raises):
    """Spec 8, pickling functions: a module that cannot be pickled is refused as before."""
    with pytest.raises((TypeError, pickle.PicklingError)):
        pickle.dumps([lambda: None, memoryview(b"")])


# ---- the tuples


def test_the_state_of_a_new_one():
    """Spec 8, the state: (flags, tempval, nesting level, frames, type, value, traceback, owner)."""
    kind, given, state = stackless.tasklet(divmod, (17, 5)).__reduce__()
    assert (kind, given) == (stackless.tasklet, ())
    assert (*state[:3], *state[4:]) == (0, None, 0, None, None, None, None)
    assert len(state[3]) == 1


@pytest.mark.usefixtures("soft")
def test_the_state_of_a_waiting_tasklet():
    """Spec 8, the flag word: whether it is blocked, with the sign of the direction."""
    ch = stackless.channel()

    def inner():
        ch.send("value")

    def outer():
        inner()

    sender = stackless.tasklet(outer)()
    stackless.run()
    state = sender.__reduce__()[2]
    assert (state[0], state[1], len(state[3])) == (0b01, "value", 2)
    sender.kill()
    receiver = stackless.tasklet(waits)(ch)
    stackless.run()
    state = receiver.__reduce__()[2]
    assert (state[0], state[1], len(state[3])) == (0b11, None, 1)
    receiver.kill()


def test_the_flag_word(through):
    """Spec 8, the flag word: atomic, ignore_nesting and block_trap have their bits."""
    task = stackless.tasklet(divmod, (17, 5))
    for bit, set_flag in (
        (2, task.set_atomic),
        (3, task.set_ignore_nesting),
        (5, lambda on: setattr(task, "block_trap", on)),
    ):
        set_flag(True)
        assert task.__reduce__()[2][0] == 1 << bit
        for loaded in through(task):
            assert loaded.__reduce__()[2][0] == 1 << bit
        set_flag(False)
    assert task.__reduce__()[2][0] == 0


def handles():
    try:
        raise KeyError("handled")
    except KeyError:
        stackless.schedule_remove("mail")
        log.append(sys.exc_info()[1].args)


@pytest.mark.usefixtures("soft")
def test_the_handled_exception(through):
    """Spec 8, the state: type, value and traceback of what it handles come along."""
    log.clear()
    task = stackless.tasklet(handles)()
    stackless.run()
    flags, tempval, _, frames, kind, value, trace, owner = task.__reduce__()[2]
    assert (flags, tempval, len(frames)) == (0, "mail", 1)
    assert (kind, owner) == (KeyError, None)
    assert None not in (value, trace)
    for loaded in through(task):
        loaded.insert()
        stackless.run()
    assert log == [("handled",)] * 2
    task.kill()


def steps_that_handle():
    try:
        raise KeyError("handled")
    except KeyError:
        yield stackless.schedule_remove("mail")
        log.append(sys.exc_info()[1].args)


def runs_steps():
    for value in steps_that_handle():
        log.append((value, sys.exc_info()[1]))


@pytest.mark.usefixtures("soft")
def test_the_owner_of_the_handled_exception(through):
    """Spec 8, the state: the innermost generator that runs, which brings its exception along."""
    log.clear()
    task = stackless.tasklet(runs_steps)()
    stackless.run()
    frames, kind, _, _, owner = task.__reduce__()[2][3:8]
    assert (len(frames), kind) == (2, None)
    assert (owner.__name__, owner.gi_running) == ("steps_that_handle", True)
    for loaded in through(task):
        mine = loaded.__reduce__()[2][7]
        assert (mine is owner, mine.__name__) == (False, "steps_that_handle")
        loaded.insert()
        stackless.run()
    assert log == [("mail", None), ("handled",)] * 2
    task.kill()


@pytest.mark.usefixtures("soft")
def test_a_pending_exception(through):
    """Spec 8, the state: an exception that is to be raised is a bomb in tempval."""
    ch = stackless.channel()

    def sends():
        ch.send_exception(KeyError, "sent")

    task = stackless.tasklet(sends)()
    stackless.run()
    tempval = task.__reduce__()[2][1]
    assert (type(tempval), tempval.type) == (stackless.bomb, KeyError)
    for loaded in through(ch):
        with pytest.raises(KeyError, match="sent"):
            loaded.receive()
        stackless.run()
    task.kill()


def test_one_with_a_function_only(through):
    """Spec 8, pickling tasklets: the function of a dead one is in its tempval."""
    log.clear()
    task = stackless.tasklet(record)
    assert task.__reduce__()[2][:4] == (0, record, 0, [])
    for loaded in through(task):
        assert (loaded.alive, loaded.tempval) == (False, record)
        loaded("x")
        stackless.run()
    assert log == ["x"] * 2


def record(value):
    log.append(value)


class Named(stackless.tasklet):
    """With attributes of both kinds, and methods of its own around the state."""

    __slots__ = ("__dict__", "slot")

    def __reduce__(self):
        kind, given, state = super().__reduce__()
        return kind, given, (state, "more")

    def __setstate__(self, state):
        super().__setstate__(state[0])
        self.loaded = state[1]


def test_a_subclass(through):
    """Spec 3, tasklet.__setstate__: both methods can be overridden; attributes come along."""
    task = Named(divmod, (17, 5))
    task.slot, task.own = [1], {"two": 2}
    for loaded in through(task):
        assert type(loaded) is Named
        assert (loaded.slot, loaded.own, loaded.loaded) == ([1], {"two": 2}, "more")
        assert loaded.paused
    again = loomlet.thaw(loomlet.freeze(task))
    assert (type(again), again.slot, again.own) == (Named, [1], {"two": 2})


@pytest.mark.parametrize(
    "state",
    [
        None,
        (),
        (0,) * 8,
        (0, None, 0, [5], None, None, None, None),
        ("flags", None, 0, [], None, None, None, None),
        (0, None, 0, [], None, None, None, None, "unusual"),
        (0, None, 0, [], None, None, None, None, {"attributes": 5}),
    ],
)
def test_a_wrong_state(state):
    """Spec 3, tasklet.__setstate__: what __reduce__ does not make is refused; nothing happens."""
    task = stackless.tasklet()
    with pytest.raises(loomlet.ThawError):
        task.__setstate__(state)
    assert not task.alive


def test_a_state_for_a_living_tasklet():
    """Spec 3, tasklet.__setstate__: refused."""
    task = stackless.tasklet(divmod, (17, 5))
    with pytest.raises(loomlet.ThawError):
        task.__setstate__(task.__reduce__()[2])
    assert task.paused


def test_a_state_without_a_pickler():
    """Spec 3, tasklet.__setstate__: takes what __reduce__ gave, as copy.copy() does."""
    log.clear()
    task = stackless.tasklet(lambda: log.append("called"))()
    copy.copy(task).insert()
    stackless.run()
    assert log == ["called"] * 2


def catches(ch):
    try:
        ch.receive()
    except KeyError as error:
        log.append(error.args)


@pytest.mark.usefixtures("soft")
def test_one_with_an_exception_on_its_way(through):
    """Spec 8, pickling tasklets: a pending exception comes along, as a bomb in tempval."""
    log.clear()
    task = stackless.tasklet(catches)(stackless.channel())
    stackless.run()
    task.throw(KeyError, "on its way", pending=True)
    for loaded in through(task):
        assert type(loaded.tempval) is stackless.bomb
        loaded.insert()
    stackless.run()
    assert set(log) == {("on its way",)}
