"""While a tasklet is inside a C call that waits, the others go on.

Each test would wait for ever otherwise: what ends the call comes from another tasklet, which keeps
no C stack (main does: test_main_and_others_that_keep_a_stack.py).
"""

import contextvars
import functools
import operator
import sys

import pytest
from helpers_c_calls import Gate, libc, run, where

import loomlet
from loomlet import Channel, TaskGroup, schedule, spawn


def test_another_tasklet_ends_the_call():
    """Both end, each with its result."""

    def main():
        with Gate() as gate:
            sitter = spawn(gate.wait)
            spawn(gate.open)
            return sitter.result()

    assert run(main) == 1


def test_main_sits():
    """It is at home again when it returns."""

    def main():
        home = where()
        with Gate() as gate:
            spawn(gate.open)
            gate.wait()
        return where() == home

    assert run(main)


def test_fifty_sit_at_once():
    """In a thread each; the last one lets all others go."""

    def main():
        gates, log = [Gate() for _ in range(50)], []

        def sit(n):
            log.append(n)
            gates[n].wait()
            log.append(-n)
            return where()

        sitters = [spawn(sit, n) for n in range(50)]

        def open_all():
            while len(log) < 50:
                schedule()
            for gate in gates:
                gate.open()

        spawn(open_all)
        threads = {sitter.result() for sitter in sitters}
        for gate in gates:
            gate.__exit__()
        return log, len(threads)

    log, threads = run(main)
    assert sorted(log[:50]) == list(range(50))
    assert sorted(log[50:]) == sorted(-n for n in range(50))
    assert threads > 1


def test_calls_inside_c_code():
    """Below sorted() and map(), and several without bytecode between."""

    def main():
        with Gate() as gate:

            def feed():
                for _ in range(6):
                    gate.open()
                    schedule()

            sitter = spawn(lambda: sorted([3, 1, 2], key=lambda n: (gate.wait(), n)[1]))
            other = spawn(
                lambda: list(map(libc.read, [gate.reader] * 3, [gate.buffer] * 3, [1] * 3))
            )
            spawn(feed)
            return sitter.result(), other.result()

    assert run(main) == ([1, 2, 3], [1, 1, 1])


def test_the_function_ends_right_behind_the_call():
    """Nothing of Python runs between the call and the end, with a result and without."""

    def main():
        with Gate() as gate:
            tasks = [spawn(libc.read, gate.reader, gate.buffer, 1), spawn(gate.wait)]
            tasks.append(spawn(lambda: gate.wait()))
            spawn(lambda: [gate.open() for _ in tasks])
            return [task.result() for task in tasks]

    assert run(main) == [1, 1, 1]


def test_what_comes_right_behind_the_call():
    """An operation of loomlet, an exception, a wait: each is the tasklet's own."""

    def main():
        channel = Channel()
        with Gate() as gate:

            def sends():
                channel.send(gate.wait())

            def raises():
                try:
                    raise KeyError(gate.wait())
                except KeyError as error:
                    schedule()
                    return error.args

            def spawns():
                return gate.wait() and spawn(int, "7").result()

            tasks = [spawn(sends), spawn(raises), spawn(spawns)]
            spawn(lambda: [gate.open() for _ in tasks])
            assert channel.receive() == 1
            return tasks[1].result(), tasks[2].result()

    assert run(main) == ((1,), 7)


def test_what_a_tasklet_has_goes_with_it():
    """Context variables and the handled exception."""
    name = contextvars.ContextVar("name")

    def main():
        with Gate() as gate:

            def sit(n):
                name.set(n)
                try:
                    raise ValueError(n)
                except ValueError:
                    gate.wait()
                    schedule()
                    return name.get(), sys.exception().args[0]

            tasks = [spawn(sit, n) for n in range(5)]
            spawn(lambda: [gate.open() for _ in tasks])
            return [task.result() for task in tasks]

    assert run(main) == [(n, n) for n in range(5)]


def test_a_kill_waits_for_the_end_of_the_call():
    """And comes at a safepoint behind it: the first, unless another thread is served just then."""

    def main():
        log = []
        with Gate() as gate:

            def sit():
                try:
                    log.append("sits")
                    gate.wait()
                    while True:
                        pass
                finally:
                    log.append("cleans up")

            task = spawn(sit)

            def kill():
                task.kill()
                log.append("killed")
                gate.open()

            spawn(kill)
            with pytest.raises(loomlet.TaskletKilled):
                task.join()
        return log

    assert run(main) == ["sits", "killed", "cleans up"]


def test_a_time_limit_passes_during_the_call():
    """It is raised at the next wait."""

    def main():
        with Gate() as gate:

            def sit():
                with pytest.raises(TimeoutError), loomlet.timeout(0.001):
                    gate.wait()
                    while True:
                        schedule()
                return "late"

            task = spawn(sit)
            spawn(lambda: (loomlet.sleep(0.01), gate.open()))
            return task.result()

    assert run(main) == "late"


def test_a_group_waits_for_children_that_sit():
    """Its body opens the gate of each."""

    def main():
        with Gate() as gate, TaskGroup() as group:
            children = [group.spawn(gate.wait) for _ in range(3)]
            for _ in children:
                group.spawn(gate.open)
        return [child.result() for child in children]

    assert run(main) == [1, 1, 1]


def test_nothing_is_left_when_run_ends():
    """What still sits then ends first; the second run() begins anew."""

    def main(gate, log):
        def sit():
            try:
                log.append("sits")
                gate.wait()
            finally:
                log.append("ended")

        spawn(sit)
        spawn(gate.open)
        schedule()

    for _ in range(3):
        log = []
        with Gate() as gate:
            run(main, gate, log)
        assert log == ["sits", "ended"]


def test_no_preemption_no_handoff():
    """Inside nopreempt() the call is waited for."""

    def main():
        count = [0]

        def tick():
            while True:
                count[0] += 1
                schedule()

        spawn(tick)
        schedule()
        with loomlet.nopreempt():
            before = count[0]
            libc.usleep(30_000)
            return count[0] - before

    assert run(main) == 0


def test_while_tracing_nothing_is_handed_over():
    """A trace function belongs to the thread."""

    def main():
        count = [0]

        def tick():
            while True:
                count[0] += 1
                loomlet.sleep(0.001)

        look = functools.partial(operator.getitem, count, 0)
        sleep = functools.partial(libc.usleep, 30_000)  # 30 slices
        spawn(tick)
        schedule()
        tracer = sys.gettrace()
        sys.settrace(lambda *event: None)
        try:
            before, _, after = map(operator.call, [look, sleep, look])
            return after - before
        finally:
            sys.settrace(tracer)

    assert run(main) == 0


def test_an_idle_scheduler_is_not_taken():
    """A deadlock is reported although threads of ours stand by."""

    def main():
        with Gate() as gate:
            sitter = spawn(gate.wait)
            spawn(gate.open)
            sitter.join()
        with pytest.raises(loomlet.Deadlock):
            Channel().receive()

    run(main)


def test_a_wait_for_one_that_sits_is_no_deadlock():
    """It may end the wait yet."""

    def main():
        channel = Channel()
        with Gate() as gate:
            spawn(lambda: channel.send(gate.wait()))
            loomlet.spawn(lambda: (loomlet.sleep(0.02), gate.open()))
            return channel.receive()

    assert run(main) == 1
