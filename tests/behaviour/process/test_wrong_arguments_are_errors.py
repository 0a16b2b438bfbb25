"""Every function of the core refuses wrong arguments with an error, and is as usable as before.

First regardless of the signature: far too many arguments, and an unknown name.
Then with a value of a wrong type where the type matters.
"""

import os
import socket
import threading

import pytest

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import (
    CancelScope,
    Channel,
    Condition,
    Event,
    Lock,
    Semaphore,
    TaskGroup,
    ThawError,
    _core,
    net,
    nopreempt,
    spawn,
)

TAKES_ALL = {"__call__", "setup", "spawn", "start", "__exit__", "noop", "soft", "StacklessAtomic"}


def functions():
    """(name, function) of the module, and (name, method) of an instance of each of its types."""
    ended = spawn(int)
    ended.join()
    left, right = socket.socketpair()
    stream = net.Stream(left.detach())
    instances = [ended, Channel(), Lock(), CancelScope(), TaskGroup(), nopreempt(), stream]
    instances += [Event(), Semaphore(), Condition()]
    instances += [stackless.tasklet(), stackless.channel(), stackless.atomic()]
    instances.append(_core.Timer(print))
    found = [(name, getattr(_core, name)) for name in dir(_core)]
    for one in instances:
        for name in dir(type(one)):
            found.append((f"{type(one).__name__}.{name}", getattr(one, name, None)))
    mine = [
        (name, function)
        for name, function in found
        if callable(function) and not hasattr(object, name.rpartition(".")[2])
    ]
    return mine, (stream, right)


def test_too_many_arguments():
    """TypeError; what takes a function with any arguments is given no function."""
    mine, held = functions()
    assert len(mine) > 150
    for name, function in mine:
        if name.rpartition(".")[2] not in TAKES_ALL:
            with pytest.raises(TypeError):
                function(*[object()] * 20)
                pytest.fail(f"{name} takes 20 arguments")
    for one in held:
        one.close()


def test_a_name_that_nothing_has():
    """TypeError, too."""
    mine, held = functions()
    for name, function in mine:
        if name.rpartition(".")[2] not in TAKES_ALL:
            with pytest.raises(TypeError):
                function(no_such_name=1)
                pytest.fail(f"{name} takes no_such_name")
    for one in held:
        one.close()


def ended():
    """A tasklet that has ended."""
    task = spawn(int)
    task.join()
    return task


def entered():
    """A scope that was entered and left."""
    with CancelScope() as scope:
        pass
    return scope


WRONG = [
    (TypeError, lambda: _core._dump_at_signal(("word", 5))),
    (TypeError, lambda: _core._dump_at_signal(("word",) * 100)),
    (TypeError, lambda: CancelScope().__exit__(1)),
    (TypeError, lambda: nopreempt().__exit__(1)),
    (TypeError, lambda: Lock().acquire(timeout="soon")),
    (TypeError, lambda: _core.Timer(print).arm("soon")),
    (TypeError, lambda: ended()._interrupt(KeyError)),
    (TypeError, lambda: TaskGroup()._report(5, KeyError())),
    (TypeError, lambda: _core._slices("short")),
    (TypeError, lambda: _core._uninterruptible(5, 5)),
    (TypeError, lambda: _core._virtual_clock("now")),
    (TypeError, lambda: _core._seed("seven")),
    (TypeError, lambda: _core._torture("alloc")),
    (TypeError, lambda: _core._generator_tasklet(5)),
    (TypeError, lambda: _core._generator_empty(print)),
    (TypeError, lambda: _core._channel_snapshot(5)),
    (TypeError, lambda: _core._lock_snapshot(5)),
    (TypeError, lambda: _core._tasklet_scopes(5)),
    (TypeError, lambda: _core._tasklet_empty(int)),
    (TypeError, lambda: _core.Descriptor("path")),
    (TypeError, lambda: _core.Listener(0, int)),
    (TypeError, lambda: stackless.set_error_handler(5)),
    (TypeError, lambda: stackless.switch_trap("x")),
    (TypeError, lambda: stackless.channel(1)),
    (TypeError, lambda: stackless.tasklet().bind(int, (), {1: 2})),
    (TypeError, lambda: stackless.tasklet().bind(int, (), 5)),
    (TypeError, lambda: stackless.tasklet().context_run(5)),
    (TypeError, lambda: stackless.test_cframe_nr("x")),
    (TypeError, lambda: stackless._test_nostacklesscall(5)),
    (ValueError, lambda: stackless.tasklet(int)().bind_thread(1 << 40)),
    (ValueError, lambda: _core.cswitch_ns(0)),
    (ValueError, lambda: _core._set_hooks(print, print, print, (), print)),
    (TypeError, lambda: setattr(CancelScope(), "deadline", "soon")),
    (ThawError, lambda: _core._channel_fill(5, 0, False, False, False, ())),
    (ThawError, lambda: _core._channel_fill(Channel(1), 0, False, False, False, (1, 2))),
    (ThawError, lambda: _core._scope_snapshot(5)),
    (ThawError, lambda: _core._scope_fill(entered(), (0, None, 0, 0, 0, 0, 0))),
    (TypeError, lambda: _core._scope_fill(CancelScope(), (0, "soon", 0, 0, 0, 0, 0))),
    (ThawError, lambda: _core._scope_enter(CancelScope(), ended())),
    (ThawError, lambda: _core._scope_adopt(TaskGroup(), ended())),
]


@pytest.mark.parametrize(("kind", "call"), WRONG)
def test_a_value_of_a_wrong_kind(kind, call):
    """The documented error."""
    with pytest.raises(kind):
        call()


def test_a_lock_is_held_by_one():
    """Two frozen tasklets cannot both hold it."""
    lock, task = Lock(), spawn(int)
    _core._lock_fill(lock, task, 1)
    with pytest.raises(ThawError, match="the lock is held already"):
        _core._lock_fill(lock, task, 1)
    task.join()


def test_a_timer_belongs_to_its_thread():
    """Another one can neither arm nor cancel it; cancelled in time, it does not fire."""
    fired, errors = [], []
    timer = _core.Timer(lambda: fired.append(1))
    timer.arm(loomlet.now() + 0.01)

    def elsewhere():
        for call in (timer.cancel, lambda: timer.arm(1)):
            try:
                call()
            except loomlet.WrongThread as error:
                errors.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    timer.cancel()
    loomlet.sleep(0.03)
    assert (len(errors), fired) == (2, [])


def test_a_shield_can_be_read():
    """As it was set last."""
    scope = CancelScope(shield=True)
    assert scope.shield is True
    scope.shield = False
    assert scope.shield is False


def test_nothing_is_left_open():
    """Arguments of a refused call still belong to the caller."""
    reading, writing = os.pipe()
    with pytest.raises(TypeError):
        _core.Listener(reading, int)
    os.close(reading)
    os.close(writing)
