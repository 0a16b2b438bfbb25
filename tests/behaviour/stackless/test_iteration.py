"""Iterating over a channel receives until it is closed or a StopIteration is sent."""

import pytest

import loomlet.compat.stackless as stackless


def test_iter_gives_the_channel():
    """Spec 4, channel iteration: a channel is its own iterator."""
    ch = stackless.channel()
    assert iter(ch) is ch


def test_next_receives(mode):
    """Spec 4, channel iteration: next() is receive()."""
    ch = stackless.channel()
    stackless.tasklet(ch.send)("value")
    assert next(ch) == "value"
    stackless.run()


def test_a_sent_stopiteration_ends_it(mode):
    """Spec 4, channel iteration: the sender can end the loop."""
    ch, log = stackless.channel(), []

    def body():
        for value in ch:
            log.append(value)
        log.append("end")

    stackless.tasklet(body)()
    stackless.run()
    ch.send(1)
    ch.send(2)
    ch.send_exception(StopIteration)
    assert log == [1, 2, "end"]
    assert not ch.closing


def test_closing_ends_it_when_it_is_drained(mode):
    """Spec 4, channel iteration: the values of waiting senders are still received."""
    ch = stackless.channel()
    for n in range(3):
        stackless.tasklet(ch.send)(n)
    stackless.run()
    ch.close()
    log = []
    for value in ch:
        log.append(value)
    assert log == [0, 1, 2]
    with pytest.raises(StopIteration):
        next(ch)
    stackless.run()


def test_closing_while_others_wait(mode):
    """Spec 4, channel iteration: with receivers in the queue it has ended as well."""
    ch, log = stackless.channel(), []
    stackless.tasklet(lambda: log.append(ch.receive()))()
    stackless.run()
    ch.close()
    with pytest.raises(StopIteration):
        next(ch)
    assert ch.balance == -1
    ch.send("drained")
    assert log == ["drained"]
