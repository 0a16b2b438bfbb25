"""Links between tasklets: joins, locks, cancel scopes and groups.

Each link has another side: the tasklet that is joined, the holder of the lock, the tasklet that has
entered the scope, the children of the group.  A link makes sense only if the other side is frozen
too; otherwise freezing fails and names it, and `with_partners` freezes it too.  Objects that belong
to the tasklet itself, such as a `timeout` that it has entered or a lock that it holds, are always
saved with it.  A child that is frozen without its group does not belong to it when it is thawed.

Thawing restores the links when all tasklets are filled and still paused: scopes from the outermost
inwards, a group's children right after the group, because their own scopes lie inside it; then all
tasklets wait again.
"""

from __future__ import annotations

from typing import Any

from loomlet import _core
from loomlet._waits import describe
from loomlet.errors import FreezeError, ThawError
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._compact import own_attributes, set_attributes
from loomlet.snapshot._functions import shared
from loomlet.snapshot._progress import CURRENT, Loading, Saving

__all__ = [
    "check_wait",
    "fill_event",
    "fill_lock",
    "fill_scope",
    "new_semaphore",
    "reduce_condition",
    "reduce_event",
    "reduce_lock",
    "reduce_scope",
    "reduce_semaphore",
    "reduce_with_method",
    "scopes_of",
    "tie",
]


def _is_frozen_too(saving: Saving, partner: _core.Tasklet) -> bool:
    return saving.partners or id(partner) in saving.snapshots


def check_wait(saving: Saving, tasklet: _core.Tasklet, wait: tuple[Any, ...]) -> None:
    """FreezeError if the tasklet waits for something that is not frozen with it."""
    if wait[0] == "join" and not _is_frozen_too(saving, wait[1]):
        raise FreezeError(
            f"{describe(tasklet)}: {wait[1].name} is not frozen with it; "
            "freeze both together, or use with_partners=True"
        )
    if wait[0] == "other" and isinstance(wait[2], _core.Descriptor):
        raise FreezeError(
            f"{describe(tasklet)}: it waits for {wait[2]!r}, a descriptor of this process; freeze "
            "a tasklet while it waits for a channel, sleeps, or is runnable or paused"
        )
    if wait[0] == "other" and wait[1] == "run_blocking":
        raise FreezeError(
            f"{describe(tasklet)}: it waits for a function, {wait[2]!r}, that runs on a thread of "
            "this process; freeze a tasklet while it waits for a channel, sleeps, or is runnable "
            "or paused"
        )
    if wait[0] == "other":
        raise FreezeError(
            f"{describe(tasklet)}: what it waits for cannot be frozen; freeze a tasklet while it "
            "waits for a channel, sleeps, or is runnable or paused"
        )


def reduce_lock(saving: Saving, lock: _core.Lock) -> Any:
    """Free, or held by a tasklet that is frozen too."""
    if saving.shared is not None:
        return shared(saving, lock)
    held = _core._lock_snapshot(lock)
    if held is None:
        return type(lock), ()
    holder, depth = held
    for tasklet in _core.tasklets():
        if tasklet.id == holder and _is_frozen_too(saving, tasklet):
            state = tasklet if depth == 1 else (tasklet, depth)
            return type(lock), (), state, None, None, fill_lock
    raise FreezeError(
        f"{lock!r} is held by a tasklet that is not frozen with it; "
        "freeze both together, or use with_partners=True"
    )


def reduce_event(saving: Saving, event: _core.Event) -> Any:
    """A new one, then set if this one is."""
    if saving.shared is not None:
        return shared(saving, event)
    own = None if type(event) is _core.Event else own_attributes(event)
    state = (event.is_set(), own) if own else event.is_set()
    return type(event), (), state, None, None, fill_event


@named_in_bytes
def fill_event(event: _core.Event, state: bool | tuple[bool, Any]) -> None:
    """The event is set again."""
    is_set, own = state if isinstance(state, tuple) else (state, None)
    if is_set:
        event.set()
    if own:
        set_attributes(event, own)


def reduce_semaphore(saving: Saving, semaphore: _core.Semaphore) -> Any:
    """One with the permits that are free; tasklets give back to it those that they have taken."""
    if saving.shared is not None:
        return shared(saving, semaphore)
    given = (semaphore.value, semaphore.max_value)
    if type(semaphore) is _core.Semaphore:
        return _core.Semaphore, given
    return new_semaphore, (type(semaphore), *given, own_attributes(semaphore))


@named_in_bytes
def new_semaphore(kind: Any, value: int, most: int | None, own: Any) -> Any:
    """One of a subclass, which may take other arguments."""
    if not (isinstance(kind, type) and issubclass(kind, _core.Semaphore)):
        raise ThawError(f"expected a class of semaphores, found {kind!r}")
    made = _core.Semaphore.__new__(kind, value, most)
    if own:
        set_attributes(made, own)
    return made


def reduce_condition(saving: Saving, condition: _core.Condition) -> Any:
    """One of the same lock; a tasklet that waits for it waits again when it is thawed."""
    if saving.shared is not None:
        return shared(saving, condition)
    return type(condition), (condition._lock,)


def reduce_with_method(saving: Saving, method: Any) -> Any:
    """`__enter__` or `__exit__` of a class of locks, which `with` has on the stack from 3.14 on."""
    return getattr, (method.__objclass__, method.__name__)


@named_in_bytes
def fill_lock(lock: _core.Lock, held: _core.Tasklet | tuple[_core.Tasklet, int]) -> None:
    """The lock is held again, as often as before."""
    holder, depth = held if isinstance(held, tuple) else (held, 1)
    _core._lock_fill(lock, holder, depth)


def reduce_scope(saving: Saving, scope: _core.CancelScope) -> Any:
    """New, then its remaining time and its state."""
    snapshot, owner, children, failed = _core._scope_snapshot(scope)
    if owner is not None and not _is_frozen_too(saving, owner):
        if saving.shared is not None:
            return shared(saving, scope)
        raise FreezeError(
            f"{scope!r} belongs to {owner.name}, which is not frozen with it; "
            "freeze both together, or use with_partners=True"
        )
    lost = [child.name for child in children if not _is_frozen_too(saving, child)]
    if lost:
        raise FreezeError(
            f"{scope!r} has children that are not frozen with it: {', '.join(lost)}; "
            "freeze them together, or use with_partners=True"
        )
    if failed:
        raise FreezeError(f"{scope!r}: {failed} of its children have failed; let it end")
    args = (None,) if isinstance(scope, _core.timeout) else ()
    return type(scope), args, (snapshot, tuple(children)), None, None, fill_scope


@named_in_bytes
def fill_scope(scope: _core.CancelScope, state: Any) -> None:
    """The second step; tie() restores which tasklets are inside."""
    if type(state) is not tuple or len(state) != 2:
        raise ThawError("expected the snapshot of a scope")
    _core._scope_fill(scope, state[0])
    if state[1]:
        loading = CURRENT.get()
        if loading is None:
            raise ThawError("a group with children can be thawed, but not unpickled")
        loading.children = {**loading.children, id(scope): (scope, state[1])}


def scopes_of(saving: Saving, tasklet: _core.Tasklet) -> tuple[_core.CancelScope, ...] | None:
    """The scopes that the tasklet has entered, outermost first, or None."""
    own, _ = _core._tasklet_scopes(tasklet)
    return tuple(own) or None


def tie(loading: Loading, scopes: dict[int, tuple[Any, tuple[Any, ...]]]) -> None:
    """Tasklets enter their scopes again; `scopes`: by id of the tasklet, itself and its scopes."""
    inside = {id(child) for _, children in loading.children.values() for child in children}
    left = [pair for key, pair in scopes.items() if key not in inside]
    while left:
        tasklet, entered = left.pop()
        for scope in entered:
            _core._scope_enter(scope, tasklet)
        for scope in entered:
            for child in loading.children.get(id(scope), (scope, ()))[1]:
                _core._scope_adopt(scope, child)
                left.append(scopes.pop(id(child), (child, ())))
