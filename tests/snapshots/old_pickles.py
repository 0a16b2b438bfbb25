"""Tasklets of both interfaces and parts of running code in ordinary pickles, for the bytes.

See helpers_programs.py for what may change in here.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import old_values
from helpers_programs import (
    FROZEN,
    PICKLED,
    Program,
    blocked,
    give,
    held_by,
    receives,
    start_holding,
)

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import Channel, errors

EVERY_STYLE = {"styles": ("c-0", "c-1", "c-2", "c-3", "c-5", "python-4", "cloudpickle-5")}
"""Besides protocol 4 of the C pickler, in which every program is pickled."""


# ---- the native interface


def adds(ch, more):
    total = 0

    def add(number):
        nonlocal total
        total += number
        return total

    try:
        for value in asks(ch):
            add(value)
        raise KeyError("inside")
    except KeyError as error:
        return total, repr(error), ch.receive(), more


def asks(ch):
    for _ in range(2):
        yield ch.receive()


def start_tasklets() -> Any:
    """Blocked in a generator, not begun, with a name, with a pending error, in a context."""
    more = ["shared"]
    asking = blocked(adds, Channel(), more)
    fresh = loomlet.spawn(divmod, 17, 5).remove()
    named = blocked(receives, Channel())
    named.name = "Ada"
    for task in (asking, named):
        task.waiting_for.send(1)
        task.remove()
    refused = blocked(receives, Channel())
    refused.waiting_for.close()
    refused.remove()
    return [asking, fresh, named, refused, old_values.start_in_a_context(), more]


def start_elsewhere() -> Any:
    """Of a module that nobody can import; paused behind its first wait, with its value."""
    task = blocked(old_values.elsewhere()["adds"], Channel())
    task.waiting_for.send(1)
    return task.remove()


def use_elsewhere(task: Any) -> Any:
    """It gets its second value."""
    task.insert()
    loomlet.schedule()
    return give(task, 2).result()


def use_tasklets(tasks: Any) -> Any:
    """Loaded paused: inserted, they go on as they would have."""
    asking, fresh, named, refused, context, more = tasks
    for task in (asking, named, context):
        task.insert()
    loomlet.schedule()
    seen: list[Any] = [fresh.insert().result(), named.name, named.result()]
    total, error, got, mine = give(asking, 2, 3).result()
    seen += [total, error, got, mine is more, context.result()]
    try:
        refused.insert().result()
    except errors.ChannelClosed as error:
        seen.append(type(error.channel).__name__)
    return seen


TASKLETS_SEEN = [
    (3, 2),
    "Ada",
    1,
    3,
    "KeyError('inside')",
    3,
    True,
    ("set", "0.3333333"),
    "Channel",
]


def start_channels() -> Any:
    """With tasklets that wait, with values and a preference, with a name, closed."""
    ch, buffered, closed = Channel(), Channel(3), Channel()
    for _ in range(2):
        blocked(receives, ch)
    buffered.send("a")
    buffered.preference = 1
    closed.close()
    return [ch, buffered, Channel(name="kept in old bytes"), closed]


def use_channels(channels: Any) -> Any:
    """The waiting tasklets came along."""
    ch, buffered, named, closed = channels
    seen = [ch.balance]
    ch.send(1)
    ch.send(2)
    loomlet.schedule()
    seen += [ch.balance, buffered.capacity, buffered.receive(), buffered.preference]
    return [*seen, named is Channel(name="kept in old bytes"), closed.closed]


PICKLED["tasklets"] = Program(start_tasklets, use_tasklets, TASKLETS_SEEN, EVERY_STYLE)
PICKLED["channels"] = Program(start_channels, use_channels, [-2, 0, 3, "a", 1, True, True])

PICKLED["code-by-value"] = Program(start_elsewhere, use_elsewhere, [6, 8, 6])


# ---- parts of running code


def traced() -> Any:
    """A traceback of two entries."""
    try:
        raise_here()
    except ZeroDivisionError as error:
        return error.__traceback__


def raise_here():
    return 1 / 0


def start_parts() -> Any:
    """Cells, code, a traceback, and all that old_values keeps."""
    cell = types.CellType()
    cell.cell_contents = [1]
    inner = next(c for c in adds.__code__.co_consts if isinstance(c, types.CodeType))
    generators = [old_values.counts(1), old_values.awaits(old_values.Buffered())]
    for each in generators:
        each.send(None)
    return [cell, inner, traced(), sys, generators]


def use_parts(found: Any) -> Any:
    """What each of them is."""
    cell, inner, trace, module, (machine, work) = found
    names = [trace.tb_frame.f_code.co_name, trace.tb_next.tb_frame.f_code.co_name]
    seen = [cell.cell_contents, inner.co_name, names, module is sys, machine.send(1)]
    return [*seen, old_values.result_of(work, 2)]


PARTS_SEEN = [[1], "add", ["traced", "raise_here"], True, 2, ("received", 2)]
PICKLED["parts"] = Program(start_parts, use_parts, PARTS_SEEN, EVERY_STYLE)
PICKLED["iterators"] = Program(old_values.kept_iterators, old_values.look_at_iterators, {})
PICKLED["groupby"] = Program(
    old_values.kept_groups, old_values.look_at_groups, old_values.GROUPS_SEEN
)
PICKLED["views"] = Program(
    old_values.kept_dict_views, old_values.look_at_dict_views, old_values.VIEWS_SEEN[0]
)
PICKLED["generators"] = Program(
    old_values.kept_generators, old_values.look_at_generators, old_values.GENERATORS_SEEN
)
PICKLED["public"] = Program(old_values.kept_public, old_values.look_at_public, [])
PICKLED["public-values"] = Program(
    old_values.kept_values, old_values.look_at_values, [True, True, True]
)


# ---- Stackless

LOG: list[Any] = []


class Worker(stackless.tasklet):
    """With a slot and attributes."""

    __slots__ = ("__dict__", "slot")


class Line(stackless.channel):
    """With attributes."""

    color = "none"


def notes(value):
    LOG.append(value)


def waits(ch, name):
    total = 0

    def add(number):
        nonlocal total
        total += number

    for _ in range(2):
        add(ch.receive())
    LOG.append((name, total))


def pauses(name):
    stackless.schedule_remove()
    LOG.append((name, old_values.VARIABLE.get()))


def sends_a_sequence(ch):
    LOG.append(ch.send_sequence([1, 2, 3]))


def sends(ch, value):
    ch.send(value)


def iterates(ch):
    for value in ch:
        LOG.append(value)


def handles(name):
    try:
        raise KeyError(name)
    except KeyError as error:
        stackless.schedule_remove()
        LOG.append(repr(error))


def traces(*args):
    return None


def run_all(*tasks: Any) -> None:
    """Every tasklet runs until it waits or has ended."""
    for task in tasks:
        if task.paused:
            task.insert()
    stackless.run()


def start_stackless() -> Any:
    """Unbound, bound, blocked, paused, atomic, handling an exception, ended with a value."""
    unbound, bound = stackless.tasklet(), stackless.tasklet(notes, ("bound",))
    bindable = stackless.tasklet(notes)
    ch = stackless.channel()
    stackless.tasklet(waits)(ch, "waits")
    paused, handling = stackless.tasklet(pauses)("pauses"), stackless.tasklet(handles)("handled")
    worker = Worker(pauses)("worker")
    worker.slot, worker.note = "in a slot", "in the dict"
    run_all()
    ch.send(1)
    stackless.run()
    paused.set_atomic(True)
    paused.set_ignore_nesting(True)
    paused.block_trap = True
    bomb = stackless.bomb(KeyError, KeyError("bomb"), None)
    return [unbound, bound, bindable, paused, handling, worker, ch, bomb, stackless.atomic]


def use_stackless(found: Any) -> Any:
    """All of them are loaded paused, and each goes on."""
    unbound, bound, bindable, paused, handling, worker, ch, bomb, atomic = found
    flags = (paused.atomic, paused.ignore_nesting, paused.block_trap)
    paused.block_trap = False
    paused.set_atomic(False)
    LOG.clear()
    bindable("bindable")
    run_all(bound, paused, handling, worker)
    ch.send(4)
    stackless.run()
    seen = [unbound.alive, flags, worker.slot, worker.note, type(worker) is Worker]
    return [*seen, bomb.type, repr(bomb.value), atomic is stackless.atomic, sorted(map(str, LOG))]


STACKLESS_SEEN: list[Any] = [
    False,
    (True, True, True),
    "in a slot",
    "in the dict",
    True,
    KeyError,
    "KeyError('bomb')",
    True,
    sorted(
        ["bound", "bindable", "('waits', 5)", "('pauses', None)", "KeyError('handled')"]
        + ["('worker', None)"]
    ),
]


def start_stackless_channels() -> Any:
    """With receivers, with senders, closing, of a class of its own, with settings."""
    ch, line, closing, sequence = stackless.channel(), Line(), stackless.channel(), Line()
    line.color = "red"
    line.preference, line.schedule_all = 1, 1
    for name in ("first", "second"):
        stackless.tasklet(waits)(ch, name)
    stackless.tasklet(iterates)(line)
    stackless.tasklet(sends_a_sequence)(sequence)
    stackless.tasklet(sends)(closing, "value")
    run_all()
    closing.close()
    return [ch, line, closing, sequence]


def use_stackless_channels(channels: Any) -> Any:
    """Those that waited wait again, in their order."""
    ch, line, closing, sequence = channels
    LOG.clear()
    seen = [each.balance for each in channels]
    seen += [line.color, line.preference, line.schedule_all, closing.closing]
    for number in range(4):
        ch.send(number)
    for number in range(2):
        line.send(number)
    line.send_exception(StopIteration)
    seen += [closing.receive(), [sequence.receive() for _ in range(3)]]
    stackless.run()
    return [*seen, sorted(map(str, LOG))]


STACKLESS_CHANNELS_SEEN: list[Any] = [
    *[-2, -1, 1, 1, "red", 1, 1, True, "value"],
    [1, 2, 3],
    ["('first', 2)", "('second', 4)", "0", "1"],
]


def start_flags() -> Any:
    """With trace functions, a context, and finalizers of asynchronous generators."""
    flags = stackless.PICKLEFLAGS_PRESERVE_TRACING_STATE | stackless.PICKLEFLAGS_PICKLE_CONTEXT
    stackless.pickle_flags(flags | stackless.PICKLEFLAGS_PRESERVE_AG_FINALIZER)
    token = old_values.VARIABLE.set("pickled")
    task = stackless.tasklet(pauses)("context")
    run_all()
    old_values.VARIABLE.reset(token)
    task.trace_function = traces
    asynchronous = old_values.gives(Channel(2))
    sys.set_asyncgen_hooks(finalizer=traces)
    asynchronous.__anext__().close()
    sys.set_asyncgen_hooks(finalizer=None)
    return [task, asynchronous]


def use_flags(found: Any) -> Any:
    """The trace function and the context came along."""
    task, asynchronous = found
    seen = [task.trace_function is traces, asynchronous.__name__]
    task.trace_function = None
    LOG.clear()
    run_all(task)
    return [*seen, *LOG]


PICKLED["stackless"] = Program(start_stackless, use_stackless, STACKLESS_SEEN, EVERY_STYLE)
PICKLED["stackless-channels"] = Program(
    start_stackless_channels, use_stackless_channels, STACKLESS_CHANNELS_SEEN
)
PICKLED["stackless-flags"] = Program(
    start_flags, use_flags, [True, "gives", ("context", "pickled")]
)
PICKLED["stackless-module"] = Program(
    lambda: [stackless, stackless.tasklet, stackless.run],
    lambda found: [found[0] is stackless, found[1] is stackless.tasklet, found[2] is stackless.run],
    [True, True, True],
)
FROZEN["stackless"] = Program(
    lambda: start_holding(start_stackless()),
    lambda task: use_stackless(held_by(task)),
    [False, (False, False, False), *STACKLESS_SEEN[2:]],
    {"with_partners": True},
)
FROZEN["stackless-channels"] = Program(
    lambda: start_holding(start_stackless_channels()),
    lambda task: use_stackless_channels(held_by(task)),
    STACKLESS_CHANNELS_SEEN,
    {"with_partners": True},
)
