"""A failure that is delivered again is as it was.

Its traceback does not grow, and it keeps no frame of those who had it before.
"""

import logging
import threading
import traceback
import weakref

import pytest

import loomlet
from loomlet import Channel, ChannelClosed, TaskGroup, spawn

TIMES = 1000


class Big:
    """Can be seen dying."""


def fail(*seen):
    local = Big()
    seen and seen[0].append(weakref.ref(local))
    raise ValueError("found")


def failed(*args):
    """A tasklet that has failed, and whose failure nobody has had yet."""
    task = spawn(fail, *args)
    with pytest.raises(ValueError, match="found"):
        task.join()
    return task


def functions(error):
    """The names of the functions in the traceback."""
    return [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]


def receive(call):
    """The traceback that a receiver sees, as it is printed."""
    local = Big()
    try:
        call()
    except Exception as error:
        return functions(error), traceback.format_exc(), weakref.ref(local)


@pytest.mark.parametrize("name", ["join", "result"])
def test_of_an_ended_tasklet(mode, name):
    """The thousandth receiver sees what the first one saw."""
    task = failed()
    call = getattr(task, name)
    names, text, _ = receive(call)
    assert names == ["receive", "fail"]
    for _ in range(TIMES):
        assert receive(call)[:2] == (names, text)


def test_of_a_tasklet_that_is_waited_for(mode):
    """A thousand joins wait for one tasklet; each sees its own frame and the tasklet's."""
    go = Channel()

    def late():
        go.receive()
        fail()

    task = spawn(late)
    waiting = [spawn(receive, task.result) for _ in range(TIMES)]
    loomlet.schedule()
    go.send(None)
    assert {tuple(one.result()[0]) for one in waiting} == {("receive", "late", "fail")}


def test_of_an_exception_that_two_tasklets_end_with(mode):
    """A tasklet that does not handle the failure of another one ends with it too."""
    inner = failed()
    outer = spawn(lambda: inner.result())
    for _ in range(3):
        assert receive(outer.result)[0] == ["receive", "<lambda>", "fail"]
        assert receive(inner.result)[0] == ["receive", "fail"]


def test_while_another_receiver_handles_it(mode):
    """The entries of the tasklet itself are there for both; it is one exception."""
    task = failed()
    try:
        task.result()
    except ValueError as first:
        assert receive(task.result)[0] == ["receive", "fail"]
        assert functions(first)[-1] == "fail"
        with pytest.raises(ValueError, match="found") as second:
            task.result()
        assert second.value is first


def test_no_receiver_is_kept(mode):
    """What a receiver had in its variables dies with it, though the failure is kept."""
    task = failed()
    last = None
    for _ in range(10):
        *_, last = receive(task.result)
    loomlet.schedule()
    assert last() is None
    assert functions(task._failure) == ["fail"]


def test_by_threads_at_the_same_time():
    """Each of them gets it any number of times."""
    tasks = [failed() for _ in range(20)]
    wrong = []

    def receiver():
        for _ in range(50):
            for task in tasks:
                names = receive(task.result)[0]
                if names[-1] != "fail":
                    wrong.append(names)

    threads = [threading.Thread(target=receiver) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_of_a_group(mode):
    """What a group raises has the failure as it was, whoever had it before."""
    with pytest.raises(ExceptionGroup) as caught, TaskGroup() as group:
        child = group.spawn(fail)
        with pytest.raises(ValueError, match="found"):
            child.result()
    assert functions(caught.value.exceptions[0]) == ["fail"]


def test_of_a_closed_channel(mode):
    """Each receiver of a closed channel has an error of its own."""
    ch = Channel()
    waiting = [spawn(receive, ch.receive) for _ in range(TIMES)]
    loomlet.schedule()
    ch.close()
    assert {tuple(one.result()[0]) for one in waiting} == {("receive",)}
    for _ in range(TIMES):
        with pytest.raises(ChannelClosed) as caught:
            ch.receive()
        assert len(functions(caught.value)) == 1


def test_what_is_logged_names_the_same_lines(mode, caplog):
    """logging.exception() after any number of deliveries."""
    task = failed()

    def log():
        try:
            task.result()
        except ValueError:
            logging.getLogger("receiver").exception("failed")

    for _ in range(3):
        log()
        loomlet.schedule()
    first, *others = [record.exc_text or caplog.text for record in caplog.records]
    assert 'raise ValueError("found")' in first
    assert set(others) <= {first}
