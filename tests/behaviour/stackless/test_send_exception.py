"""send_exception() and send_throw() are sends that raise in the receiver."""

import sys

import pytest

import loomlet.compat.stackless as stackless


@pytest.fixture
def receiver():
    """(channel, log of what was raised); a receiver waits on it."""
    ch, log = stackless.channel(), []

    def body():
        try:
            log.append(("value", ch.receive()))
        except KeyError as error:
            log.append(error)

    stackless.tasklet(body)()
    stackless.run()
    yield ch, log
    if ch.balance:
        ch.send(None)


def test_send_exception(receiver, mode):
    """Spec 4, channel.send_exception: the receiver gets cls(*args) raised; returns None."""
    ch, log = receiver
    assert ch.send_exception(KeyError, 1, "two") is None
    assert [(type(error), error.args) for error in log] == [(KeyError, (1, "two"))]


def test_send_exception_waits(mode):
    """Spec 4, channel.send_exception: a sender like any other, in its place in the queue."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.send_exception)(KeyError, "waited")
    stackless.tasklet(ch.send)("second")
    stackless.run()
    assert task.blocked
    assert ch.balance == 2
    with pytest.raises(KeyError, match="waited"):
        ch.receive()
    assert ch.receive() == "second"
    stackless.run()


def test_send_exception_without_arguments(raises):
    """Spec 4, channel.send_exception: the class is needed."""
    with raises(TypeError, "send_exception() takes at least 1 argument"):
        stackless.channel().send_exception()


@pytest.mark.parametrize("wrong", [3, int, KeyError("an instance")])
def test_send_exception_of_something_else(wrong, receiver, raises):
    """Spec 4, channel.send_exception: anything else is refused; the receiver still waits."""
    ch, log = receiver
    text = "channel.send_exception needs Exception or string subclass as first parameter"
    with raises(TypeError, text):
        ch.send_exception(wrong)
    assert log == []
    assert ch.balance == -1


def test_send_throw(receiver, mode):
    """Spec 4, channel.send_throw: an exception that exists arrives as it is; returns None."""
    ch, log = receiver
    error = KeyError("mine")
    assert ch.send_throw(error) is None
    assert log == [error]


def test_send_throw_of_a_class(receiver, mode):
    """Spec 4, channel.send_throw: a class and a value, as with throw()."""
    ch, log = receiver
    ch.send_throw(KeyError, (1, 2))
    assert log[0].args == (1, 2)


def test_send_throw_keeps_the_traceback(receiver, mode):
    """Spec 4, channel.send_throw: where it was raised first can be seen."""
    ch, log = receiver

    def origin():
        raise KeyError

    try:
        origin()
    except KeyError:
        ch.send_throw(*sys.exc_info())
    names, traceback = [], log[0].__traceback__
    while traceback is not None:
        names.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert "origin" in names


def test_send_throw_without_arguments():
    """Spec 4, channel.send_throw: the exception is needed."""
    with pytest.raises(TypeError, match=r"^send_throw expected at least 1 argument"):
        stackless.channel().send_throw()


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((3,), "exceptions must be classes, or instances, not int"),
        ((KeyError(), 1), "instance exception may not have a separate value"),
        ((KeyError, None, 3), "third argument must be a traceback object"),
    ],
)
def test_an_argument_that_cannot_be_raised(args, text, receiver, raises):
    """Spec 4, channel.send_throw: refused as by throw(); the receiver still waits."""
    ch, log = receiver
    with raises(TypeError, text):
        ch.send_throw(*args)
    assert log == []
    assert ch.balance == -1
