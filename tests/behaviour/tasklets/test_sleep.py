"""sleep(seconds) lets others run for at least that long."""

import pytest

import loomlet


def test_sleepers_wake_in_the_order_of_their_times(mode, clock):
    """The shorter sleep ends first; equal sleeps end in the order of their calls."""
    log = []

    def body(n, seconds):
        loomlet.sleep(seconds)
        log.append((clock(), n))

    seconds = [3, 1, 2, 1, 0.5, 3]
    tasks = [loomlet.spawn(body, n, s) for n, s in enumerate(seconds)]
    for task in tasks:
        task.join()
    assert log == [(0.5, 4), (1, 1), (1, 3), (2, 2), (3, 0), (3, 5)]


@pytest.mark.parametrize("seconds", [0, 0.0, -1, -1e300])
def test_no_time_is_schedule(seconds, mode, clock):
    """sleep(0), or less, goes to the tail of the run queue."""
    log = []
    loomlet.spawn(log.append, "other")
    assert loomlet.sleep(seconds) is None
    assert log == ["other"]
    assert clock() == 0


def test_others_run_meanwhile(mode, clock):
    """While a tasklet sleeps, all that are runnable run; time passes only when none is."""
    log = []

    def worker():
        for n in range(100):
            log.append((clock(), n))
            loomlet.schedule()

    loomlet.spawn(worker)
    loomlet.sleep(1)
    assert log == [(0, n) for n in range(100)]


def test_on_the_real_clock():
    """Without a virtual clock sleep() takes at least the time asked for."""
    before = loomlet.now()
    loomlet.sleep(0.01)  # real time: that is what is tested
    assert loomlet.now() - before >= 0.01


def test_main_sleeps_alone(mode, clock):
    """The main tasklet may sleep without any other tasklet."""
    loomlet.sleep(3)
    assert clock() == 3


@pytest.mark.parametrize("wrong", ["1", None, [], object()])
def test_a_wrong_time(wrong):
    """Seconds are an int or a float."""
    with pytest.raises(TypeError, match="expected seconds"):
        loomlet.sleep(wrong)


def test_not_a_number():
    """NaN is not a valid time."""
    with pytest.raises(ValueError, match="NaN"):
        loomlet.sleep(float("nan"))


def test_for_ever(mode, clock):
    """sleep(infinity) is a way to wait until something ends it."""
    task = loomlet.spawn(loomlet.sleep, float("inf"))
    loomlet.sleep(10**6)
    assert task.state == "blocked"
    task.kill()
    assert task.state == "done"


def test_many_sleepers(mode, clock):
    """Thousands of timers in any order fire in their order."""
    times, woke = [n * 7919 % 3000 for n in range(3000)], []

    def body(seconds):
        loomlet.sleep(seconds)
        woke.append(seconds)

    tasks = [loomlet.spawn(body, seconds) for seconds in times]
    for task in tasks:
        task.join()
    assert woke == sorted(times)
