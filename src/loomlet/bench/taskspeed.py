"""taskspeed: what one switch costs, beside what one C call costs.

The rows, all in nanoseconds:

    no-op C call            the yardstick: a C call that does nothing, in the same Python loop
    frame switch soft       schedule() between two tasklets, the C stack abandoned
    frame switch hard       the same with soft switching off, so that C stacks are exchanged
    channel hop             one message of a ping-pong over two channels of capacity 0: time of the
                            whole run over the number of messages, so that the send, the receive
                            and every switch are in it
    stackless hop           the same by tasklets and channels of loomlet.compat.stackless, at the
                            same preference
    create and run          spawn() of a function that does nothing, and schedule(), which runs it
                            to its end
    stackless create and run
                            the same by a tasklet of loomlet.compat.stackless
    lock, event, semaphore, condition, queue
                            a wait that another tasklet ends, two tasklets taking turns
    queue stream            an item that goes from one tasklet to another one by a queue with room
                            for one, so that either has to wait for the other
    alone lock, alone queue taking a lock and giving it back, putting an item and getting it, where
                            nobody else wants to
    switch from C           the bare exchange of two C stacks, no Python in between
    hard switch 100 words   the same with 100 machine words of stack in use below it
    hard switch 1000 words  and with 1000
    call                    an ordinary Python call inside a tasklet, the median over all depths
    call across chunks      the same call at the worst depth, where the callee's frame lies in the
                            next chunk of the tasklet's frame memory

A peer's switch stands under `frame switch soft`, a peer's queue under `channel hop` (asyncio: a
queue of one item). The generator's row is a round trip into it and back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Row, Sample

NAME = "taskspeed"
WAITS = ("lock", "event", "semaphore", "condition", "queue", "queue stream")
ALONE = ("alone lock", "alone queue")
CASES = (
    "no-op C call",
    "frame switch soft",
    "frame switch hard",
    "channel hop",
    "stackless hop",
    "create and run",
    "stackless create and run",
    *WAITS,
    *ALONE,
    "switch from C",
    "hard switch 100 words",
    "hard switch 1000 words",
    "call",
    "call across chunks",
)
SYSTEMS = ("loomlet", "greenlet", "tealet", "asyncio", "uvloop", "gevent", "generator")
FAST = ("loomlet", "greenlet", "tealet", "generator")
REPEATS = 3


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """One cell: every system measures all its rows, several times, in each of its processes."""
    if wanted:
        raise BenchError("taskspeed measures all its rows at once; leave --case out")
    jobs = [Job(NAME, system, "", _parameters(system, quick)) for system in SYSTEMS]
    return [Cell("", 3 if quick else 7, jobs)]


def _parameters(system: str, quick: bool) -> dict[str, int]:
    switches = 200_000 if system in FAST else 20_000
    return {"switches": switches if quick else 2 * switches, "repeats": REPEATS}


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """A sample per row and repeat, in the order of the rows."""
    repeats = output.get("repeats")
    if not isinstance(repeats, list) or not repeats:
        raise BenchError(f"expected a list of repeats, found {output!r}")
    found = [
        Sample(job.system, case, "ns", number(repeat, case))
        for case in CASES
        for repeat in repeats
        if case in repeat
    ]
    if not found:
        raise BenchError(f"expected rows named as in {CASES}, found {output!r}")
    return found


def rate(row: Row) -> str:
    """Switches, messages or calls in a second."""
    return f"{1e3 / row.median:,.2f} M/s"


EXPERIMENT = Experiment(
    NAME, "one switch, one hop, one call, in nanoseconds", SYSTEMS, cells, samples, rate
)
