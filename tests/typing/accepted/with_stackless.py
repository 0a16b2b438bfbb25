"""loomlet.compat.stackless: the names and types of the reference."""

from types import TracebackType
from typing import Any, assert_type

import loomlet
from loomlet.compat import stackless


def on_error(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """An error handler."""


def tasklets() -> None:
    """A tasklet is bound, set up and run."""
    one = stackless.tasklet(print)("x", end="")
    assert_type(one, stackless.tasklet)
    assert_type(stackless.tasklet().bind(print, ("x",), {"end": ""}), stackless.tasklet)
    assert_type(one.setup(1), stackless.tasklet)
    assert_type(one.alive, bool)
    assert_type(one.blocked, bool)
    assert_type(one.paused, bool)
    assert_type(one.scheduled, bool)
    assert_type(one.next, stackless.tasklet | None)
    assert_type(one.prev, stackless.tasklet | None)
    assert_type(one.tempval, Any)
    assert_type(one.thread_id, int)
    assert_type(one.set_atomic(True), bool)
    assert_type(one.context_run(len, "x"), int)
    one.throw(ValueError, "x", None, pending=True)
    one.raise_exception(ValueError, "x")
    one.kill(pending=True)
    native: loomlet.Tasklet = one
    native.join()


def channels(channel: stackless.channel) -> None:
    """A channel is one of the native ones, too."""
    channel.send(1)
    channel.send_exception(ValueError, "x")
    channel.send_throw(ValueError("x"))
    assert_type(channel.send_sequence([1, 2]), int)
    assert_type(channel.receive(), Any)
    assert_type(channel.queue, stackless.tasklet | None)
    assert_type(channel.closing, bool)
    assert_type(channel.preference, int)
    for value in channel:
        assert_type(value, Any)
    channel.close()
    channel.open()
    native: loomlet.Channel = channel
    assert_type(loomlet.select([native, channel]), tuple[int, Any])


def functions() -> None:
    """The functions of the module."""
    assert_type(stackless.run(), stackless.tasklet | None)
    assert_type(stackless.run(1000, threadblock=True, totaltimeout=True), stackless.tasklet | None)
    assert_type(stackless.schedule(), Any)
    assert_type(stackless.schedule_remove("x"), Any)
    assert_type(stackless.getcurrent(), stackless.tasklet)
    assert_type(stackless.getmain(), stackless.tasklet)
    assert_type(stackless.getcurrentid(), int)
    assert_type(stackless.getruncount(), int)
    assert_type(stackless.getthreads(), list[int])
    assert_type(stackless.getuncollectables(), list[stackless.tasklet])
    assert_type(stackless.getdebug(), bool)
    assert_type(stackless.get_thread_info(), tuple[Any, ...])
    assert_type(stackless.switch_trap(1), int)
    assert_type(stackless.enable_softswitch(None), bool)
    assert_type(stackless.current, stackless.tasklet)
    assert_type(stackless.pickle_with_tracing_state, bool)
    with stackless.atomic():
        pass


def callbacks() -> None:
    """Each setter returns the previous callback."""
    stackless.set_error_handler(on_error)
    stackless.set_schedule_callback(lambda old, new: print(old, "to", new))
    stackless.set_schedule_callback(stackless.get_schedule_callback())
    stackless.set_channel_callback(lambda channel, tasklet, sending, will_block: print(channel))
    stackless.set_channel_callback(stackless.get_channel_callback())
    assert_type(stackless.bomb(ValueError, ValueError("x")).traceback, TracebackType | None)
