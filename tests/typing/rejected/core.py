"""Mistakes with channels, tasklets, scopes and snapshots."""

from typing import assert_type

import loomlet
from loomlet import CancelScope, Channel, Lock, TaskGroup, Tasklet, nopreempt, select, spawn


def add(one: int, other: int = 0) -> int:
    """The function that is spawned here."""
    return one + other


def channels(channel: Channel) -> None:
    """Wrong arguments, a property that is set, and a result that is something else."""
    Channel("jobs")  # wrong: arg-type, reportArgumentType
    channel.send()  # wrong: call-arg, reportCallIssue
    channel.send(1, 2, 3)  # wrong: call-arg, reportCallIssue
    channel.closed = True  # wrong: misc, reportAttributeAccessIssue
    assert_type(channel.try_receive(), bool)  # wrong: assert-type, reportAssertTypeFailure
    select(channel)  # wrong: arg-type, reportArgumentType
    select([(channel, 1, 2)])  # wrong: list-item, reportArgumentType


def tasklets(tasklet: Tasklet) -> None:
    """The arguments of a function, and states that do not exist."""
    spawn(add)  # wrong: call-arg, reportCallIssue
    spawn(add, "one")  # wrong: arg-type, reportArgumentType
    spawn(add, 1, another=2)  # wrong: call-arg, reportCallIssue
    spawn(1)  # wrong: arg-type, reportCallIssue
    tasklet.throw("error")  # wrong: arg-type, reportArgumentType
    tasklet.id = 3  # wrong: misc, reportAttributeAccessIssue
    tasklet.join("soon")  # wrong: arg-type, reportArgumentType
    print(tasklet.state == "sleeping")  # wrong: comparison-overlap, reportUnnecessaryComparison


def running() -> str:
    """The result of run() is the function's."""
    loomlet.run(add, 1, slice="short")  # wrong: arg-type, reportArgumentType
    loomlet.sleep("1")  # wrong: arg-type, reportArgumentType
    return loomlet.run(add, 1)  # wrong: return-value, reportReturnType


def handler(error: BaseException) -> None:
    """Takes too little."""


def callbacks() -> None:
    """A handler with other arguments, and a field that a stall does not have."""
    loomlet.set_error_handler(handler)  # wrong: arg-type, reportArgumentType
    loomlet.on_stall(lambda stall: stall.text)  # wrong: attr-defined, reportAttributeAccessIssue


def scopes(lock: Lock) -> None:
    """Deadlines are numbers, and a lock has no limit of its own in `with`."""
    CancelScope(deadline="soon")  # wrong: arg-type, reportArgumentType
    loomlet.timeout()  # wrong: call-arg, reportCallIssue
    with TaskGroup() as group:
        group.spawn(add, other=1)  # wrong: call-arg, reportCallIssue
    lock.acquire(timeout=None)  # wrong: arg-type, reportArgumentType
    with nopreempt() as nothing:
        nothing.enter()  # wrong: attr-defined, reportAttributeAccessIssue


class Special(Tasklet):  # wrong: misc, reportGeneralTypeIssues
    """A tasklet is no base class."""


def snapshots(tasklet: Tasklet) -> None:
    """Bytes and text, a key that is text, and one tasklet for several."""
    loomlet.thaw("text")  # wrong: arg-type, reportArgumentType
    loomlet.freeze(tasklet, key="secret")  # wrong: arg-type, reportArgumentType
    loomlet.freeze([1])  # wrong: list-item, reportArgumentType
    loomlet.clone([tasklet])  # wrong: arg-type, reportArgumentType
    loomlet.freeze(tasklet, True)  # wrong: call-arg, reportCallIssue
