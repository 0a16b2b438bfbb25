"""The text of a dump, and the chains of waits, from values made by hand."""

from __future__ import annotations

import pytest

from loomlet._debug import graph, render
from loomlet._debug.model import Dump, Frame, Hold, Sitter, Target, Task, Thread
from loomlet._debug.parser import Reader

STACK = (Frame("main", "app.py", 10), Frame("work", "app.py", 20))


def task(number: int, *holders: int, state: str = "blocked", seconds: float = 1.0) -> Task:
    """A tasklet that joins others."""
    targets = tuple(Target(16 * h, "loomlet.Tasklet", "", h, 0) for h in holders)
    waits = "join" if state == "blocked" else ""
    return Task(number, f"t{number}", state, seconds, waits, None, targets, STACK)


@pytest.mark.parametrize(
    ("waits", "rings"),
    [
        ({1: [2], 2: [3]}, []),
        ({1: [2], 2: [1]}, [[1, 2]]),
        ({3: [2], 2: [1], 1: [3]}, [[1, 3, 2]]),
        ({1: [1]}, [[1]]),
        ({1: [2, 3], 3: [4], 4: [1]}, [[1, 3, 4]]),
        ({5: [1], 1: [2], 2: [1], 7: [8], 8: [7]}, [[1, 2], [7, 8]]),
    ],
)
def test_rings_are_found(waits: dict[int, list[int]], rings: list[list[int]]) -> None:
    """Each from its smallest id on, whatever leads to it."""
    edges = graph.edges(task(number, *holders) for number, holders in waits.items())
    assert sorted(graph.rings(edges)) == rings


def test_a_long_chain_is_no_trouble() -> None:
    """A hundred thousand tasklets, each of which waits for the next."""
    edges = [graph.Edge(n, n + 1, "join", "Tasklet") for n in range(100_000)]
    assert graph.rings(edges) == []
    assert len(graph.rings([*edges, graph.Edge(100_000, 0, "join", "Tasklet")])) == 1


def test_equal_ones_stand_together() -> None:
    """Same state and stack: one entry, the biggest first; with `every` each separately."""
    tasks = [task(n, state="paused") for n in range(10)] + [task(99, 5, seconds=0.5)]
    hold = Hold(7, "t7", 2.5, "work", "app.py", 21)
    dump = Dump(5, 0.002, [Thread(77, 99, False, 3.0, 4, hold, tasks)], whole=True)
    assert "\n".join(render.render(dump)) == (
        "process 5: 11 tasklets in 1 thread; it was stopped for 2.0 ms\n\n"
        "thread 77: 11 tasklets, 4 of them runnable\n"
        "  no tasklet has run for 3.0 s\n"
        "  the longest run before: t7, 2.5 s, until work (app.py:21)\n\n"
        "10 tasklets paused, for 1.0 s: t0, t1, t2, t3, t4, t5, and 4 more\n"
        "    main (app.py:10)\n    work (app.py:20)\n\n"
        "1 tasklet blocked in join, for 500 ms: t99\n"
        "    waits for loomlet.Tasklet at 0x50 of tasklet 5\n"
        "    main (app.py:10)\n    work (app.py:20)\n\n"
        "who waits for whom:\n"
        "  t99 waits for t5 (join, loomlet.Tasklet)"
    )
    every = "\n".join(render.render(dump, every=True))
    assert every.count("paused, for 1.0 s") == 10
    assert "t3 (id 3) paused" in every


def test_a_ring_is_named_first() -> None:
    """With the names, and back to where it began."""
    dump = Dump(5, 0.0, [Thread(77, 1, True, 0.1, 0, None, [task(1, 2), task(2, 1)])], whole=True)
    shown = "\n".join(render.render(dump))
    assert "a ring, which only a timeout or a kill can end: t1 -> t2 -> t1" in shown


def test_what_is_too_much_is_counted() -> None:
    """Of the things that one entry waits for, and of the waits for each other."""
    many = [task(n, 1000 + n) for n in range(50)]
    dump = Dump(5, 0.0, [Thread(77, 1, True, 0.1, 0, None, many)], whole=True)
    shown = "\n".join(render.render(dump))
    assert "    waits for 44 others\n" in shown
    assert shown.endswith("\n  and 10 more such waits")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.25, "250 ms"), (119.0, "119.0 s"), (600.0, "10 min"), (9000.0, "2.5 h")],
)
def test_times_are_rounded(seconds: float, shown: str) -> None:
    """To readable precision."""
    dump = Dump(5, 0.0, [Thread(77, 1, False, seconds, 0, None, [task(1, state="paused")])])
    assert f"no tasklet has run for {shown}\n" in "\n".join(render.render(dump))


def test_missing_parts_are_named() -> None:
    """A partial dump, tasklets that could not be read."""
    shown = "\n".join(render.render(Dump(5, 0.001, damaged=2)))
    assert "2 tasklets could not be read" in shown
    assert "this dump is incomplete" in shown


def test_text_that_is_not_a_dump_is_refused() -> None:
    """A line of another form is an error that shows it."""
    with pytest.raises(ValueError, match="expected a line of a dump, found 'Q"):
        Reader().take(["Q\t1"])
    with pytest.raises(ValueError, match="expected a line of a dump"):
        Reader().take(["T\t1"])


@pytest.mark.parametrize("seconds", ["9" * 400, "9" * 5000], ids=["for a float", "for an int"])
def test_a_number_that_is_too_large_is_refused(seconds: str) -> None:
    """Damaged memory may hold any number."""
    with pytest.raises(ValueError, match="expected a line of a dump, found 'P"):
        Reader().take([f"P\t1\t{seconds}"])


def test_a_code_object_that_comes_again_may_be_another() -> None:
    """Its address was used again: stacks after that are read anew."""
    reader = Reader()
    line = "T\t{}\t4\t1\t5\tname\t\t-\t\t16:3 "
    reader.take(["S\t1\t1\t1\t0\t0\t0\t0\t\t\t\t0"])
    reader.take(["C\t16\tone\ta.py", line.format(1), "C\t16\ttwo\tb.py", line.format(2)])
    assert [t.stack for t in reader.dump.tasks()] == [
        (Frame("one", "a.py", 3),),
        (Frame("two", "b.py", 3),),
    ]


@pytest.mark.parametrize(
    ("aside", "signal", "waits"),
    [
        (0, False, ""),
        (1, False, "; 1 runnable tasklet waits for its end"),
        (2, False, "; 2 runnable tasklets wait for its end"),
        (0, True, "; a signal waits for its end"),
        (1, True, "; 1 runnable tasklet and a signal wait for its end"),
    ],
)
def test_who_sits_in_c(aside: int, signal: bool, waits: str) -> None:
    """With the thread, and what waits for the call."""
    sitter = Sitter(1, 4711, aside, signal)
    thread = Thread(77, 2, False, 1.0, 0, None, [task(1), task(2)], [sitter])
    text = "\n".join(render.render(Dump(5, 0.0, [thread], whole=True)))
    assert f"  t1 sits in a C call in thread 4711 of the system{waits}\n" in text
