"""freeze(), thaw(), clone() and why_not_freezable()."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from loomlet import _core
from loomlet.errors import FreezeError, FreezeWarning, ThawError
from loomlet.snapshot import _envelope, _explain, _pickler, _tasklets
from loomlet.snapshot._progress import CURRENT, CodeMap, Loading, Saving

__all__ = ["clone", "freeze", "thaw", "why_not_freezable"]

_GOES_ON = ("runnable", "running")

Tasklets = _core.Tasklet | Iterable[_core.Tasklet]


def freeze(
    tasklet: Tasklets,
    *,
    with_partners: bool = False,
    key: bytes | None = None,
    wait: bool = False,
) -> bytes:
    """A suspended tasklet, or several, as bytes for thaw().

    Objects that several tasklets share stay shared.  Functions that can be imported are saved by
    name, others by value.  The tasklet is not changed.  `with_partners`: tasklets that wait for the
    same channels are frozen too.  `key`: the bytes are signed with HMAC-SHA256.  FreezeError names
    the value that cannot be saved; a FreezeWarning lists context variables that were left out
    because no module holds them.  `wait`: lets others run until each of them has blocked, is paused
    or has ended; a scope limits the time.
    """
    roots = _checked(tasklet)
    saving = Saving(with_partners)
    with _core.nopreempt():
        if wait:
            _wait_until_blocked(roots if isinstance(roots, list) else [roots])
        payload = _dump(roots, saving)
    saving.warn_of_dropped()
    return _envelope.seal(payload, key)


def _wait_until_blocked(tasklets: list[_core.Tasklet]) -> None:
    if _core.current() in tasklets:
        raise FreezeError("a tasklet cannot wait for itself to block; use checkpoint()")
    while any(each.state in _GOES_ON for each in tasklets):
        _core.schedule()


def _checked(tasklet: object) -> Any:
    if isinstance(tasklet, _core.Tasklet):
        return tasklet
    roots = list(tasklet) if isinstance(tasklet, Iterable) else [tasklet]
    for root in roots:
        if not isinstance(root, _core.Tasklet):
            raise TypeError(f"expected a tasklet or several, found {root!r}")
    return roots


def _dump(roots: Any, saving: Saving) -> bytes:
    for root in roots if isinstance(roots, list) else [roots]:
        _tasklets.snapshot_of(saving, root)
    try:
        return _pickler.dump(roots, saving)
    except (KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:
        raise _explain.explained(saving, error) from error


def thaw(data: bytes, *, key: bytes | None = None, code_map: CodeMap = None) -> Any:
    """The tasklet that was frozen, or a list of several.

    Thawing untrusted bytes is code execution: thaw only bytes that your program has frozen, and
    give the `key` if they pass through other hands.

    A tasklet that was blocked is blocked again in the same operation; one that was runnable or
    paused is paused, and insert() resumes it.  It belongs to the calling thread.  ThawError for
    bytes that are damaged, wrongly signed or from another Python; CodeChanged if a function has
    changed.  `code_map`: a mapping of "module.name" or (module, name) to a function, or a callable
    of both that returns one or None; that function replaces the one frozen under that name.  A
    frame can resume in it only if its bytecode and variables are those of the frozen one.
    """
    payload = _envelope.open_sealed(data, key)
    loading = Loading()
    if code_map is not None:
        loading.code_map = code_map
    return _load(payload, loading)


def _load(payload: bytes, loading: Loading) -> Any:
    token = CURRENT.set(loading)
    try:
        value = _pickler.load(payload)
        for root in value if type(value) is list else (value,):
            if not isinstance(root, _core.Tasklet):
                raise ThawError("these bytes do not hold tasklets")
        _tasklets.finish(loading)
    except (ThawError, MemoryError):
        raise
    except Exception as error:
        raise ThawError(f"these bytes cannot be restored: {error}") from error
    finally:
        CURRENT.reset(token)
    return value


def clone(tasklet: _core.Tasklet) -> _core.Tasklet:
    """A second tasklet that resumes where this one is.

    The values in its frames are copied, as freeze() and thaw() do; functions without a closure,
    classes, modules, globals, channels, locks and other tasklets are shared.  If the tasklet is
    blocked, the clone waits for the same thing.
    """
    if not isinstance(tasklet, _core.Tasklet):
        raise TypeError(f"expected a tasklet, found {tasklet!r}")
    saving = Saving(shared=[])
    with _core.nopreempt():
        payload = _dump(tasklet, saving)
    loading = Loading()
    loading.shared = saving.shared or ()
    made: _core.Tasklet = _load(payload, loading)
    return made


def why_not_freezable(tasklet: _core.Tasklet) -> str | None:
    """None if freeze(tasklet) works now, else the reason; it tries."""
    if not isinstance(tasklet, _core.Tasklet):
        raise TypeError(f"expected a tasklet, found {tasklet!r}")
    reason = _core._tasklet_why(tasklet)
    if reason is not None:
        return reason
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FreezeWarning)
            freeze(tasklet)
    except FreezeError as error:
        return str(error)
    return None
