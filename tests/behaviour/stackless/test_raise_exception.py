"""raise_exception() makes an exception of a class and its arguments and throws it."""

import pytest

import loomlet.compat.stackless as stackless


def test_it_throws(mode):
    """Spec 3, tasklet.raise_exception: cls(*args), immediately; returns None."""
    log, ch = [], stackless.channel()

    def body():
        try:
            ch.receive()
        except KeyError as error:
            log.append(error.args)

    task = stackless.tasklet(body)()
    stackless.run()
    assert task.raise_exception(KeyError, 1, "two") is None
    assert log == [(1, "two")]


def test_at_oneself(mode):
    """Spec 3, tasklet.raise_exception: raised here."""
    with pytest.raises(KeyError, match="here"):
        stackless.getcurrent().raise_exception(KeyError, "here")


def test_without_arguments(raises):
    """Spec 3, tasklet.raise_exception: the class is needed."""
    with raises(TypeError, "raise_exception() takes at least 1 argument"):
        stackless.tasklet().raise_exception()


@pytest.mark.parametrize("wrong", [3, int, KeyError("an instance")])
def test_an_argument_that_is_not_an_exception_class(wrong, raises):
    """Spec 3, tasklet.raise_exception: anything else is refused."""
    text = "tasklet.raise_exception needs Exception or string subclass as first parameter"
    with raises(TypeError, text):
        stackless.tasklet().raise_exception(wrong)
