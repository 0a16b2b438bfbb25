"""Work is begun in an OS thread or in a tasklet; what comes back waits until it has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import loomlet

Begin = Callable[..., Callable[[], Any]]


def in_a_thread(call: Callable[..., Any], *args: Any) -> Callable[[], None]:
    """The tasklets of this thread go on while it is waited for."""
    ended, errors = loomlet.Event(), []

    def run() -> None:
        try:
            call(*args)
        except Exception as error:
            errors.append(error)
        finally:
            ended.set()

    def end() -> None:
        ended.wait()
        thread.join()
        for error in errors:
            raise error

    thread = threading.Thread(target=run)
    thread.start()
    return end


def in_a_tasklet(call: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return loomlet.spawn(call, *args).join


def in_each_by_turns() -> Begin:
    """One in a tasklet, the next in a thread."""
    kinds = [in_a_thread, in_a_tasklet]

    def begin(call: Callable[..., Any], *args: Any) -> Callable[[], Any]:
        kinds.reverse()
        return kinds[0](call, *args)

    return begin


BOTH_KINDS = {"threads": in_a_thread, "tasklets": in_a_tasklet, "both": in_each_by_turns()}
