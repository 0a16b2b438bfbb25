"""The classes that stand where those of `threading` and `queue` stood (loomlet.patch, sync=True).

Each is one of ours with all that programs use of the standard one: attributes of their own, old
names (`isSet`), and names with an underscore that the standard library and others call (`_value`,
`_is_owned`, `_at_fork_reinit`).

A subclass of a drop-in is one of the standard class, which waits by our Lock and Condition, because
`threading` and `queue` look these up when an object is made.  So what a subclass replaces is called
(`_put`, `_get`), and what it uses is there (`mutex`, `not_empty`, `_cond`): a program's own queue
works as it did.  The metaclass takes care of that.  It also answers isinstance() for objects of
both classes, and a method that is taken from the class itself, as `Queue.put(self, item)`, is the
one of the object's own class.

Queue and LifoQueue have what programs touch inside of a standard queue, although nothing is there:
`queue` is a view of the items; `mutex` excludes other threads that take it; and once `not_empty`,
`not_full` or `all_tasks_done` has been used, the queue notifies the threads that wait for it, by
methods in Python.

Any thread.  Rejected: native classes that Python can subclass in the same way.  Their arguments are
those of __new__, so a subclass with an __init__ of its own would have to have both.
"""

from __future__ import annotations

import queue
import threading
import types
import warnings
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache, wraps
from typing import Any, Self

from loomlet import _conditions, _core
from loomlet._own_methods import with_own_methods
from loomlet.sync import _locks, _queues

__all__ = ["DROP_INS"]

_STANDARD: dict[type, Any] = {}


class _DropIn(ABCMeta):
    """The class of the drop-ins; `standard`: the class that one stands for."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        /,
        *,
        standard: type | None = None,
        **more: Any,
    ) -> Any:
        if standard is not None:
            made = super().__new__(mcs, name, bases, namespace, **more)
            _STANDARD[made] = standard
            return made
        bases = tuple(_STANDARD.get(base, base) for base in bases)
        kind = types.prepare_class(name, bases)[0]
        return kind(name, bases, namespace, **more)

    def __init__(cls, *args: Any, standard: type | None = None, **more: Any) -> None:
        super().__init__(*args, **more)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, _STANDARD[cls])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, _STANDARD[cls])

    def __getattribute__(cls, name: str) -> Any:
        """A method, for objects of either class; other attributes as usual.

        The methods are in vars() of the class too, where unittest.mock looks for them.
        """
        if name == "__new__":  # whenever an object is made
            return type.__getattribute__(cls, name)
        standard = _STANDARD.get(cls)
        if standard is not None and name == "__dict__":
            words = [word for word, value in vars(standard).items() if _is_function(value)]
            methods = {word: getattr(cls, word) for word in words}
            return types.MappingProxyType({**super().__getattribute__(name), **methods})
        theirs = getattr(standard, name, None)
        if not _is_function(theirs):
            return super().__getattribute__(name)
        try:
            ours = super().__getattribute__(name)
        except AttributeError:
            ours = theirs
        return _method_of_both(cls, ours, theirs)


def _is_function(value: object) -> bool:
    return isinstance(value, types.FunctionType)


@lru_cache(maxsize=512)
def _method_of_both(cls: _DropIn, ours: Any, theirs: types.FunctionType) -> Any:
    """Calls that of the object's own class; with the name and signature of the standard one."""

    @wraps(theirs)
    def method(self: Any, /, *args: Any, **named: Any) -> Any:
        mine = type.__instancecheck__(cls, self)
        return (ours if mine else theirs)(self, *args, **named)

    return method


def _refuse(self: Any, protocol: Any = None) -> Any:
    """Raises TypeError, as for a standard one."""
    raise TypeError(f"cannot pickle {type(self).__name__!r} object")


def _word(lock: _core.Lock) -> str:
    return "locked" if lock.locked() else "unlocked"


def _old_name(old: str, new: str) -> None:
    """Warns the caller of the method that calls this."""
    text = f"{old}() is deprecated, use {new}() instead"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


class _Refused:
    """A part of a standard object that ours does not use.

    Methods are found in the class, for subclasses; objects refuse them, since nothing would use
    what a program sets there.  `advice`: a text with {base} and {name}.
    """

    def __init__(self, name: str, advice: str) -> None:
        self._name = name
        self._text = advice

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        raise AttributeError(self._advice(kind or type(owner)))

    def __set__(self, owner: object, part: object) -> None:
        raise AttributeError(self._advice(type(owner)))

    def _advice(self, kind: type) -> str:
        standard = next(_STANDARD[base] for base in kind.__mro__ if base in _STANDARD)
        base = f"{standard.__module__}.{standard.__name__}"
        return self._text.format(base=base, kind=standard.__name__, name=self._name)


_HAS_NO_CONDITION = (
    "{kind} waits without a condition and does not use {name}: replace that in a subclass of "
    "{base}, whose objects use it"
)
_KEEPS_ITEMS = (
    "{kind} keeps its items itself and does not call {name}(): replace that in a subclass of "
    "{base}, whose objects call it"
)


# ---- threading ----------------------------------------------------------------------------------


@with_own_methods
class Lock(_core.Lock):
    """threading.Lock."""

    __slots__ = ()

    __reduce_ex__ = _refuse

    acquire_lock = _core.Lock.acquire
    release_lock = _core.Lock.release
    locked_lock = _core.Lock.locked

    def __repr__(self) -> str:
        return f"<{_word(self)} loomlet.Lock object at {id(self):#x}>"


@with_own_methods
class RLock(_locks.RLock):
    """threading.RLock."""

    __slots__ = ()

    __reduce_ex__ = _refuse

    def __repr__(self) -> str:
        count = self._recursion_count()
        return f"<{_word(self)} loomlet.RLock object count={count} at {id(self):#x}>"


@with_own_methods
class Condition(_conditions.Condition, metaclass=_DropIn, standard=threading.Condition):
    """threading.Condition; of a lock that is none of ours, the standard one."""

    __reduce_ex__ = _refuse

    def __new__(cls, lock: Any = None) -> Self:
        if lock is None:
            return _core.Condition.__new__(cls, RLock())
        if isinstance(lock, _core.Lock):
            return _core.Condition.__new__(cls, lock)
        made: Self = _STANDARD[cls](lock)
        return made

    def notifyAll(self) -> None:
        """notify_all()."""
        _old_name("notifyAll", "notify_all")
        self.notify_all()

    def _is_owned(self) -> bool:
        return self._depth > 0

    def _release_save(self) -> int:
        if not (depth := self._depth):
            raise RuntimeError(f"cannot release {self!r}: the tasklet does not hold its lock")
        for _ in range(depth):
            self.release()
        return depth

    def _acquire_restore(self, depth: int) -> None:
        for _ in range(depth):
            self.acquire()

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()


@with_own_methods
class Event(_core.Event, metaclass=_DropIn, standard=threading.Event):
    """threading.Event."""

    _cond = _Refused("_cond", _HAS_NO_CONDITION)

    __reduce_ex__ = _refuse

    @property
    def _flag(self) -> bool:
        return self.is_set()

    def isSet(self) -> bool:
        """is_set()."""
        _old_name("isSet", "is_set")
        return self.is_set()

    def __repr__(self) -> str:
        return f"<loomlet.Event at {id(self):#x}: {'set' if self.is_set() else 'unset'}>"

    def _at_fork_reinit(self) -> None:
        """The threads that waited do not exist in the child, and no others are affected."""


@with_own_methods
class Semaphore(_core.Semaphore, metaclass=_DropIn, standard=threading.Semaphore):
    """threading.Semaphore."""

    _cond = _Refused("_cond", _HAS_NO_CONDITION)

    __reduce_ex__ = _refuse

    def __new__(cls, value: int = 1) -> Self:
        return super().__new__(cls, value)

    @property
    def _value(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"<loomlet.Semaphore at {id(self):#x}: value={self.value}>"


@with_own_methods
class BoundedSemaphore(Semaphore, metaclass=_DropIn, standard=threading.BoundedSemaphore):
    """threading.BoundedSemaphore."""

    def __new__(cls, value: int = 1) -> Self:
        return _core.Semaphore.__new__(cls, value, value)

    @property
    def _initial_value(self) -> int | None:
        return self.max_value

    def __repr__(self) -> str:
        counts = f"value={self.value}/{self.max_value}"
        return f"<loomlet.BoundedSemaphore at {id(self):#x}: {counts}>"


class Barrier(_conditions.Barrier, metaclass=_DropIn, standard=threading.Barrier):
    """threading.Barrier."""

    _cond = _Refused("_cond", _HAS_NO_CONDITION)

    def __repr__(self) -> str:
        waits = "broken" if self.broken else f"waiters={self.n_waiting}/{self.parties}"
        return f"<loomlet.Barrier at {id(self):#x}: {waits}>"


# ---- queue --------------------------------------------------------------------------------------


class _Items:
    """What a queue has at this moment, in the order in which it was put."""

    __slots__ = ("_owner",)

    def __init__(self, owner: _core.Queue[Any]) -> None:
        self._owner = owner

    def __len__(self) -> int:
        return self._owner.qsize()

    def __iter__(self) -> Iterator[Any]:
        return iter(_core._queue_snapshot(self._owner)[0])

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def __contains__(self, item: object) -> bool:
        return item in list(self)

    def copy(self) -> Any:
        """The items as a list."""
        return list(self)

    def clear(self) -> None:
        """Drops the items; as in a standard queue, they remain tasks that are not done."""
        for _ in range(len(self)):
            try:
                self._owner.get_nowait()
            except queue.Empty:
                return

    def __repr__(self) -> str:
        return repr(list(self))


class _Notified(cached_property[Any]):
    """A condition of a queue: once it is used, or a program has given another one, it is notified
    of what happens to the queue."""

    def __set__(self, jobs: Any, condition: object) -> None:
        jobs.__dict__[self.attrname] = condition
        jobs._notifies()


@with_own_methods
class Queue(_queues.Queue[Any], metaclass=_DropIn, standard=queue.Queue):
    """queue.Queue."""

    __reduce_ex__ = _refuse

    @property
    def queue(self) -> _Items:
        """The items."""
        return _Items(self)

    @property
    def unfinished_tasks(self) -> int:
        """How many items still wait for their task_done().  It may be lowered."""
        count: int = super().unfinished_tasks
        return count

    @unfinished_tasks.setter
    def unfinished_tasks(self, count: int) -> None:
        if count > self.unfinished_tasks:
            found = self.unfinished_tasks
            raise ValueError(f"expected at most the {found} tasks that are left, found {count}")
        for _ in range(self.unfinished_tasks - count):
            _core.Queue.task_done(self)

    @cached_property
    def mutex(self) -> Lock:
        """For code that takes it to exclude other such code; the queue itself never takes it."""
        return Lock()

    @_Notified
    def not_empty(self) -> Condition:
        """Notified when something was put."""
        self._notifies()
        return Condition(self.mutex)

    @_Notified
    def not_full(self) -> Condition:
        """Notified when something was taken."""
        self._notifies()
        return Condition(self.mutex)

    @_Notified
    def all_tasks_done(self) -> Condition:
        """Notified when the last task is done."""
        self._notifies()
        return Condition(self.mutex)

    def _notifies(self) -> None:
        self.__class__ = _NOTIFYING.get(type(self), type(self))


for _name in _queues.HOOKS:
    setattr(Queue, _name, _Refused(_name, _KEEPS_ITEMS))


@with_own_methods
class LifoQueue(Queue, metaclass=_DropIn, standard=queue.LifoQueue):
    """queue.LifoQueue."""

    def __new__(cls, maxsize: int = 0) -> Self:
        return _core.Queue.__new__(cls, maxsize, True)


@with_own_methods
class SimpleQueue(_queues.SimpleQueue[Any], metaclass=_DropIn, standard=queue.SimpleQueue):
    """queue.SimpleQueue."""

    __slots__ = ()

    __reduce_ex__ = _refuse


class _NotifiesToo:
    """What the condition of a standard queue is notified of."""

    def put(self: Any, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """As Queue.put()."""
        _core.Queue.put(self, item, block, timeout)
        with self.not_empty:
            self.not_empty.notify()

    def put_nowait(self: Any, item: Any) -> None:
        """As Queue.put_nowait()."""
        self.put(item, False)

    def get(self: Any, block: bool = True, timeout: float | None = None) -> Any:
        """As Queue.get()."""
        item = _core.Queue.get(self, block, timeout)
        with self.not_full:
            self.not_full.notify()
        return item

    def get_nowait(self: Any) -> Any:
        """As Queue.get_nowait()."""
        return self.get(False)

    def task_done(self: Any) -> None:
        """As Queue.task_done()."""
        _core.Queue.task_done(self)
        if not self.unfinished_tasks:
            with self.all_tasks_done:
                self.all_tasks_done.notify_all()


class _NotifyingQueue(_NotifiesToo, Queue, metaclass=_DropIn, standard=queue.Queue):
    """A Queue whose conditions are in use."""


class _NotifyingLifoQueue(_NotifiesToo, LifoQueue, metaclass=_DropIn, standard=queue.LifoQueue):
    """A LifoQueue whose conditions are in use."""


_NOTIFYING: Mapping[type, Any] = {Queue: _NotifyingQueue, LifoQueue: _NotifyingLifoQueue}

DROP_INS: Mapping[types.ModuleType, Mapping[str, Any]] = {
    threading: {
        "Lock": Lock,
        "RLock": RLock,
        "Condition": Condition,
        "Event": Event,
        "Semaphore": Semaphore,
        "BoundedSemaphore": BoundedSemaphore,
        "Barrier": Barrier,
    },
    queue: {"Queue": Queue, "LifoQueue": LifoQueue, "SimpleQueue": SimpleQueue},
}
"""By module and name."""
