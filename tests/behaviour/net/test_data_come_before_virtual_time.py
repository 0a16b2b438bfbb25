"""A virtual clock jumps only when nothing can run; data that are there can."""

import threading

import loomlet


def test_ready_data_come_before_the_next_timer(mode, clock, pair):
    """Bytes that were sent are received at the time at which they were sent."""
    one, other = pair
    times = []

    def read():
        for _ in one:
            times.append(clock())

    loomlet.spawn(read)
    for _ in range(3):
        loomlet.sleep(10)
        other.send_all(b"x")
    other.send_eof()
    loomlet.sleep(10)
    assert times == [10.0, 20.0, 30.0]


def test_it_jumps_while_nothing_comes(mode, clock, pair):
    """A tasklet that waits for a descriptor does not hold up virtual time."""
    task = loomlet.spawn(pair[0].receive_some)
    loomlet.sleep(3600)
    assert clock() == 3600.0
    task.kill()


def test_without_a_timer_it_really_waits(mode, clock, pair):
    """For data from another thread, while the clock stands still."""
    one, other = pair
    timer = threading.Timer(0.05, other.send_all, (b"x",))
    timer.start()
    assert one.receive_some() == b"x"
    assert clock() == 0.0
    timer.join()
