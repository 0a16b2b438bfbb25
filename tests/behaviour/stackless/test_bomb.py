"""A bomb is an exception as a value; cframe and cstack are there to be looked at."""

import pickle
import traceback

import pytest

import loomlet.compat.stackless as stackless


def caught():
    try:
        raise KeyError("boom")
    except KeyError as error:
        return error


def test_empty():
    """Spec 10, bomb: everything unset is None."""
    bomb = stackless.bomb()
    assert (bomb.type, bomb.value, bomb.traceback) == (None, None, None)


def test_full():
    """Spec 10, bomb: type, value and traceback, one to three of them."""
    error = caught()
    bomb = stackless.bomb(KeyError, error, error.__traceback__)
    assert (bomb.type, bomb.value, bomb.traceback) == (KeyError, error, error.__traceback__)
    bomb = stackless.bomb(KeyError, error)
    assert (bomb.type, bomb.value, bomb.traceback) == (KeyError, error, None)
    bomb = stackless.bomb(KeyError)
    assert (bomb.type, bomb.value, bomb.traceback) == (KeyError, None, None)


def test_of_a_tuple():
    """Spec 10, bomb: one tuple stands for all three."""
    error = caught()
    bomb = stackless.bomb((KeyError, error, error.__traceback__))
    assert (bomb.type, bomb.value, bomb.traceback) == (KeyError, error, error.__traceback__)


@pytest.mark.parametrize("name", ["type", "value", "traceback"])
def test_they_cannot_be_set(name):
    """Spec 10, bomb: read-only."""
    with pytest.raises(AttributeError):
        setattr(stackless.bomb(), name, None)


def test_sent_through_a_channel(mode):
    """Spec 10, bomb: a bomb that is sent goes off in the receiver."""
    ch, log, error = stackless.channel(), [], caught()

    def body():
        try:
            ch.receive()
        except KeyError as received:
            log.append(received)

    stackless.tasklet(body)()
    stackless.run()
    ch.send(stackless.bomb(KeyError, error, None))
    assert log == [error]


def test_cframe():
    """Spec 10, cframe: a type that can be asked for, with the names of Stackless."""
    names = {"ob1", "ob2", "ob3", "i", "n", "f_back"}
    assert names <= set(dir(stackless.cframe))


def test_cstack():
    """Spec 10, cstack: a ring that can be walked."""
    first = stackless.getcurrent().cstate
    walk, steps = first.next, 0
    while walk is not first:
        assert type(walk) is stackless.cstack
        assert walk.task is None or isinstance(walk.task, stackless.tasklet)
        walk, steps = walk.next, steps + 1
        assert steps < 1000
    assert isinstance(first.size, int)
    assert isinstance(first.startaddr, int)
    assert isinstance(first.nesting_level, int)
    assert isinstance(first.serial, int)
    assert type(first.prev) is stackless.cstack


def test_cstacks_of_tasklets():
    """Spec 10, cstack: each that is kept is one of its thread's ring, and so is the initial one."""
    initial = stackless.get_thread_info(-1, 1 << 30)[5]
    tasks = [
        stackless.tasklet(stackless._test_nostacklesscall)(stackless.schedule_remove)
        for _ in range(2)
    ]
    stackless.run()
    first, second = (task.cstate for task in tasks)
    assert initial is stackless.getmain().cstate
    assert (first.next, second.next, initial.next) == (second, initial, first)
    assert (first.prev, second.prev, initial.prev) == (initial, first, second)
    assert [one.task for one in (initial, first, second)] == [None, *tasks]
    assert first.nesting_level == tasks[0].nesting_level > 0
    assert tasks[0].cstate is first
    tasks[0].run()
    assert (first.next, first.task, first.size) == (first, None, 0)
    tasks[1].run()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_it_pickles(protocol, mode):
    """Spec 10, bomb: type and value come back, and it still goes off."""
    bomb = pickle.loads(pickle.dumps(stackless.bomb(KeyError, KeyError("boom")), protocol))
    assert type(bomb) is stackless.bomb
    assert (bomb.type, bomb.value.args, bomb.traceback) == (KeyError, ("boom",), None)
    ch = stackless.channel()
    stackless.tasklet(ch.send)(bomb)
    with pytest.raises(KeyError, match="boom"):
        ch.receive()
    stackless.run()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_one_with_a_traceback_pickles(protocol):
    """Spec 10, bomb: the traceback comes back, and prints as before."""
    error = caught()
    bomb = stackless.bomb(KeyError, error, error.__traceback__)
    copy = pickle.loads(pickle.dumps(bomb, protocol))
    assert copy.value.args == ("boom",)
    assert copy.value.__traceback__ is copy.traceback
    printed = [traceback.format_tb(one.traceback) for one in (bomb, copy)]
    assert printed[0] == printed[1]


def test_an_invalid_traceback(raises):
    """Spec 10, bomb: the third part is checked."""
    with raises(TypeError, "third argument must be a traceback object"):
        stackless.bomb(KeyError, None, 3)
