"""A Dump as text for people: tasklets of the same stack together, the biggest group first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import repeat

from loomlet._debug import graph
from loomlet._debug.model import Dump, Frame, Sitter, Stack, Target, Task, Thread

NAMES, EDGES = 6, 40  # how many are listed before the rest is counted

Key = tuple[str, str, Stack]


def render(dump: Dump, every: bool = False) -> Iterator[str]:
    """The lines; `every`: one entry for each tasklet instead of one for each group."""
    tasks = list(dump.tasks())
    yield (
        f"process {dump.pid}: {_count(len(tasks), 'tasklet')} in "
        f"{_count(len(dump.threads), 'thread')}; it was stopped for {dump.copied * 1000:.1f} ms"
    )
    for thread in dump.threads:
        yield ""
        yield from _thread(thread)
        yield from _each(thread.tasks) if every else _groups(thread.tasks)
    yield from _graph(dump, tasks)
    if dump.damaged:
        yield f"\n{_count(dump.damaged, 'tasklet')} could not be read while changing"
    if not dump.whole:
        yield "\nthis dump is incomplete: the process ended, or was changing its lists"


def _thread(thread: Thread) -> Iterator[str]:
    names = {task.id: task.name for task in thread.tasks}
    number = f"thread {thread.ident}: {_count(len(thread.tasks), 'tasklet')}"
    yield f"{number}, {thread.ready} of them runnable"
    seconds = _time(thread.seconds)
    if thread.running:
        current = names.get(thread.current, f"tasklet {thread.current}")
        yield f"  the thread is held by {current}, for {seconds} now"
    else:
        yield f"  no tasklet has run for {seconds}"
    longest = thread.longest
    if longest is not None:
        where = ", until it ended"
        if longest.function:
            where = f", until {longest.function} ({longest.filename}:{longest.lineno})"
        yield f"  the longest run before: {longest.name}, {_time(longest.seconds)}{where}"
    yield from map(_sitting, thread.sitters[:EDGES], repeat(names))
    if len(thread.sitters) > EDGES:
        yield f"  and {len(thread.sitters) - EDGES} more sit in C"


def _sitting(sitter: Sitter, names: dict[int, str]) -> str:
    name = names.get(sitter.id, f"tasklet {sitter.id}")
    waiting = [f"{_count(sitter.aside, 'runnable tasklet')}"] if sitter.aside else []
    waiting += ["a signal"] if sitter.signal else []
    verb = "wait" if sitter.aside > 1 or len(waiting) > 1 else "waits"
    waits = f"; {' and '.join(waiting)} {verb} for its end" if waiting else ""
    return f"  {name} sits in a C call in thread {sitter.thread} of the system{waits}"


def _groups(tasks: Iterable[Task]) -> Iterator[str]:
    found: defaultdict[Key, list[Task]] = defaultdict(list)
    for task in tasks:
        found[task.state, task.waiting_in, task.stack].append(task)
    for members in sorted(found.values(), key=len, reverse=True):
        first = members[0]
        names = ", ".join(task.name for task in members[:NAMES])
        rest = f", and {len(members) - NAMES} more" if len(members) > NAMES else ""
        yield ""
        yield f"{_count(len(members), 'tasklet')} {_doing(first)}, {_span(members)}: {names}{rest}"
        yield from _things(Counter(t for task in members for t in task.targets))
        yield from map(_frame, first.stack)


def _each(tasks: Iterable[Task]) -> Iterator[str]:
    for task in tasks:
        yield ""
        yield f"{task.name} (id {task.id}) {_doing(task)}, {_span([task])}"
        yield from _things(Counter(task.targets))
        yield from map(_frame, task.stack)


def _doing(task: Task) -> str:
    return f"{task.state} in {task.waiting_in}" if task.waiting_in else task.state


def _span(members: list[Task]) -> str:
    least, most = min(t.seconds for t in members), max(t.seconds for t in members)
    times = _time(least) if _time(least) == _time(most) else f"{_time(least)} to {_time(most)}"
    deadlines = [task.deadline for task in members if task.deadline is not None]
    return f"for {times}" + (f", until in {_time(min(deadlines))}" if deadlines else "")


def _things(targets: Counter[Target]) -> Iterator[str]:
    for target, count in targets.most_common(NAMES):
        times = f" ({count} of them)" if count > 1 else ""
        yield f"    waits for {_thing(target)}{times}"
    if len(targets) > NAMES:
        yield f"    waits for {len(targets) - NAMES} others"


def _thing(target: Target) -> str:
    name = f" {target.name!r}" if target.name else ""
    holder = f" of tasklet {target.holder}" if target.holder else ""
    holder = f" of thread {target.thread}" if target.thread else holder
    return f"{target.type}{name} at {target.address:#x}{holder}"


def _frame(frame: Frame) -> str:
    omitted = f" (below {_count(frame.omitted, 'frame')} not shown)" if frame.omitted else ""
    return f"    {frame.function} ({frame.filename}:{frame.lineno}){omitted}"


def _graph(dump: Dump, tasks: list[Task]) -> Iterator[str]:
    mains = {thread.ident: thread.tasks[0].id for thread in dump.threads if thread.tasks}
    found = graph.edges(tasks, mains)
    if not found:
        return
    names = {task.id: task.name for task in tasks}

    def named(number: int) -> str:
        return names.get(number, f"tasklet {number}, which has ended")

    yield "\nwho waits for whom:"
    for ring in graph.rings(found)[:EDGES]:
        chain = " -> ".join(map(named, [*ring, ring[0]]))
        yield f"  a ring, which only a timeout or a kill can end: {chain}"
    together = Counter((edge.holder, edge.what, edge.type) for edge in found)
    first = {(edge.holder, edge.what, edge.type): edge.waiter for edge in reversed(found)}
    for key, count in together.most_common(EDGES):
        waiter = named(first[key])
        who = f"{waiter} waits" if count == 1 else f"{waiter} and {count - 1} more wait"
        yield f"  {who} for {named(key[0])} ({key[1]}, {key[2]})"
    if len(together) > EDGES:
        yield f"  and {len(together) - EDGES} more such waits"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
