"""The experiments on loomlet itself."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from itertools import repeat
from operator import length_hint
from time import perf_counter, perf_counter_ns
from types import FunctionType
from typing import Any, TextIO

import loomlet
from loomlet import Channel, _core, net, patch, run_blocking, schedule, spawn, timeout
from loomlet.bench.programs import waiting_on_loomlet

Starter = Callable[..., loomlet.Tasklet]
SETTING: ContextVar[str] = ContextVar("SETTING")
CROSSING_DEPTHS = 400
CROSSING_CALLS = 300
CROSSING_TRIES = 7
CROSSING_PASSES = 3
MOVED = 500
WARM = 200


def yielding(count: int) -> None:
    """A tasklet that does nothing but let the other one run."""
    switch = schedule
    for _ in range(count):
        switch()


def calling(count: int) -> float:
    """Nanoseconds per C call that does nothing, in the very loop that the switches are timed in."""
    noop = _core.noop
    started = perf_counter_ns()
    for _ in range(count):
        noop()
    return (perf_counter_ns() - started) / count


def switching(count: int, soft: bool) -> float | None:
    """Nanoseconds per schedule() between two tasklets; None where the mode is not available."""
    before = _core.soft()
    if _core.soft(soft) != soft and _core.soft() != soft:
        return None
    try:
        return together(count, (yielding, count), (yielding, count)) / 2
    finally:
        _core.soft(before)


def together(count: int, *calls: tuple[Any, ...], start: Starter = spawn) -> float:
    """Run the calls as tasklets, each doing `count` rounds; nanoseconds per round of all."""
    tasklets = [start(*call) for call in calls]
    started = perf_counter_ns()
    for tasklet in tasklets:
        tasklet.join()
    return (perf_counter_ns() - started) / count


def serve(count: int, out: Any, back: Any) -> None:
    """One side of the ping-pong: sends first."""
    for _ in range(count):
        out.send(None)
        back.receive()


def answer(count: int, out: Any, back: Any) -> None:
    """The other side: receives first."""
    for _ in range(count):
        out.receive()
        back.send(None)


def hopping(count: int, make: Callable[[], Any] = Channel, start: Starter = spawn) -> float:
    """Nanoseconds per message: two messages a round, each a send, a receive and their switches."""
    out, back = make(), make()
    calls = (serve, count, out, back), (answer, count, out, back)
    return together(count, *calls, start=start) / 2


def hopping_by_stackless(count: int) -> float:
    """The same by tasklets and channels of the Stackless API, at the native preference."""
    from loomlet.compat import stackless  # it makes TaskletExit a builtin

    def make() -> Any:
        channel = stackless.channel()
        channel.preference = Channel().preference
        return channel

    return hopping(count, make, lambda call, *args: stackless.tasklet(call)(*args))


def nothing() -> None:
    """What is run by a tasklet that is only made and ended."""


def creating(count: int) -> float:
    """Nanoseconds for each tasklet that is spawned, run and ended."""
    started = perf_counter_ns()
    for _ in range(count):
        spawn(nothing)
        schedule()
    return (perf_counter_ns() - started) / count


def creating_by_stackless(count: int) -> float:
    """The same by the Stackless API."""
    from loomlet.compat.stackless import schedule, tasklet

    started = perf_counter_ns()
    for _ in range(count):
        tasklet(nothing)()
        schedule()
    return (perf_counter_ns() - started) / count


# The callee's frame must not be smaller than the frame of `descend`, or a chunk's end could fall
# between two depths and never be crossed by the timed call: hence the operands it never needs.
def callee(a: int) -> int:
    """A plain function that does nothing, with a frame as large as that of `descend`."""
    return max(a, a, a, a, a, a, a, a) if a else a


def burst() -> float:
    """Nanoseconds per call of `callee` at the present depth: the best of a few bursts."""
    best = float("inf")
    for _ in range(CROSSING_TRIES):
        started = perf_counter_ns()
        for _ in range(CROSSING_CALLS):
            callee(0)
        best = min(best, perf_counter_ns() - started)
    return best / CROSSING_CALLS


def descend(depth: int, costs: list[float]) -> None:
    """Time the call at every depth down to `depth`, so that some of them cross a chunk's end."""
    costs.append(burst())
    if depth:
        descend(depth - 1, costs)


def crossing() -> dict[str, float]:
    """The call's usual cost over all depths, and its cost at the worst depth.

    Each depth counts with the best of its passes, so that a disturbance is not taken for a
    crossing.  The pass before them lets the runtime learn how large the first chunk must be:
    then all see the chunks end at the same depths.
    """
    passes = [measure_depths() for _ in range(1 + CROSSING_PASSES)][1:]
    costs = sorted(map(min, zip(*passes, strict=True)))
    return {"call": costs[len(costs) // 2], "call across chunks": costs[-1]}


def measure_depths() -> list[float]:
    """The cost of a call at every depth, down to CROSSING_DEPTHS."""
    costs: list[float] = []
    spawn(descend, CROSSING_DEPTHS, costs).join()
    return costs


def speeds(switches: int) -> dict[str, float]:
    """Every row of the switch table, measured once, one after the other."""
    half = switches // 2
    rows: dict[str, float | None] = {
        "no-op C call": calling(switches),
        "frame switch soft": switching(half, True),
        "frame switch hard": switching(half, False),
        "channel hop": hopping(half),
        "stackless hop": hopping_by_stackless(half),
        "create and run": creating(half),
        "stackless create and run": creating_by_stackless(half),
        "switch from C": _core.cswitch_ns(switches),
        "hard switch 100 words": _core.cswitch_ns(switches, 100),
        "hard switch 1000 words": _core.cswitch_ns(switches, 1000),
    }
    known = {case: value for case, value in rows.items() if value is not None}
    return known | waiting_on_loomlet.waits(half) | crossing()


def taskspeed(switches: int, repeats: int, flavour: str) -> list[dict[str, float]]:
    """`repeats` times the switch table."""
    return loomlet.run(lambda: [speeds(switches) for _ in range(repeats)])


def node(left: Channel, right: Channel, rounds: int, hops: list[int]) -> None:
    """A member of the ring: hands every message on."""
    turns = repeat(None, rounds)
    for _ in turns:
        right.send(left.receive())
    hops.append(rounds - length_hint(turns))


def loud(name: int, out: TextIO) -> Callable[..., None]:
    """The same member, printing a line per hop."""

    def node(left: Channel, right: Channel, rounds: int, hops: list[int]) -> None:
        hop = 0
        for hop in range(1, rounds + 1):
            message = left.receive()
            print("node", name, "hop", hop, file=out)
            right.send(message)
        hops.append(hop)

    return node


def starter(left: Channel, right: Channel, rounds: int, hops: list[int]) -> None:
    """The member that puts the one token in, and counts it each time it comes round."""
    turns = repeat(None, rounds)
    for _ in turns:
        right.send("token")
        left.receive()
    hops.append(rounds - length_hint(turns))


def source(right: Channel, rounds: int) -> None:
    """The open end of the necklace where the messages come in."""
    for _ in range(rounds):
        right.send("message")


def sink(left: Channel, rounds: int) -> None:
    """The open end where they leave."""
    for _ in range(rounds):
        left.receive()


def strand(nodes: int, rounds: int, out: TextIO | None, hops: list[int]) -> list[Channel]:
    """Spawn `nodes` members in a row and let each block; the channels before, between and after."""
    links = [Channel() for _ in range(nodes + 1)]
    for name in range(nodes):
        work = node if out is None else loud(name, out)
        spawn(work, links[name], links[name + 1], rounds, hops)
    schedule()
    return links


def pass_round(nodes: int, rounds: int, necklace: bool, out: TextIO | None) -> tuple[float, int]:
    """Build the ring or necklace, then time its messages."""
    hops: list[int] = []
    links = strand(nodes if necklace else nodes - 1, rounds, out, hops)
    started = perf_counter()
    if necklace:
        spawn(source, links[0], rounds)
        last = spawn(sink, links[-1], rounds)
    else:
        last = spawn(starter, links[-1], links[0], rounds, hops)
    last.join()
    seconds = perf_counter() - started
    schedule()
    return seconds, sum(hops)


def ring(nodes: int, rounds: int, necklace: bool, printed: bool, flavour: str) -> tuple[float, int]:
    """Seconds of the message phase, and the hops that the members counted."""
    with open("/dev/null", "w", encoding="ascii") as null:
        return loomlet.run(pass_round, nodes, rounds, necklace, null if printed else None)


def block(channel: Channel) -> None:
    """The blocked function: waits for one value and ends."""
    channel.receive()


def fill(count: int, rounds: int, meter: Any) -> None:
    """Block `count` tasklets on one channel and let them end, `rounds` times."""
    channel = Channel()
    for _ in range(rounds):
        meter.begin()
        for _ in range(count):
            spawn(block, channel)
        schedule()
        meter.blocked(-channel.balance)
        for _ in range(count):
            channel.send(None)
        schedule()
        meter.finished(count + channel.balance)


def memory(count: int, rounds: int, context: bool, flavour: str, meter: Any) -> None:
    """Tasklets blocked in receive(), in a context of their own, which may hold a variable."""
    if context:
        SETTING.set("set before the spawn")
    loomlet.run(fill, count, rounds, meter, slice=None)  # one turn each, however busy the machine


give_up = schedule


def inside(call: Callable[[], Any]) -> Any:
    """What the call returns, in a tasklet that is not main."""
    return loomlet.run(lambda: spawn(call).result(), slice=None)


def preempt(slice: float, calls: list[Callable[[], None]], flavour: str) -> list[int]:
    """Run the calls in tasklets with that slice; ns that each of the last requests waited."""

    def main() -> list[int]:
        for tasklet in [spawn(call) for call in calls]:
            tasklet.join()
        return _core._delays()

    return loomlet.run(main, slice=slice)


def suspended(channel: Channel, call: Callable[..., Any], *args: Any) -> loomlet.Tasklet:
    """A tasklet that waits for the channel."""
    tasklet = spawn(call, channel, *args)
    while not channel.balance:
        schedule()
    return tasklet


def end_all(tasklets: list[Any]) -> None:
    """Ends the thawed tasklets."""
    for tasklet in tasklets:
        tasklet.kill()


def freeze(flavour: str) -> Iterator[tuple[str, Any, Any, Any]]:
    """Tasklets at several depths, and one whose function cannot be imported."""
    if not _core.SOFT_SUPPORTED:
        return
    from loomlet.bench.programs import frozen

    foreign = FunctionType(frozen.waiting.__code__, {"__name__": "__main__"}, "waiting")
    cases: tuple[tuple[str, Callable[..., Any], Any], ...] = (
        ("depth 1", frozen.waiting, 1),
        ("depth 5", frozen.below, 4),
        ("depth 20", frozen.below, 19),
        ("handler", frozen.handler, "argument"),
        ("depth 1 by value", foreign, 1),
    )
    for case, call, argument in cases:
        tasklet = suspended(Channel(), call, argument)
        yield case, partial(loomlet.freeze, tasklet), loomlet.thaw, end_all
        tasklet.kill()


def pausing() -> None:
    """Stops each time it has been resumed."""
    while True:
        _core._pause()


def one_turn(tasklets: list[loomlet.Tasklet], moved: bool) -> float:
    """Nanoseconds per tasklet to resume them all on this thread, once."""
    started = perf_counter_ns()
    for tasklet in tasklets:
        if moved:
            tasklet.bind_thread()
        tasklet.insert()
    schedule()
    return (perf_counter_ns() - started) / len(tasklets)


def moves(repeats: int) -> dict[str, float]:
    """Resuming where a tasklet was, and on the other of two threads: in turns of both kinds."""
    tasklets = [spawn(pausing) for _ in range(MOVED)]
    schedule()
    local: list[float] = []
    moved: list[float] = []

    def both() -> None:
        moved.append(one_turn(tasklets, True))
        local.append(one_turn(tasklets, False))

    def other() -> None:
        for _ in range(repeats):
            turn.acquire()
            both()
            back.release()
        turn.acquire()

    turn, back = threading.Semaphore(0), threading.Semaphore(0)
    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(repeats):
        turn.release()
        back.acquire()
        both()
    turn.release()
    thread.join()
    end_all(tasklets)
    return {"local resume": sorted(local)[repeats], "moved resume": sorted(moved)[repeats]}


def echo(stream: net.Stream) -> None:
    """Sends back what comes."""
    with stream:
        for data in stream:
            stream.send_all(data)


def accept_all(listener: socket.socket) -> None:
    """A tasklet for each connection."""
    for stream in net.Listener(listener.detach()):
        spawn(echo, stream)


def serve_echo(listener: socket.socket, flavour: str) -> None:
    """Answers for ever."""
    loomlet.run(accept_all, listener)


def limit(count: int) -> float:
    """Nanoseconds per `with timeout(5)` around nothing."""
    started = perf_counter_ns()
    for _ in range(count):
        with timeout(5):
            pass
    return (perf_counter_ns() - started) / count


def timeouts(count: int, flavour: str) -> float:
    """Time limits that are not needed."""
    return loomlet.run(limit, count)


def pend(count: int) -> tuple[float, float]:
    """So many time limits at once, one inside the other."""
    limits = [timeout(7200 - n / 1000) for n in range(count)]
    started = perf_counter_ns()
    for each in limits:
        each.__enter__()
    between = perf_counter_ns()
    for each in reversed(limits):
        each.__exit__(None, None, None)
    return (between - started) / count, (perf_counter_ns() - between) / count


def timers(count: int, flavour: str) -> tuple[float, float]:
    """Nanoseconds to set and to cancel each of so many pending timers."""
    return loomlet.run(pend, count)


def call_elsewhere(count: int) -> float:
    """Nanoseconds per call of a function on another thread, one after the other."""
    for _ in range(WARM):
        run_blocking(int)
    started = perf_counter_ns()
    for _ in range(count):
        run_blocking(int)
    return (perf_counter_ns() - started) / count


def blocking(count: int, flavour: str) -> float:
    """Round trips to the pool."""
    return loomlet.run(call_elsewhere, count)


def resolve_all(count: int, rounds: int) -> float:
    """Nanoseconds per name, so many at once, a tasklet for each."""
    took = []
    for _ in range(rounds):
        started = perf_counter_ns()
        with loomlet.TaskGroup() as group:
            for port in range(1, count + 1):
                group.spawn(net.resolve, "localhost", port)
        took.append((perf_counter_ns() - started) / count)
    return sorted(took)[rounds // 2]


def look_up(count: int, rounds: int, flavour: str) -> float:
    """Names of this machine."""
    return loomlet.run(resolve_all, count, rounds)


def cooperate() -> None:
    """Makes sockets of other libraries cooperative."""
    patch.install()


def at_once(calls: list[Callable[[], None]]) -> None:
    """A tasklet for each."""

    def main() -> None:
        with loomlet.TaskGroup() as group:
            for call in calls:
                group.spawn(call)

    loomlet.run(main)
