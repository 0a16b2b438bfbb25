"""bind_thread() moves a tasklet to this thread or another one."""

import threading

import pytest

import loomlet.compat.stackless as stackless


def test_a_paused_one(thread):
    """Spec 3, tasklet.bind_thread: without an argument it comes to the caller's thread."""
    log = []
    task = stackless.tasklet(lambda: log.append(threading.get_ident()), ())

    def adopt():
        task.bind_thread()
        task.insert()
        stackless.run()

    other = thread(adopt)
    other.join()
    assert log == [other.id]
    other.result()


def test_to_a_thread_by_number():
    """Spec 3, tasklet.bind_thread: a thread id; the own one is no change."""
    log, ready, end = [], threading.Event(), threading.Event()

    def serve():
        stackless.getmain()
        ready.set()
        end.wait(60)
        stackless.run()

    other = threading.Thread(target=serve)
    other.start()
    assert ready.wait(60)
    task = stackless.tasklet(lambda: log.append(threading.get_ident()), ())
    task.bind_thread(threading.get_ident())
    assert task.thread_id == threading.get_ident()
    task.bind_thread(other.ident)
    assert task.thread_id == other.ident
    task.insert()
    end.set()
    other.join(60)
    assert log == [other.ident]


def test_an_unbound_one(thread):
    """Spec 3, tasklet.bind_thread: dead tasklets can be moved too."""
    task = stackless.tasklet()
    other = thread(task.bind_thread)
    other.result()
    assert task.thread_id != threading.get_ident()


def test_a_tasklet_that_has_started(thread, soft):
    """Spec 3, tasklet.bind_thread: in the middle of its function, if it has no C state."""
    log = []

    def body():
        log.append(threading.get_ident())
        stackless.schedule_remove()
        log.append(threading.get_ident())

    task = stackless.tasklet(body)()
    stackless.run()

    def adopt():
        task.bind_thread()
        task.run()

    other = thread(adopt)
    other.result()
    assert log == [threading.get_ident(), other.id]


def test_a_blocked_one(thread, soft):
    """Spec 3, tasklet.bind_thread: it stays in its channel and continues in the new thread."""
    ch, log = stackless.channel(), []

    def body():
        log.append(ch.receive())
        log.append(threading.get_ident())

    task = stackless.tasklet(body)()
    stackless.run()

    def adopt():
        task.bind_thread()
        ch.send("value")
        stackless.run()

    other = thread(adopt)
    other.result()
    assert log == ["value", other.id]


def test_one_of_an_ended_thread(thread):
    """Spec 3, tasklet.bind_thread: can be adopted, and runs."""
    log = []
    task = thread(lambda: stackless.tasklet(log.append, ("adopted",))).result()
    task.bind_thread()
    assert task.thread_id == threading.get_ident()
    task.run()
    assert log == ["adopted"]


def test_a_runnable_one(thread, raises):
    """Spec 3, tasklet.bind_thread: scheduled ones and the current one stay."""
    task, main = stackless.tasklet(print)(), stackless.getmain()

    def adopt():
        for one in (task, main):
            with raises(RuntimeError, "can't (re)bind a runnable tasklet"):
                one.bind_thread()

    thread(adopt).result()
    task.remove()


def test_one_with_c_state(thread, raises):
    """Spec 3, tasklet.bind_thread: its C stack belongs to its thread."""
    task = stackless.tasklet(stackless._test_nostacklesscall)(stackless.schedule_remove)
    stackless.run()

    def adopt():
        with raises(RuntimeError, "tasklet has C state on its stack"):
            task.bind_thread()

    thread(adopt).result()
    task.kill()


@pytest.mark.parametrize("number", [-2, -(1 << 70), 1 << 64])
def test_a_number_out_of_range(number):
    """Spec 3, tasklet.bind_thread: an id that no thread can have is an OverflowError."""
    task = stackless.tasklet(print, ())
    with pytest.raises(OverflowError):
        task.bind_thread(number)
    assert task.thread_id == threading.get_ident()


def test_the_number_of_the_current_one(thread, capsys):
    """Spec 3, tasklet.bind_thread: a removed one may be bound here by the caller's own id, or -1.

    Its thread lives and waits.
    """

    def body():
        for number in (1, 2):
            tasks.append(stackless.tasklet(print)(number))
            tasks[-1].remove()
        ready.set()
        assert go.wait(60)

    tasks, ready, go = [], threading.Event(), threading.Event()
    other = thread(body)
    assert ready.wait(60)
    for task, number in zip(tasks, [threading.get_ident(), -1], strict=True):
        task.bind_thread(number)
        assert task.thread_id == threading.get_ident()
        task.insert()
    stackless.run()
    go.set()
    other.result()
    assert capsys.readouterr().out == "1\n2\n"


def test_no_such_thread(raises):
    """Spec 3, tasklet.bind_thread: a number of no thread is refused."""
    task = stackless.tasklet(print, ())
    with raises(ValueError, "bad thread"):
        task.bind_thread(1)
    assert task.thread_id == threading.get_ident()
