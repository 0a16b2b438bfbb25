"""A tasklet that comes back from its call meets the scheduler, whatever it does next."""

import pytest
from helpers_c_calls import Gate, run

import loomlet
from loomlet import schedule, spawn


def until_it_sits(task):
    """Returns when the scheduler goes on beside its call."""
    while task.state != "blocked":
        schedule()


def directly(wait, log):
    """The call, and what follows it."""
    wait()
    log.append("goes on")


def below_c_code(wait, log):
    """The same where C code waits for its result."""
    sorted([2, 1], key=lambda value: directly(wait, log))


def in_a_loop(wait, log):
    """The same call again and again."""
    for _ in range(3):
        wait()
        log.append("goes on")


@pytest.mark.parametrize("call", [directly, below_c_code, in_a_loop])
def test_what_was_thrown_in_is_raised_right_behind_it(call):
    """Nothing of the tasklet runs before that."""

    def main():
        log = []
        with Gate() as gate:

            def sit():
                try:
                    call(gate.wait, log)
                except KeyError as error:
                    log.append(error.args)

            task = spawn(sit)
            until_it_sits(task)
            task.throw(KeyError(1))
            loomlet.sleep(0.001)  # it is told now
            gate.open()
            task.join()
        return log

    for _ in range(20):
        assert run(main) == [(1,)]


def test_the_last_of_several_that_were_thrown_in():
    """The others are forgotten, as with a tasklet that waits for its turn."""

    def main():
        with Gate() as gate:

            def sit():
                with pytest.raises(KeyError) as caught:
                    gate.wait()
                return caught.value.args

            task = spawn(sit)
            until_it_sits(task)
            for n in range(3):
                task.throw(KeyError(n))
            loomlet.sleep(0.001)
            gate.open()
            return task.result()

    assert run(main) == (2,)


def test_the_exception_that_it_handles_is_the_context():
    """As if the call itself had raised it."""

    def main():
        with Gate() as gate:

            def sit():
                with pytest.raises(KeyError) as caught:
                    try:
                        raise ValueError
                    except ValueError:
                        gate.wait()
                return type(caught.value.__context__)

            task = spawn(sit)
            until_it_sits(task)
            task.throw(KeyError())
            loomlet.sleep(0.001)
            gate.open()
            return task.result()

    assert run(main) is ValueError


# On a machine with other work the interpreter lets one of forty wait for long.
@pytest.mark.filterwarnings("ignore::loomlet.errors.StallWarning")
def test_many_that_compute_are_not_missed():
    """More than the interpreter's queue of calls takes; main waits until each has stopped."""

    def main():
        over = []
        with Gate() as gate:

            def sit():
                gate.wait()
                while not over:
                    pass
                return 1

            tasks = [spawn(sit) for _ in range(40)]
            schedule()
            for _ in tasks:
                gate.open()
            while any(task.state == "blocked" for task in tasks):
                schedule()
            over.append(True)
            return sum(task.result() for task in tasks)

    assert run(main) == 40


def test_a_kill_is_for_that_tasklet_alone():
    """What its thread runs later gets nothing of it."""

    def main():
        results = []
        with Gate() as gate:

            def sit():
                gate.wait()
                return 1

            for _ in range(20):
                task = spawn(sit)
                until_it_sits(task)
                task.kill()
                loomlet.sleep(0.001)
                gate.open()
                with pytest.raises(loomlet.TaskletKilled):
                    task.result()
                task = spawn(sit)
                spawn(gate.open)
                results.append(task.result())
        return results

    assert run(main) == [1] * 20
