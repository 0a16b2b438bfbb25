"""send_sequence() sends each item of an iterable."""

import pytest

import loomlet.compat.stackless as stackless


def test_it_returns_the_count(mode):
    """Spec 4, channel.send_sequence: the number of items sent."""
    ch, counts = stackless.channel(), []
    stackless.tasklet(lambda: counts.append(ch.send_sequence(range(4))))()
    assert [ch.receive() for _ in range(4)] == [0, 1, 2, 3]
    stackless.run()
    assert counts == [4]


def test_nothing_to_send():
    """Spec 4, channel.send_sequence: of an empty one 0, without waiting."""
    assert stackless.channel().send_sequence([]) == 0


def test_a_generator(mode):
    """Spec 4, channel.send_sequence: any iterable, taken item by item."""
    ch, log = stackless.channel(), []

    def items():
        for n in range(3):
            log.append(f"made {n}")
            yield n

    stackless.tasklet(ch.send_sequence)(items())
    for _ in range(3):
        log.append(ch.receive())
        stackless.schedule()
    assert log == ["made 0", 0, "made 1", 1, "made 2", 2]


def test_an_exception_of_the_iterable(mode):
    """Spec 4, channel.send_sequence: goes to the sender; what was sent before, was sent."""
    ch, log = stackless.channel(), []

    def items():
        yield 1
        raise KeyError("from the items")

    def body():
        try:
            ch.send_sequence(items())
        except KeyError as error:
            log.append(error.args)

    stackless.tasklet(body)()
    assert ch.receive() == 1
    stackless.run()
    assert log == [("from the items",)]


def test_an_argument_that_is_not_iterable():
    """Spec 4, channel.send_sequence: a TypeError."""
    with pytest.raises(TypeError):
        stackless.channel().send_sequence(3)


def test_it_is_soft(soft):
    """Spec 4, channel.send_sequence: a tasklet that waits in it keeps no C stack."""
    ch = stackless.channel()

    def items():
        yield from range(2)

    tasks = [stackless.tasklet(ch.send_sequence)(source) for source in (range(2), items())]
    stackless.run()
    assert [task.nesting_level for task in tasks] == [0, 0]
    assert sorted(ch.receive() for _ in range(4)) == [0, 0, 1, 1]
    stackless.run()


def test_from_channel_to_channel(mode):
    """Spec 4, channel.send_sequence: a channel is an iterable too."""
    source, target, log = stackless.channel(), stackless.channel(), []
    stackless.tasklet(lambda: log.append(target.send_sequence(source)))()
    stackless.tasklet(lambda: [source.send(1), source.send(2), source.close()])()
    assert [target.receive(), target.receive()] == [1, 2]
    stackless.run()
    if source.balance:
        source.send_exception(StopIteration)
    assert log == [2]
