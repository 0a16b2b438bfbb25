"""The experiments on gevent: sleep(0), its unbuffered Channel, its StreamServer.

Memory is measured in Channel.get() too: waking from its Queue takes longer the more are waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from itertools import repeat
from operator import length_hint
from time import perf_counter, perf_counter_ns
from typing import Any, TextIO

import gevent
from gevent.queue import Channel

WARM = 200
SETTING: ContextVar[str] = ContextVar("SETTING")


def yielding(count: int) -> None:
    """A greenlet that does nothing but let the other one run."""
    sleep = gevent.sleep
    for _ in range(count):
        sleep(0)


def serve(count: int, out: Channel, back: Channel) -> None:
    """One side of the ping-pong: sends first."""
    for _ in range(count):
        out.put("ping")
        back.get()


def answer(count: int, out: Channel, back: Channel) -> None:
    """The other side: receives first."""
    for _ in range(count):
        out.get()
        back.put("pong")


def timed(count: int, *works: tuple[Any, ...]) -> float:
    """Nanoseconds per switch or message of two greenlets that do `count` each."""
    greenlets = [gevent.spawn(*work) for work in works]
    started = perf_counter_ns()
    gevent.joinall(greenlets)
    return (perf_counter_ns() - started) / (2 * count)


def speeds(count: int) -> dict[str, float]:
    """The rows that gevent answers to."""
    out, back = Channel(), Channel()
    return {
        "frame switch soft": timed(count, (yielding, count), (yielding, count)),
        "channel hop": timed(count, (serve, count, out, back), (answer, count, out, back)),
    }


def taskspeed(switches: int, repeats: int, flavour: str) -> list[dict[str, float]]:
    """`repeats` times the rows."""
    return [speeds(switches // 2) for _ in range(repeats)]


def node(left: Channel, right: Channel, rounds: int, hops: list[int]) -> None:
    """A member of the ring: hands every message on."""
    turns = repeat(None, rounds)
    for _ in turns:
        right.put(left.get())
    hops.append(rounds - length_hint(turns))


def loud(name: int, out: TextIO) -> Callable[..., None]:
    """The same member, printing a line per hop."""

    def node(left: Channel, right: Channel, rounds: int, hops: list[int]) -> None:
        hop = 0
        for hop in range(1, rounds + 1):
            message = left.get()
            print("node", name, "hop", hop, file=out)
            right.put(message)
        hops.append(hop)

    return node


def starter(left: Channel, right: Channel, rounds: int, hops: list[int]) -> None:
    """The member that puts the one token in, and counts it each time it comes round."""
    turns = repeat(None, rounds)
    for _ in turns:
        right.put("token")
        left.get()
    hops.append(rounds - length_hint(turns))


def source(right: Channel, rounds: int) -> None:
    """The open end of the necklace where the messages come in."""
    for _ in range(rounds):
        right.put("message")


def sink(left: Channel, rounds: int) -> None:
    """The open end where they leave."""
    for _ in range(rounds):
        left.get()


def pass_round(nodes: int, rounds: int, necklace: bool, out: TextIO | None) -> tuple[float, int]:
    """Build the ring or necklace, let every member wait, then time its messages."""
    hops: list[int] = []
    members = nodes if necklace else nodes - 1
    links = [Channel() for _ in range(members + 1)]
    works = [node if out is None else loud(name, out) for name in range(members)]
    greenlets = [
        gevent.spawn(work, links[at], links[at + 1], rounds, hops) for at, work in enumerate(works)
    ]
    gevent.sleep(0)
    started = perf_counter()
    if necklace:
        greenlets.append(gevent.spawn(source, links[0], rounds))
        last = gevent.spawn(sink, links[-1], rounds)
    else:
        last = gevent.spawn(starter, links[-1], links[0], rounds, hops)
    last.join()
    seconds = perf_counter() - started
    gevent.joinall(greenlets)
    return seconds, sum(hops)


def ring(nodes: int, rounds: int, necklace: bool, printed: bool, flavour: str) -> tuple[float, int]:
    """Seconds of the message phase, and the hops that the members counted."""
    with open("/dev/null", "w", encoding="ascii") as null:
        return pass_round(nodes, rounds, necklace, null if printed else None)


def block(channel: Channel, tally: list[int]) -> None:
    """The blocked function: waits for one value and ends."""
    tally[0] += 1
    channel.get()
    tally[1] += 1


def memory(count: int, rounds: int, context: bool, flavour: str, meter: Any) -> None:
    """Greenlets waiting in Channel.get(); gevent copies the context for each by itself."""
    if context:
        SETTING.set("set before the greenlets")
    channel = Channel()
    for _ in range(rounds):
        tally = [0, 0]
        meter.begin()
        for _ in range(count):
            gevent.spawn(block, channel, tally)
        gevent.sleep(0)
        while tally[0] < count:
            gevent.sleep(0)
        meter.blocked(tally[0])
        for _ in range(count):
            channel.put("value")
        while tally[1] < count:
            gevent.sleep(0)
        meter.finished(tally[1])


def echo(stream: Any, _address: object) -> None:
    """Sends back what comes."""
    while data := stream.recv(65536):
        stream.sendall(data)


def serve_echo(listener: Any, flavour: str) -> None:
    """Answers for ever, a greenlet for each connection."""
    from gevent import server, socket

    server.StreamServer(socket.socket(fileno=listener.detach()), echo).serve_forever()


def timeouts(count: int, flavour: str) -> float:
    """Nanoseconds per `with Timeout(5)` around nothing."""
    started = perf_counter_ns()
    for _ in range(count):
        with gevent.Timeout(5):
            pass
    return (perf_counter_ns() - started) / count


def timers(count: int, flavour: str) -> tuple[float, float]:
    """Nanoseconds to set and to cancel each of so many pending timers."""
    pending = [gevent.Timeout(7200 - n / 1000) for n in range(count)]
    started = perf_counter_ns()
    for each in pending:
        each.start()
    between = perf_counter_ns()
    for each in pending:
        each.close()
    return (between - started) / count, (perf_counter_ns() - between) / count


def blocking(count: int, flavour: str) -> float:
    """Nanoseconds per call of a function on the hub's pool of threads, one after the other."""
    call = gevent.get_hub().threadpool.apply
    for _ in range(WARM):
        call(int)
    started = perf_counter_ns()
    for _ in range(count):
        call(int)
    return (perf_counter_ns() - started) / count


def look_up(count: int, rounds: int, flavour: str) -> float:
    """Nanoseconds per name of this machine, so many at once, a greenlet for each."""
    from gevent import socket

    took = []
    for _ in range(rounds):
        started = perf_counter_ns()
        ports = range(1, count + 1)
        tasks = [gevent.spawn(socket.getaddrinfo, "localhost", port) for port in ports]
        gevent.joinall(tasks, raise_error=True)
        took.append((perf_counter_ns() - started) / count)
    return sorted(took)[rounds // 2]


def cooperate() -> None:
    """Makes sockets, locks and sleeps of other libraries cooperative."""
    from gevent import monkey

    monkey.patch_all()


def at_once(calls: list[Callable[[], None]]) -> None:
    """A greenlet for each."""
    gevent.joinall([gevent.spawn(call) for call in calls], raise_error=True)
