"""Cancel scopes, timeouts and task groups.

The model.  A `with CancelScope()` makes a block that can be cancelled as a whole: everything that
runs inside it, in this tasklet or in children of a TaskGroup opened inside it.  Scopes nest, so
they form a tree; a child's place in it is its group, not the tasklet that happened to spawn it.  A
tasklet of plain spawn() is in no scope and has no parent, as in Go.  kill() it, or spawn it in a
group.

Cancelling is level-triggered.  From cancel() on, every blocking operation inside the scope raises
Cancelled: the one that waits now, and each later one, until the scope is left.  Operations that
need not wait (try_send, close, computing) continue to work.  An operation that was completed before
the cancel keeps its result; the next one raises.  A paused tasklet is not woken; it meets the
cancel when it resumes.

Invariants.
  1. No cancel is lost.  It is a state of the tree, not a message: code that swallows one Cancelled
     meets the next one; a value that arrived at the same moment is delivered first.
  2. No cancel leaks.  Whether an operation raises is looked up from the scopes around it, so a late
     cancel (a deadline at the moment its block ends, another thread) has no effect.
  3. The outermost cancelled scope catches.  A scope catches Cancelled iff it was cancelled and no
     visible scope further out is cancelled too; so an inner timeout never catches the cancel of an
     outer one.  A shield hides the scopes outside of it.
  4. A block that ends by itself is not cancelled: when no Cancelled reaches the scope's end,
  nothing
     is raised there, even if its time has expired.
  5. No child outlives its group.  Leaving waits for every child, even when the waiting tasklet is
     cancelled, killed or interrupted; such an exception ends the children, and propagates when the
     last one has ended.

What leaves a TaskGroup, first match: a single KeyboardInterrupt or SystemExit, of a child or of the
body; the TaskletExit that kill() threw into the body; a Deadlock; all failures together in an
ExceptionGroup (BaseExceptionGroup if one of them is not an Exception), children in the order in
which they failed, then the body; the Cancelled of a scope further out; nothing.  Failures that
cannot be raised because of the first three go to the error handler, the body's too.  A child that
ends with TaskletExit or Cancelled has not failed, unless code outside of the group killed it: that
is a TaskletKilled.

The mechanism is native (src/core/sched/guests/scope.h): entering, leaving, cancelling, the end of a
child.  So a signal handler cannot come between a cancel and the tasklets it is meant for.  This
module only decides what leaves a group.  One gap is left, as in every context manager written in
Python: a KeyboardInterrupt between the last instruction of the body and the first of __exit__
leaves the group open; the scope around it, or the end of run(), then ends it.

Threads.  A scope is entered and left by one tasklet.  cancel() and group.spawn() may be called from
any thread; a child lives on the thread that spawned it.

Rejected.
  Edge-triggered cancel (asyncio): one exception, delivered once.  A library that swallows it, or a
  result that arrives in the same iteration, loses it; two cancels at once need counters (uncancel).
  Cancelled as an ordinary exception: every `except Exception` would swallow it.
  Not starting a cancelled child at all (asyncio): the clean-up inside its function would silently
  not happen; here it starts and meets the cancel where it first waits.
  Scopes inherited by plain spawn(): a request handler's timeout would end tasklets that it left
  running on purpose.
  A wrapper function around each child that counts it down: a child killed before its first step
  would never be counted.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, TypeVar, overload

from loomlet import _core
from loomlet._core import CancelScope, timeout
from loomlet.errors import Cancelled, Deadlock, ScopeError, TaskletExit, TaskletKilled, killed

__all__ = ["CancelScope", "TaskGroup", "TaskStatus", "fail_after", "move_on_after", "timeout"]

P = ParamSpec("P")
T = TypeVar("T")

_Failures = list[tuple[_core.Tasklet, BaseException]]

_ENDS_PROGRAM = (KeyboardInterrupt, SystemExit)
_ENDS_FLOW = (TaskletExit, GeneratorExit)
_QUIET = (*_ENDS_FLOW, Cancelled)
_NAMED = 6
"""How many children the repr of a group names."""
_MESSAGE = "unhandled errors in a TaskGroup"


class _Leaving:
    """TaskGroup.__exit__, as a function per group.

    The interpreter calls a bound method through C, but a plain function in its own loop: so a
    tasklet that waits for its children keeps no C stack.  A signal handler may raise at the
    beginning of each Python function, and memory may run out anywhere, so all is inside the
    `try`; _take_failed() leaves a group that is still open.
    """

    __slots__ = ()

    def __get__(self, group: TaskGroup | None, kind: type | None = None) -> object:
        if group is None:
            return self

        def leave(
            kind: type[BaseException] | None,
            error: BaseException | None,
            traceback: TracebackType | None,
            /,
        ) -> bool:
            mine = None
            met: list[BaseException] = []
            try:
                if error is not None:
                    met.append(error)
                while mine is None:
                    try:
                        mine = group._wind_up(met)
                    except BaseException as caught:
                        if group._left:
                            raise
                        met.append(caught)
                return group._end(error, met, mine)
            finally:
                group._report_but(None, _failures(group._take_failed(), []))
                met.clear()  # no cycle through the traceback of what is raised

        return leave


class _Exit:
    """TaskGroup.__exit__ as it was: frozen bytes of 0.1 name the function that it makes.

    The code of that function must not change.
    """

    __slots__ = ()

    def __get__(self, group: TaskGroup | None, kind: type | None = None) -> object:
        if group is None:
            return self

        def leave(
            kind: type[BaseException] | None,
            error: BaseException | None,
            traceback: TracebackType | None,
            /,
        ) -> bool:
            met = [] if error is None else [error]
            mine = None
            try:
                while mine is None:
                    try:
                        mine = group._wind_up(met)
                    except BaseException as caught:
                        if group._left:
                            raise
                        met.append(caught)
                return group._end(error, met, mine)
            finally:
                group._report_but(None, _failures(group._take_failed(), []))
                met.clear()  # no cycle through the traceback of what is raised

        return leave


class TaskGroup(_core.Group):
    """`with TaskGroup() as group:` runs tasklets that end before the block does.

    group.spawn(func, *args, **kwargs) makes a child, as loomlet.spawn() does.  Leaving the block
    waits for all children, also those that children spawn through the group meanwhile.  The first
    one that fails cancels the others and the body; then all failures, the body's included, are
    raised as one ExceptionGroup.

    `limit`: so many children run at once; spawn() waits while there are more.

    A group is a cancel scope: group.cancel() ends the body and all children.
    """

    __slots__ = ()

    @property
    def cancel_scope(self) -> CancelScope:
        """The scope around the body and the children: the group itself."""
        return self

    if TYPE_CHECKING:
        _limited: ClassVar[type[TaskGroup]]

        def __exit__(self, *exception: object) -> bool | None: ...  # type: ignore[override]
    else:
        __exit__ = _Leaving()

    def start(self, func: Callable[..., object], /, *args: Any, **kwargs: Any) -> Any:
        """Spawns func(*args, task_status=status, **kwargs) and waits until that has called
        status.started(value); returns the value.

        An exception that it raises before that is raised here and is no failure of the group.
        RuntimeError when it ends without that call.  If this wait is ended, so is the child.
        """
        status = TaskStatus[Any]()
        child = self.spawn(_run_with_status, status, func, args, kwargs)
        try:
            status._known.wait()
        except BaseException:
            child.kill()
            raise
        return status._outcome()

    def _wind_up(self, met: list[BaseException]) -> bool | ScopeError:
        """Waits until the last child has ended and leaves; adds what is raised meanwhile to `met`.

        Returns whether a Cancelled in `met` was meant for this group, or the error if the group
        could not be left in order.
        """
        mine = self.cancel_called
        shielded = bool(met)
        left: bool | ScopeError = False
        while left is False:
            try:
                if met:
                    self.cancel()
                self._wait(shielded)
                outer = self._outer_cancelled
                left = self._leave()
            except BaseException as error:
                if self._left:  # it could not wait here at all
                    raise
                mine = mine or self.cancel_called
                shielded = True
                met.append(error)
        return mine and not outer if left is True else left

    def _end(
        self, error: BaseException | None, met: list[BaseException], mine: bool | ScopeError
    ) -> bool:
        """Raises what the group ends with; False to let `error`, the body's own, go on."""
        if not isinstance(mine, bool):
            raise mine
        ending = self._ending(met, mine)
        if ending is None or ending is error:
            return ending is None
        try:
            raise ending
        finally:
            error = ending = None

    def _ending(self, met: list[BaseException], mine: bool) -> BaseException | None:
        """What is raised at the end of the block, given what the body met."""
        failures = _failures(self._take_failed(), met)
        errors = [error for _, error in failures]
        if self._lost_failure:
            errors.append(MemoryError("a child failed, and no memory was left to keep its error"))
        alone = _first(errors, _ENDS_PROGRAM)
        if alone is None:
            alone = _first(met, _ENDS_FLOW) or _first(errors, (Deadlock,))
        if alone is not None:
            self._report_but(alone, failures)
            return self._with_notes(alone) if isinstance(alone, Deadlock) else alone
        if errors:
            group = BaseExceptionGroup(_MESSAGE, errors)
            group.__suppress_context__ = True
            return self._with_notes(group)
        cancelled = _first(met, (Cancelled,))
        if cancelled is None or not mine:
            return cancelled
        self._caught()
        return None

    def _with_notes(self, error: BaseException) -> BaseException:
        for note in self._skipped:
            error.add_note(note)
        return error

    def _report_but(self, raised: BaseException | None, failures: _Failures) -> None:
        for tasklet, error in failures:
            if error is not raised:
                self._report(tasklet, error)

    def __repr__(self) -> str:
        children = self._children
        names = ", ".join(child.name for child in children[:_NAMED])
        more = f", and {len(children) - _NAMED} more" if len(children) > _NAMED else ""
        return f"{super().__repr__()[:-1]}: {names}{more}>" if names else super().__repr__()


def spawn_or_stop(
    group: TaskGroup, func: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> _core.Tasklet[T]:
    """group.spawn(), for a block that spawns until the group is cancelled: Cancelled then."""
    try:
        return TaskGroup.spawn(group, func, *args, **kwargs)
    except ScopeError:
        _core.schedule()  # raises Cancelled inside the group
        raise


class _LimitedGroup(TaskGroup):
    """A child takes a permit before it is made; the core gives it back when the child has ended."""

    __slots__ = ("_permits",)

    def __init__(self, limit: int) -> None:
        if not isinstance(limit, int):
            raise TypeError(f"expected a limit as int, found {limit!r}")
        if limit < 1:
            raise ValueError(f"expected a limit of at least 1, found {limit}")
        self._permits = _core.Semaphore(limit, limit)
        self._use(self._permits)

    def spawn(self, func: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> _core.Tasklet[T]:
        self._permits.acquire()
        try:
            return spawn_or_stop(self, func, *args, **kwargs)
        except BaseException:
            self._permits.release()
            raise


TaskGroup._limited = _LimitedGroup


class TaskStatus(Generic[T]):
    """What a function that is started by TaskGroup.start() gets as `task_status`."""

    __slots__ = ("_error", "_known", "_value")

    def __init__(self) -> None:
        self._known = _core.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    @overload
    def started(self: TaskStatus[None]) -> None: ...

    @overload
    def started(self, value: T) -> None: ...

    def started(self, value: Any = None) -> None:
        """start() returns this value.  RuntimeError the second time."""
        if self._known.is_set():
            raise RuntimeError("started() was called before")
        self._value = value
        self._known.set()

    def _fail(self, error: BaseException) -> bool:
        """Whether start() raises it; not if the function has started."""
        if self._known.is_set():
            return False
        self._error = error
        self._known.set()
        return True

    def _outcome(self) -> Any:
        if self._error is None:
            return self._value
        try:
            raise self._error
        finally:
            self._error = None


def _run_with_status(
    status: TaskStatus[Any], func: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> T | None:
    try:
        result = func(*args, task_status=status, **kwargs)
    except Exception as error:
        if status._fail(error):
            return None
        raise
    except BaseException:
        status._fail(RuntimeError(f"{func!r} was ended before it called task_status.started()"))
        raise
    status._fail(RuntimeError(f"{func!r} has ended without calling task_status.started()"))
    return result


def move_on_after(seconds: float | None, *, shield: bool = False) -> CancelScope:
    """A scope that cancels itself `seconds` from now; None: never.

    As timeout(), but nothing is raised then: `scope.cancelled_caught` says whether that happened.
    """
    return CancelScope(None if seconds is None else _core.now() + seconds, shield)


fail_after = timeout
"""timeout, under the name that trio and anyio have for it."""


def _first(
    errors: list[BaseException], kinds: tuple[type[BaseException], ...]
) -> BaseException | None:
    for error in errors:
        if isinstance(error, kinds):
            return error
    return None


def _failures(failed: list[_core.Tasklet], met: list[BaseException]) -> _Failures:
    """Those of the children, then those of the body that are not a child's again."""
    failures = [(child, _failure(child)) for child in failed]
    failures += [(_core.current(), error) for error in met if not isinstance(error, _QUIET)]
    found: dict[int, tuple[_core.Tasklet, BaseException]] = {}
    for who, error in failures:
        if error is not None:
            found.setdefault(id(_origin(error)), (who, error))
    return list(found.values())


def _failure(child: _core.Tasklet) -> BaseException | None:
    failure = child._failure
    return killed(child.name, failure) if isinstance(failure, TaskletExit) else failure


def _origin(error: BaseException) -> BaseException:
    """Each join() of a killed tasklet has raised another TaskletKilled."""
    return (error.__cause__ or error) if isinstance(error, TaskletKilled) else error
