"""Inside pinned() a tasklet runs in the thread of run(), and its C calls are not handed over."""

import functools
import operator

import pytest
from helpers_c_calls import Gate, at_home, libc, run, sit, teach, where

import loomlet
from loomlet import (
    TaskletError,
    TaskletExit,
    TaskletKilled,
    current,
    nopreempt,
    pinned,
    schedule,
    spawn,
)


def open_beside(sitter, gate):
    """Opens the gate once `sitter` sits in C."""
    while sitter.waiting_in != "C call":
        schedule()
    gate.open()


def test_it_goes_home():
    """From the thread in which its call was, and stays there for as long as the block."""

    def main():
        home = where()

        def visit(gate):
            away = sit(gate)
            with pinned():
                inside = [where()]
                for _ in range(10):
                    schedule()
                    inside.append(where())
            return away, set(inside)

        with Gate() as gate:
            teach(visit, gate)
            tasks = [spawn(visit, gate) for _ in range(5)]
            schedule()
            for _ in tasks:
                gate.open()
            found = [task.result() for task in tasks]
        return any(away != home for away, _ in found), [inside == {home} for _, inside in found]

    assert run(main) == (True, [True] * 5)


def test_nothing_runs_beside_its_calls():
    """The other tasklets stand still from before the call until after it."""

    def main():
        log, done = [], []

        def compute():
            while not done:
                log.append(1)

        @pinned()
        def call():
            sleep = functools.partial(libc.usleep, 20_000)  # 20 slices
            before, _, after = map(operator.call, [log.__len__, sleep, log.__len__])
            return after - before

        others = [spawn(compute) for _ in range(3)]
        found = [spawn(call).result() for _ in range(5)]
        done.append(True)
        for task in others:
            task.join()
        return found, len(log) > 0

    assert run(main) == ([0] * 5, True)


def test_it_waits_until_home_is_free():
    """Main sits there; it ends the call by itself, and then both run at home."""

    def main():
        home, log = where(), []
        with Gate() as gate, Gate() as other:

            def visit(gate):
                sit(gate)
                log.append("entering")
                with pinned():
                    log.append(where() == home)

            def end():
                while not log:
                    schedule()
                for _ in range(10):
                    schedule()
                log.append("opening")
                other.open()

            teach(visit, gate)
            log.clear()
            with nopreempt():
                tasks = [spawn(visit, gate), spawn(end)]
                spawn(open_beside, current(), gate)
            at_home(other.wait)
            for task in tasks:
                task.join()
        return log

    assert run(main) == ["entering", "opening", True]


def test_a_kill_that_comes_first_is_raised_outside():
    """The tasklet is not pinned then: leaving the block that it did not enter is an error."""

    def main():
        log = []
        with Gate() as gate, Gate() as other:

            def visit(gate):
                block = pinned()
                sit(gate)
                log.append("entering")
                try:
                    with block:
                        log.append("inside")
                except TaskletExit:
                    with pytest.raises(TaskletError, match="is not inside pinned"):
                        block.__exit__(None, None, None)
                    raise

            def end(victim):
                while not log:
                    schedule()
                victim.kill()
                other.open()

            teach(visit, gate)
            log.clear()
            with nopreempt():
                victim = spawn(visit, gate)
                spawn(end, victim)
                spawn(open_beside, current(), gate)
            at_home(other.wait)
            with pytest.raises(TaskletKilled):
                victim.join()
        return log

    assert run(main) == ["entering"]


def test_below_c_code_in_another_thread_it_is_refused():
    """The C code cannot leave its thread; the tasklet goes on, and is not pinned."""

    def main():
        with Gate() as gate:

            def key(value):
                schedule()
                with pytest.raises(TaskletError, match="cannot be pinned here"), pinned():
                    pass
                return value

            def visit(gate, values=()):
                sit(gate)
                return sorted(values, key=key)

            teach(visit, gate)
            task = spawn(visit, gate, [2, 1])
            schedule()
            gate.open()
            return task.result()

    assert run(main) == [1, 2]


def test_after_the_block_calls_are_handed_over_again():
    """Only another tasklet ends the call behind the block."""

    def main():
        with Gate() as gate:

            def visit():
                with pinned():
                    schedule()
                return gate.wait()

            task = spawn(visit)
            spawn(lambda: (loomlet.sleep(0.01), gate.open()))
            return task.result()

    assert run(main) == 1
