"""set_atomic() and set_ignore_nesting() are flags of a tasklet about involuntary switches."""

import pytest

import loomlet.compat.stackless as stackless

FLAGS = {"set_atomic": "atomic", "set_ignore_nesting": "ignore_nesting"}


@pytest.mark.parametrize("name", FLAGS)
def test_it_returns_the_old_flag(name):
    """Spec 3, tasklet.set_atomic, set_ignore_nesting: bool or int in, bool out."""
    task = stackless.tasklet()
    put = getattr(task, name)
    assert getattr(task, FLAGS[name]) is False
    assert put(True) is False
    assert getattr(task, FLAGS[name]) is True
    assert put(1) is True
    assert put(0) is True
    assert put(False) is False


@pytest.mark.parametrize("name", FLAGS)
def test_the_attribute_shows_it(name):
    """Spec 3, tasklet.atomic, ignore_nesting: a bool, read-only, each tasklet's own."""
    a, b = stackless.tasklet(), stackless.tasklet()
    getattr(a, name)(1)
    assert getattr(a, FLAGS[name]) is True
    assert getattr(b, FLAGS[name]) is False
    with pytest.raises(AttributeError):
        setattr(a, FLAGS[name], False)


@pytest.mark.parametrize("wrong", [None, "text", 1.0])
@pytest.mark.parametrize("name", FLAGS)
def test_other_types(name, wrong, raises):
    """Spec 3, tasklet.set_atomic, set_ignore_nesting: anything else is a TypeError."""
    task = stackless.tasklet()
    texts = {
        "set_atomic": "set_atomic needs exactly one bool or integer",
        "set_ignore_nesting": "set_ignore_nesting needs exactly one bool or integer",
    }
    with raises(TypeError, texts[name]):
        getattr(task, name)(wrong)
    assert getattr(task, FLAGS[name]) is False


def test_clearing_atomic_delivers_a_pending_interrupt():
    """Spec 3, tasklet.set_atomic, set_ignore_nesting: an interruption that is due comes at once."""
    log = []

    def body():
        me = stackless.getcurrent()
        me.set_atomic(True)
        for _ in range(10_000):
            pass
        log.append("atomic")
        me.set_atomic(False)
        log.append("later")

    task = stackless.tasklet(body)()
    assert stackless.run(100) is task
    assert log == ["atomic"]
    task.insert()
    stackless.run()
    assert log == ["atomic", "later"]
