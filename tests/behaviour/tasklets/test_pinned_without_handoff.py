"""pinned() where no call is handed over: a block that nests, and a decorator."""

import inspect
import pickle
import sys

import pytest

import loomlet
from loomlet import FreezeError, TaskletError, freeze, pinned, schedule, spawn


def test_blocks_nest_and_objects_serve_again():
    """In one tasklet and in many at once, with one object."""

    def main():
        block = pinned()

        def visit(n):
            with block, block:
                schedule()
                with pinned():
                    schedule()
            with block:
                return n

        tasks = [spawn(visit, n) for n in range(10)]
        return [task.result() for task in tasks]

    assert loomlet.run(main) == list(range(10))


def test_exceptions_leave_the_block():
    """And it can be left no second time."""
    block = pinned()
    with pytest.raises(KeyError), block:
        raise KeyError
    with pytest.raises(TaskletError, match=r"is not inside pinned\(\); leave the block in"):
        block.__exit__(None, None, None)


def test_blocks_do_not_nest_without_end():
    """The error says so, and the blocks outside are left as ever."""

    @pinned()
    def nest(depth):
        return depth if depth == 0 else nest(depth - 1)

    def main():
        assert nest(254) == 0
        with pytest.raises(TaskletError, match=r"is inside pinned\(\) 255 times already; leave a"):
            nest(255)
        return nest(254)

    assert loomlet.run(main) == 0


def test_a_block_belongs_to_its_tasklet():
    """A generator that another tasklet continues cannot leave it there."""

    def steps():
        with pinned():
            yield

    def begin():
        running = steps()
        next(running)
        task = spawn(next, running, None)
        with pytest.raises(TaskletError, match="is not inside pinned"):
            task.join()

    loomlet.run(lambda: spawn(begin).join())  # what begins it stays pinned


def test_a_decorated_function_is_the_same_but_pinned():
    """Its name, arguments, result and exceptions."""

    @pinned()
    def divide(a: int, /, *, by: int = 1) -> float:
        """Quotient."""
        return a / by

    assert divide(6, by=3) == 2
    assert (divide.__name__, divide.__doc__) == ("divide", "Quotient.")
    assert str(inspect.signature(divide)) == "(a: int, /, *, by: int = 1) -> float"
    with pytest.raises(ZeroDivisionError):
        divide(1, by=0)


async def coroutine():
    pass


def generator():
    yield


@pytest.mark.parametrize("function", [coroutine, generator, 3])
def test_functions_whose_body_runs_later_are_refused(function):
    """They would be pinned while they are made, and not while they run."""
    with pytest.raises(TypeError, match="expected a plain function to run pinned, found"):
        pinned()(function)


def test_the_object_is_not_pickled():
    """It belongs to a thread, which no bytes can name."""
    with pytest.raises(TypeError, match="belongs to a thread"):
        pickle.dumps(pinned())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="freezing needs CPython 3.12 or newer")
def test_a_tasklet_inside_is_not_frozen():
    """What thaws it could be another thread."""

    def visit():
        with pinned():
            schedule()

    def main():
        task = spawn(visit)
        schedule()
        with pytest.raises(FreezeError, match="pinned"):
            freeze(task)

    loomlet.run(main)
