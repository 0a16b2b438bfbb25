"""heap: whether later rounds are as fast and lean as the first, and what other allocators change.

Rows of loomlet, `rounds N=…`: so many tasklets block in a receive and end, ten times over in one
process; `deep` marks those that wait 30 calls below their function, `hard` those that wait below
C code and keep a C stack. Times are those of the processor: nothing here waits.

    rounds N=1000000          ns   to create, block, wake and end one, in the first round
    rounds N=1000000 later    ns   the median of the rounds after it
    rounds N=1000000          B    resident bytes for each while all wait, in the first round
    rounds N=1000000 later    B    and in the round after it that took most
    rounds N=1000000 left     B    resident for each when all rounds are over

Rows of all systems: programs whose lists grow by append and extend, several rounds of each. They
know nothing of loomlet. `glibc` is the interpreter with the allocator of the C library; `mimalloc`,
`jemalloc` and `tcmalloc` are preloaded, so they serve the whole process; `loomlet` is glibc, and
the program runs in a tasklet.

    report                    s    processor time of all rounds
    report later              s    of the median round but the first
    report first              s    of the first
    report peak               B    the most that was resident
    report left               B    what is resident when everything has been freed

and the same for `many lists` and `one list`.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from loomlet.bench import rounds
from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Document, Experiment, Job, Row, Sample

NAME = "heap"
SYSTEMS = ("loomlet", "glibc", "mimalloc", "jemalloc", "tcmalloc")
ROUNDS = 10
CROWDS = ("rounds N=1000000", "rounds N=100000 deep", "rounds N=30000 hard")
EXPECTED = {"plain": 800, "deep": 6_000, "hard": 16_000}  # bytes for each, at most
ENTRIES = {"report": 300_000, "many lists": 1_624_416, "one list": 10_000_000}


def parse(case: str) -> dict[str, Any]:
    """The parameters of that case; raises BenchError for other words."""
    if case in ENTRIES:
        return {"kind": case, "count": ENTRIES[case]}
    found = re.fullmatch(r"rounds N=(\d+)( deep| hard)?", case)
    if not found or int(found[1]) < 1:
        known = ", ".join(map(repr, ENTRIES))
        raise BenchError(f"expected a case like 'rounds N=1000 deep', or {known}, found {case!r}")
    return {"kind": (found[2] or " plain").strip(), "count": int(found[1])}


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell for each crowd of tasklets and each kind of program."""
    return [_cell(case, quick) for case in wanted or (*CROWDS, *ENTRIES)]


def _cell(case: str, quick: bool) -> Cell:
    known = parse(case)
    if case in ENTRIES:
        work = known | {"rounds": 3 if quick else 6}
        return Cell(case, 3 if quick else 9, [Job(NAME, each, case, work) for each in SYSTEMS])
    needs = EXPECTED[known["kind"]] * known["count"]
    job = Job(NAME, "loomlet", case, known | {"rounds": ROUNDS}, needs=needs)
    return Cell(case, 1 if quick else 3, [job])


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """What the rounds took; that none is missing and that all work was done is checked."""
    return _lists(job, output) if job.case in ENTRIES else _crowd(job, output)


def _rounds(job: Job, output: Mapping[str, Any], key: str) -> list[Any]:
    found = output.get(key)
    if not isinstance(found, list) or len(found) != job.parameters["rounds"]:
        raise BenchError(f"expected {job.parameters['rounds']} rounds, found {found!r}")
    return found


def _crowd(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    rounds = _rounds(job, output, "rounds")
    times = [number(each, "create") + number(each, "finish") for each in rounds]
    sizes = [number(each, "bytes") for each in rounds]
    rows = [
        ("", "ns", times[0]),
        (" later", "ns", statistics.median(times[1:])),
        ("", "B", sizes[0]),
        (" later", "B", max(sizes[1:])),
        (" left", "B", number(output, "left")),
    ]
    return [Sample(job.system, f"{job.case}{what}", unit, value) for what, unit, value in rows]


def _lists(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    seconds = [float(each) for each in _rounds(job, output, "seconds")]
    expected = job.parameters["count"] * job.parameters["rounds"]
    if output.get("entries") != expected:
        raise BenchError(f"expected {expected} entries, counted {output.get('entries')}")
    rows = [
        ("", "s", sum(seconds)),
        (" later", "s", statistics.median(seconds[1:])),
        (" first", "s", seconds[0]),
        (" peak", "B", number(output, "peak")),
        (" left", "B", number(output, "left")),
    ]
    return [Sample(job.system, f"{job.case}{what}", unit, value) for what, unit, value in rows]


def rate(row: Row) -> str:
    """Megabytes, or tasklets in a second."""
    if row.unit == "B" and not row.case.startswith("rounds"):
        return f"{row.median / 1e6:,.0f} MB"
    return f"{1e6 / row.median:,.0f} k/s" if row.unit == "ns" and row.median else ""


def notes(document: Document) -> list[str]:
    """Time and memory of each other allocator, in parts of glibc's."""
    found: list[str] = []
    for case in ENTRIES:
        for name in SYSTEMS[2:]:
            for what, key, unit in (("time", case, "s"), ("memory", f"{case} peak", "B")):
                over, under = (document.find(system, key, unit) for system in (name, "glibc"))
                found += rounds.in_words(f"{case}, {what}: {name} / glibc", over, under)
    return found


EXPERIMENT = Experiment(
    NAME,
    "later rounds against the first; other allocators",
    SYSTEMS,
    cells,
    samples,
    rate,
    notes=notes,
)
