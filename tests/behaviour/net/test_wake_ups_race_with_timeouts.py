"""A wake-up and a time-out at the same moment: one of them wins, and no byte is lost."""

import random

import pytest

import loomlet
from loomlet import _core, net


@pytest.mark.parametrize("seed", range(10))
def test_no_byte_is_lost_to_a_timeout(mode, streams, seed):
    """Data that a timeout missed arrive at the next read; every byte once and in order."""
    one, other = streams
    choose = random.Random(seed)
    message = bytes(choose.randrange(256) for _ in range(3000))
    got = bytearray()

    def send():
        at = 0
        while at < len(message):
            size = choose.randrange(1, 60)
            one.send_all(message[at : at + size])
            at += size
            if choose.random() < 0.5:
                loomlet.sleep(choose.random() * 0.0004)
            else:
                loomlet.schedule()
        one.send_eof()

    def read():
        late = 0
        while True:
            try:
                with loomlet.timeout(choose.random() * 0.0004):
                    data = other.receive_some(40)
            except TimeoutError:
                late += 1
                continue
            got.extend(data)
            if not data:
                return late

    loomlet.spawn(send)
    loomlet.spawn(read).join()
    assert got == message


@pytest.mark.parametrize("seed", range(20))
def test_in_every_order(mode, pair, seed):
    """The same with a virtual clock and a seeded order: cancel, data, kill and close."""
    _core._virtual_clock(0.0)
    _core._seed(seed + 1)
    one, other = pair
    scope = loomlet.CancelScope()
    got = []

    def read():
        with scope:
            got.append(one.receive_some())

    loomlet.spawn(read)
    loomlet.spawn(other.send_all, b"data")
    loomlet.spawn(scope.cancel)
    loomlet.sleep(1)
    rest = [] if got else [one.receive_some()]
    assert got + rest == [b"data"]
    assert bool(rest) == scope.cancelled_caught


def test_close_and_data_at_once(mode, caught):
    """Either the data or the end; the tasklet always continues."""
    for n in range(50):
        one, other = net.pair()
        task = caught(one.receive_some)
        loomlet.schedule()
        if n % 2:
            other.send_all(b"x")
        one.close()
        if n % 2 == 0:
            with pytest.raises(BrokenPipeError):
                other.send_all(b"x")
        assert type(task.result()) in (net.DescriptorClosed, type(None))
        other.close()
