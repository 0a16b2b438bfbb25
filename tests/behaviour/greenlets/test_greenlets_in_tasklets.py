"""Greenlets in many tasklets at once: waits, slices, kills, and what they share."""

from __future__ import annotations

import threading

import pytest

import loomlet
from loomlet import _core
from loomlet.compat.greenlet import error, getcurrent, greenlet


def count_up(value: int) -> str:
    """A greenlet that waits and computes between its switches."""
    for _ in range(5):
        loomlet.sleep(0.0001)
        sum(range(5000))
        value = getcurrent().parent.switch(value + 1)
    return "end"


def use(first: int) -> list[object]:
    """All that a greenlet of this tasklet hands over."""
    child = greenlet(count_up)
    seen: list[object] = [child.switch(first)]
    while seen[-1] != "end":
        seen.append(child.switch(seen[-1]))
    return seen


@pytest.mark.parametrize("slice", [None, 0.001])
def test_two_hundred_tasklets(slice) -> None:
    """Each waits inside its greenlet, and is interrupted there."""

    def main() -> None:
        tasklets = [loomlet.spawn(use, n) for n in range(200)]
        for n, tasklet in enumerate(tasklets):
            assert tasklet.result() == [*range(n + 1, n + 6), "end"]

    loomlet.run(main, slice=slice)


def test_counted_slices() -> None:
    """Interrupted at every seventh safepoint."""

    def main() -> None:
        _core._slice_budget(7)
        tasklets = [loomlet.spawn(use, n) for n in range(5)]
        assert [each.result()[-1] for each in tasklets] == ["end"] * 5

    loomlet.run(main, slice=None)


def test_a_greenlet_of_another_tasklet_is_refused() -> None:
    """While that tasklet lives, and when it has ended."""
    found: list[greenlet] = []
    stay = loomlet.Channel()

    def owner() -> None:
        child = greenlet(lambda: getcurrent().parent.switch())
        child.switch()
        found.append(child)
        stay.receive()

    def main() -> None:
        tasklet = loomlet.spawn(owner)
        loomlet.schedule()
        with pytest.raises(error, match="belongs to another tasklet"):
            found[0].switch()
        stay.send(None)
        tasklet.join()
        assert found[0].dead
        with pytest.raises(error, match="happens to have exited"):
            found[0].switch()

    loomlet.run(main)


def test_dropped_by_another_tasklet() -> None:
    """It is ended in the one that dropped it, also if its own has ended."""
    ended: list[str] = []
    found: list[greenlet] = []

    def body() -> None:
        try:
            getcurrent().parent.switch()
        finally:
            loomlet.sleep(0)
            ended.append(loomlet.current().name)

    def owner() -> None:
        child = greenlet(body)
        child.switch()
        found.append(child)

    def main() -> None:
        loomlet.spawn(owner).join()
        dropper = loomlet.spawn(found.clear)
        dropper.name = "dropper"
        dropper.join()

    loomlet.run(main)
    assert ended == ["dropper"]


def test_dropped_by_another_thread() -> None:
    """It is ended in its own thread, at the latest when a greenlet is used there again."""
    ended: list[int] = []
    found: list[greenlet] = []
    begun, dropped = threading.Event(), threading.Event()

    def body() -> None:
        try:
            getcurrent().parent.switch()
        finally:
            ended.append(threading.get_ident())

    def owner() -> None:
        for _ in range(2):
            found.append(greenlet(body))
            found[-1].switch()
        begun.set()
        dropped.wait()
        greenlet(len).switch(())
        assert ended == [threading.get_ident()] * 2

    def work() -> None:
        try:
            owner()
        except BaseException as caught:
            failures.append(caught)

    failures: list[BaseException] = []
    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    found.clear()
    dropped.set()
    thread.join()
    assert failures == []


def test_a_kill_ends_the_running_greenlet_and_then_its_parents() -> None:
    """TaskletExit goes from the greenlet that waits to the main greenlet."""
    ended: list[str] = []

    def inner() -> None:
        try:
            loomlet.Channel().receive()
        finally:
            ended.append("inner")

    def outer() -> None:
        try:
            greenlet(inner).switch()
        finally:
            ended.append("outer")

    def main() -> None:
        tasklet = loomlet.spawn(outer)
        loomlet.schedule()
        tasklet.kill()
        loomlet.schedule()
        assert tasklet.state == "done"

    loomlet.run(main)
    assert ended == ["inner", "outer"]


def test_a_timeout_reaches_into_a_greenlet() -> None:
    """The scope belongs to the tasklet, and so do its greenlets."""

    def main() -> None:
        child = greenlet(lambda: loomlet.sleep(60))
        with pytest.raises(TimeoutError), loomlet.timeout(0.01):
            child.switch()
        assert child.dead

    loomlet.run(lambda: loomlet.spawn(main).result())


def test_greenlets_share_the_tasklet() -> None:
    """The tasklet, its identity as a thread, its locals and its locks."""
    local, lock = threading.local(), threading.RLock()

    def child() -> tuple[object, ...]:
        with lock:
            return loomlet.current(), threading.get_ident(), local.value

    def main() -> None:
        local.value = 7
        with lock:
            seen = greenlet(child).switch()
        assert seen == (loomlet.current(), threading.get_ident(), 7)

    loomlet.run(lambda: loomlet.spawn(main).result())


def test_after_its_greenlets_a_tasklet_is_soft_again(switches) -> None:
    """What waits in the main greenlet needs no C stack."""

    def main() -> tuple[int, int]:
        greenlet(len).switch(())
        switches.take()
        loomlet.schedule()
        loomlet.schedule()
        found: tuple[int, int] = switches.take()
        return found

    def beside() -> None:
        loomlet.schedule()
        loomlet.schedule()

    def run() -> tuple[int, int]:
        tasklet = loomlet.spawn(main)
        loomlet.spawn(beside)
        return tasklet.result()

    soft, _ = loomlet.run(run)
    if _core.SOFT_SUPPORTED:
        assert soft > 0


def test_abandoned_while_it_waits_in_a_greenlet() -> None:
    """The collector finds the tasklet, and `finally` blocks run in both greenlets."""
    ended: list[str] = []

    def inner(lost: loomlet.Channel) -> None:
        try:
            lost.receive()
        finally:
            ended.append("inner")

    def outer() -> None:
        try:
            greenlet(inner).switch(loomlet.Channel())
        finally:
            ended.append("outer")

    def main() -> None:
        loomlet.spawn(outer)
        loomlet.schedule()

    loomlet.run(main)
    assert ended == ["inner", "outer"]
