"""The experiments on asyncio tasks and queues; flavour `uvloop` runs them on its loop.

asyncio has no rendezvous, so a queue of one item stands for the channel.
The server uses its streams.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from itertools import repeat
from operator import length_hint
from time import perf_counter, perf_counter_ns
from typing import Any, TextIO

WARM = 200
SETTING: ContextVar[str] = ContextVar("SETTING")
Hops = list[int]
Queue = asyncio.Queue[str]
Permit = asyncio.Lock | asyncio.Semaphore


def run(main: Coroutine[Any, Any, Any], flavour: str) -> Any:
    """Run on the loop that the flavour names."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if flavour == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


async def yielding(count: int) -> None:
    """A task that does nothing but let the other one run."""
    sleep = asyncio.sleep
    for _ in range(count):
        await sleep(0)


async def serve(count: int, out: Queue, back: Queue) -> None:
    """One side of the ping-pong: sends first."""
    for _ in range(count):
        await out.put("ping")
        await back.get()


async def answer(count: int, out: Queue, back: Queue) -> None:
    """The other side: receives first."""
    for _ in range(count):
        await out.get()
        await back.put("pong")


async def timed(count: int, *work: Coroutine[Any, Any, None]) -> float:
    """Nanoseconds per switch or message of two tasks that do `count` each."""
    tasks = [asyncio.ensure_future(each) for each in work]
    started = perf_counter_ns()
    for task in tasks:
        await task
    return (perf_counter_ns() - started) / (2 * count)


async def by_event(count: int, mine: asyncio.Event, other: asyncio.Event) -> None:
    """Waits for its event, clears it, sets the other one."""
    for _ in range(count):
        await mine.wait()
        mine.clear()
        other.set()


async def by_permit(count: int, mine: Permit, other: Permit) -> None:
    """Takes its own lock or permit, gives the other one back."""
    for _ in range(count):
        await mine.acquire()
        other.release()


async def by_condition(
    count: int, mine: list[asyncio.Condition], other: list[asyncio.Condition]
) -> None:
    """Waits until it is its turn, and says that it is the other one's."""
    condition, *_ = mine
    for _ in range(count):
        async with condition:
            while len(mine) == 1:
                await condition.wait()
            other.append(mine.pop())
            condition.notify()


async def in_turns(
    count: int, side: Callable[..., Coroutine[Any, Any, None]], *things: Any
) -> float:
    """Nanoseconds per wait of two tasks that take turns, each `count` times."""
    return await timed(count, side(count, *things), side(count, *reversed(things)))


async def by_queue(count: int, mine: Queue, other: Queue) -> None:
    """Gets from its queue, puts into the other one."""
    for _ in range(count):
        await other.put(await mine.get())


async def putting(count: int, queue: Queue) -> None:
    """Fills the queue, which the other task empties."""
    for _ in range(count):
        await queue.put("item")


async def streaming(count: int) -> float:
    """Nanoseconds per item that goes through a queue with room for one."""
    queue = Queue(1)
    filler = asyncio.ensure_future(putting(count, queue))
    started = perf_counter_ns()
    for _ in range(count):
        await queue.get()
    await filler
    return (perf_counter_ns() - started) / count


async def alone_lock(count: int) -> float:
    """Nanoseconds to take and give back a lock that nobody else wants."""
    lock = asyncio.Lock()
    started = perf_counter_ns()
    for _ in range(count):
        async with lock:
            pass
    return (perf_counter_ns() - started) / count


async def alone_queue(count: int) -> float:
    """Nanoseconds to put an item and get it back."""
    queue = Queue(1)
    started = perf_counter_ns()
    for _ in range(count):
        await queue.put("item")
        await queue.get()
    return (perf_counter_ns() - started) / count


async def waits(count: int) -> dict[str, float]:
    """The rows of locks, events and queues."""
    first, filled, held = asyncio.Event(), Queue(1), asyncio.Lock()
    first.set()
    filled.put_nowait("item")
    await held.acquire()
    condition = asyncio.Condition()
    return {
        "lock": await in_turns(count, by_permit, asyncio.Lock(), held),
        "event": await in_turns(count, by_event, first, asyncio.Event()),
        "semaphore": await in_turns(count, by_permit, asyncio.Semaphore(1), asyncio.Semaphore(0)),
        "condition": await in_turns(count, by_condition, [condition] * 2, [condition]),
        "queue": await in_turns(count, by_queue, filled, Queue(1)),
        "queue stream": await streaming(count),
        "alone lock": await alone_lock(count),
        "alone queue": await alone_queue(count),
    }


async def speeds(count: int) -> dict[str, float]:
    """The rows that asyncio answers to."""
    out, back = Queue(1), Queue(1)
    return {
        "frame switch soft": await timed(count, yielding(count), yielding(count)),
        "channel hop": await timed(count, serve(count, out, back), answer(count, out, back)),
        **await waits(count),
    }


async def table(count: int, repeats: int) -> list[dict[str, float]]:
    """`repeats` times the rows."""
    return [await speeds(count) for _ in range(repeats)]


def taskspeed(switches: int, repeats: int, flavour: str) -> list[dict[str, float]]:
    """`repeats` times the rows, on the loop of the flavour."""
    result: list[dict[str, float]] = run(table(switches // 2, repeats), flavour)
    return result


async def node(left: Queue, right: Queue, rounds: int, hops: Hops) -> None:
    """A member of the ring: hands every message on."""
    turns = repeat(None, rounds)
    for _ in turns:
        await right.put(await left.get())
    hops.append(rounds - length_hint(turns))


def loud(name: int, out: TextIO) -> Callable[..., Coroutine[Any, Any, None]]:
    """The same member, printing a line per hop."""

    async def node(left: Queue, right: Queue, rounds: int, hops: Hops) -> None:
        hop = 0
        for hop in range(1, rounds + 1):
            message = await left.get()
            print("node", name, "hop", hop, file=out)
            await right.put(message)
        hops.append(hop)

    return node


async def starter(left: Queue, right: Queue, rounds: int, hops: Hops) -> None:
    """The member that puts the one token in, and counts it each time it comes round."""
    turns = repeat(None, rounds)
    for _ in turns:
        await right.put("token")
        await left.get()
    hops.append(rounds - length_hint(turns))


async def source(right: Queue, rounds: int) -> None:
    """The open end of the necklace where the messages come in."""
    for _ in range(rounds):
        await right.put("message")


async def sink(left: Queue, rounds: int) -> None:
    """The open end where they leave."""
    for _ in range(rounds):
        await left.get()


async def pass_round(
    nodes: int, rounds: int, necklace: bool, out: TextIO | None
) -> tuple[float, int]:
    """Build the ring or necklace, let every member wait, then time its messages."""
    hops: Hops = []
    members = nodes if necklace else nodes - 1
    links = [Queue(1) for _ in range(members + 1)]
    works = [node if out is None else loud(name, out) for name in range(members)]
    tasks = [
        asyncio.create_task(work(links[at], links[at + 1], rounds, hops))
        for at, work in enumerate(works)
    ]
    await asyncio.sleep(0)
    started = perf_counter()
    if necklace:
        tasks.append(asyncio.create_task(source(links[0], rounds)))
        await sink(links[-1], rounds)
    else:
        await starter(links[-1], links[0], rounds, hops)
    seconds = perf_counter() - started
    await asyncio.gather(*tasks)
    return seconds, sum(hops)


def ring(nodes: int, rounds: int, necklace: bool, printed: bool, flavour: str) -> tuple[float, int]:
    """Seconds of the message phase, and the hops that the members counted."""
    with open("/dev/null", "w", encoding="ascii") as null:
        work = pass_round(nodes, rounds, necklace, null if printed else None)
        result: tuple[float, int] = run(work, flavour)
    return result


async def block(queue: Queue, ended: list[int]) -> None:
    """The blocked function: waits for one value and ends."""
    await queue.get()
    ended[0] += 1


async def fill(count: int, rounds: int, meter: Any) -> None:
    """Block `count` tasks on one queue and let them end, `rounds` times."""
    queue = Queue()
    for _ in range(rounds):
        ended = [0]
        meter.begin()
        for _ in range(count):
            asyncio.create_task(block(queue, ended))  # noqa: RUF006, the queue holds it
        await asyncio.sleep(0)
        meter.blocked(len(asyncio.all_tasks()) - 1)
        for _ in range(count):
            queue.put_nowait("value")
        while ended[0] < count:
            await asyncio.sleep(0)
        meter.finished(ended[0])


def memory(count: int, rounds: int, context: bool, flavour: str, meter: Any) -> None:
    """Tasks waiting in Queue.get(); asyncio copies the context for each task by itself."""
    if context:
        SETTING.set("set before the tasks")
    run(fill(count, rounds, meter), flavour)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends back what comes."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def accept_all(listener: socket.socket) -> None:
    """A task for each connection."""
    server = await asyncio.start_server(echo, sock=listener, backlog=4096)
    await server.serve_forever()


def serve_echo(listener: socket.socket, flavour: str) -> None:
    """Answers for ever."""
    run(accept_all(listener), flavour)


async def limit(count: int) -> float:
    """Nanoseconds per `async with timeout(5)` around nothing."""
    timeout = asyncio.timeout
    started = perf_counter_ns()
    for _ in range(count):
        async with timeout(5):
            pass
    return (perf_counter_ns() - started) / count


def timeouts(count: int, flavour: str) -> float:
    """Time limits that are not needed."""
    result: float = run(limit(count), flavour)
    return result


async def pend(count: int) -> tuple[float, float]:
    """So many calls that are due later."""
    later = asyncio.get_running_loop().call_later
    started = perf_counter_ns()
    handles = [later(7200 - n / 1000, print) for n in range(count)]
    between = perf_counter_ns()
    for handle in handles:
        handle.cancel()
    return (between - started) / count, (perf_counter_ns() - between) / count


def timers(count: int, flavour: str) -> tuple[float, float]:
    """Nanoseconds to set and to cancel each of so many pending timers."""
    result: tuple[float, float] = run(pend(count), flavour)
    return result


async def call_elsewhere(count: int) -> float:
    """Nanoseconds per call of a function on another thread, one after the other."""
    call = asyncio.get_running_loop().run_in_executor
    for _ in range(WARM):
        await call(None, int)
    started = perf_counter_ns()
    for _ in range(count):
        await call(None, int)
    return (perf_counter_ns() - started) / count


def blocking(count: int, flavour: str) -> float:
    """Round trips to the loop's executor."""
    result: float = run(call_elsewhere(count), flavour)
    return result


async def resolve_all(count: int, rounds: int) -> float:
    """Nanoseconds per name, so many at once, a task for each."""
    find, took = asyncio.get_running_loop().getaddrinfo, []
    for _ in range(rounds):
        started = perf_counter_ns()
        await asyncio.gather(*[find("localhost", port) for port in range(1, count + 1)])
        took.append((perf_counter_ns() - started) / count)
    return sorted(took)[rounds // 2]


def look_up(count: int, rounds: int, flavour: str) -> float:
    """Names of this machine."""
    result: float = run(resolve_all(count, rounds), flavour)
    return result
