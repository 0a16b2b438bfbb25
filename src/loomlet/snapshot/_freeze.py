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

Tasklets = _core.Tasklet | Iterable[_core.Tasklet]


def freeze(tasklet: Tasklets, *, with_partners: bool = False, key: bytes | None = None) -> bytes:
    """The state of a suspended tasklet, or of several, as bytes for thaw().

    What several share stays shared.  Functions that can be imported go by name, others by value.
    The tasklet stays as it was.  `with_partners`: the tasklets that wait for the same channels come
    along.  `key`: the bytes are signed with HMAC-SHA256.  FreezeError names what cannot be saved;
    a FreezeWarning lists context variables that no module holds and that were left out.
    """
    roots = _checked(tasklet)
    saving = Saving(with_partners)
    with _core.nopreempt():
        payload = _dump(roots, saving)
    saving.tell_dropped()
    return _envelope.seal(payload, key)


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
        _tasklets.record_of(saving, root)
    try:
        return _pickler.dump(roots, saving)
    except (KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:
        raise _explain.explained(saving, error) from error


def thaw(data: bytes, *, key: bytes | None = None, code_map: CodeMap = None) -> Any:
    """The tasklet that was frozen, or a list when several were.

    Thawing untrusted bytes is code execution: thaw only what your program has frozen, and give the
    `key` when the bytes pass through other hands.

    A tasklet that was blocked is blocked again in the same operation; one that was runnable or
    paused is paused, and insert() lets it go on.  It belongs to the calling thread.  ThawError for
    bytes that are damaged, wrongly signed or of another Python; CodeChanged when a function is not
    the same.  `code_map`: a mapping of "module.name" or (module, name) to a function, or a callable
    of both that returns one or None; that function is taken instead of the one frozen under that
    name.  A frame can go on in it only when its bytecode and variables are those of the frozen one.
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
                raise ThawError("these bytes hold something else than tasklets")
        _tasklets.finish(loading)
    except (ThawError, MemoryError):
        raise
    except Exception as error:
        raise ThawError(f"these bytes cannot be restored: {error}") from error
    finally:
        CURRENT.reset(token)
    return value


def clone(tasklet: _core.Tasklet) -> _core.Tasklet:
    """A second tasklet that goes on from where this one is.

    What its frames hold is copied, as freeze() and thaw() do; functions without a closure, classes,
    modules, globals, channels, locks and other tasklets are shared.  One that is blocked is blocked
    twice: both wait.
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
    """None when freeze(tasklet) works now, else the reason; it tries."""
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
