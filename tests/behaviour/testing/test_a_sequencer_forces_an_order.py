"""Sequencer(): blocks of different tasklets, one after the other."""

import pytest

import loomlet
from loomlet import TaskGroup
from loomlet.testing import Sequencer, seeded, wait_all_blocked


@pytest.mark.parametrize("seed", range(20))
def test_blocks_run_by_number(seed):
    """Whatever the run order is."""
    sequencer, log = Sequencer(), []

    def work(numbers):
        for n in numbers:
            with sequencer(n):
                log.append(n)
                loomlet.schedule()
                log.append(n)

    with seeded(seed), TaskGroup() as group:
        for numbers in ([1, 4], [0, 5, 6], [2, 3]):
            group.spawn(work, numbers)
    assert log == [n for number in range(7) for n in (number, number)]


def test_a_block_that_fails_had_its_turn(failures):
    """The next one continues."""
    sequencer = Sequencer()
    with pytest.raises(KeyError), sequencer(0):
        raise KeyError
    with sequencer(1):
        pass


def test_each_number_once():
    """A number asked for again, or a negative one, is a mistake of the test."""
    sequencer = Sequencer()
    sequencer(0)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="use each one once"):
            sequencer(wrong)


def test_a_broken_sequence_does_not_hang():
    """When one that waits for its turn is killed, those behind it get an error."""
    sequencer, log = Sequencer(), []

    def work(n):
        try:
            with sequencer(n):
                log.append(n)
        except AssertionError as error:
            assert "cancelled or killed while it waited" in str(error)
            log.append(f"{n} failed")

    tasks = [loomlet.spawn(work, n) for n in (1, 2, 3)]
    wait_all_blocked()
    tasks[0].kill()
    for task in tasks[1:]:
        task.join()
    assert log == ["2 failed", "3 failed"]
    with pytest.raises(AssertionError), sequencer(4):
        pass
