"""Tasklets that are ready all the time delay no tasklet that waits for a descriptor."""

import threading

import pytest

import loomlet
from loomlet import _core, net


def test_a_ring_of_schedule_lets_data_in(mode, streams):
    """A tasklet is always ready, and yet a waiting one is woken soon."""
    one, other = streams
    stop = []

    def spin():
        turns = 0
        while not stop:
            turns += 1
            loomlet.schedule()
        return turns

    spinners = [loomlet.spawn(spin) for _ in range(3)]

    def talk():
        for n in range(20):
            other.send_all(b"%02d" % n)
            assert one.receive_exactly(2) == b"%02d" % n
            loomlet.schedule()
        stop.append(True)

    loomlet.spawn(talk).join()
    assert all(task.result() > 0 for task in spinners)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_delay_is_bounded_by_picks(pair, seed):
    """With a virtual clock the poller is polled after 61 picks at the latest."""
    _core._virtual_clock(0.0)
    _core._seed(seed)
    one, other = pair
    task = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    other.send_all(b"x")
    for _ in range(2):
        loomlet.spawn(lambda: [loomlet.schedule() for _ in range(200)])
    turns = 0
    while task.state == "blocked":
        loomlet.schedule()
        turns += 1
    assert turns <= 61


def test_channels_do_not_hold_it_up(mode, streams):
    """Nor a pair of tasklets that hand values to each other all the time."""
    one, other = streams
    ping, pong = loomlet.Channel(), loomlet.Channel()

    def play(mine, theirs):
        for value in mine:
            theirs.send(value)

    players = [loomlet.spawn(play, ping, pong)]

    def serve():
        while True:
            ping.send(1)
            pong.receive()

    players.append(loomlet.spawn(serve))
    task = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    threading.Thread(target=other.send_all, args=(b"x",)).start()
    assert task.result() == b"x"
    for player in players:
        player.kill()


def test_a_loop_without_a_call_is_interrupted_for_it(python):
    """With time slices: one tasklet that computes, alone in the run queue."""
    done = python(
        """
        import threading, time
        import loomlet
        from loomlet import net

        stop = []

        def spin():
            while not stop:
                pass

        def main():
            one, other = net.pair()
            with one, other:
                loomlet.spawn(spin)
                threading.Timer(0.1, other.send_all, (b"x",)).start()
                print(loomlet.spawn(one.receive_some).result())
                stop.append(True)

        loomlet.run(main, slice=0.005)
        """
    )
    assert (done.stdout, done.stderr) == ("b'x'\n", "")


def test_a_reader_that_always_finds_data_does_not_starve_others(mode):
    """A hundred ready streams: each tasklet has its turn."""
    pairs = [net.pair() for _ in range(100)]
    counts = [0] * len(pairs)

    def echo(n):
        while True:
            pairs[n][0].send_all(pairs[n][0].receive_some())
            counts[n] += 1

    def bounce(n):
        while True:
            pairs[n][1].send_all(pairs[n][1].receive_some())

    tasks = [loomlet.spawn(work, n) for n in range(len(pairs)) for work in (echo, bounce)]
    loomlet.schedule()
    for _, other in pairs:
        other.send_all(b"x")
    while sum(counts) < 1000:
        loomlet.sleep(0)
    assert min(counts) > 0
    for task in tasks:
        task.kill()
    for one, other in pairs:
        one.close()
        other.close()
