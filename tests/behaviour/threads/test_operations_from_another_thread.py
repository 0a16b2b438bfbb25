"""kill, throw, insert, run work on a tasklet of another thread; switch and remove do not."""

import threading

import pytest

import loomlet
from loomlet import Channel


class Other:
    """A thread with a tasklet in it, kept alive until the test has ended."""

    def __init__(self, body, *args, prepare=lambda task: None):
        self.ready, self.stop = Channel(), Channel()
        self.body, self.args, self.prepare = body, args, prepare
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        self.task = self.ready.receive()

    def run(self):
        def main():
            task = loomlet.spawn(self.body, *self.args)
            loomlet.schedule()
            self.prepare(task)
            self.ready.send(task)
            self.stop.receive()

        loomlet.run(main)

    def end(self):
        self.stop.send(None)
        self.thread.join()


@pytest.fixture
def other():
    made = []

    def make(*args, **kwargs):
        made.append(Other(*args, **kwargs))
        return made[-1]

    yield make
    for one in made:
        one.end()


def waits(ch, log):
    try:
        ch.receive()
    except KeyError as error:
        log.append(error)
    except loomlet.TaskletExit:
        log.append("exit")
        raise
    finally:
        log.append(threading.get_ident())


def test_kill(other, mode):
    """kill() from another thread ends the tasklet in its own thread, soon."""
    log = []
    there = other(waits, Channel(), log)
    assert there.task.kill() is None
    with pytest.raises(loomlet.TaskletKilled):
        there.task.join()
    assert log == ["exit", there.thread.ident]


def test_throw(other, mode):
    """throw() from another thread raises the very exception in the tasklet's own thread."""
    log, error = [], KeyError("thrown")
    there = other(waits, Channel(), log)
    there.task.throw(error)
    there.task.join()
    assert log == [error, there.thread.ident]


@pytest.mark.parametrize("how", ["insert", "run"])
def test_insert_and_run(how, other, mode):
    """insert() and run() make a paused tasklet run in its own thread; the caller continues."""
    result = Channel(1)

    def body():
        loomlet.schedule()
        result.send(threading.get_ident())

    there = other(body, prepare=lambda task: task.remove())
    assert there.task.state == "paused"
    assert getattr(there.task, how)() is (there.task if how == "insert" else None)
    assert result.receive() == there.thread.ident


@pytest.mark.parametrize("how", ["switch", "remove"])
def test_operations_that_need_the_same_thread(how, other, mode):
    """switch() and remove() of another thread's tasklet raise WrongThread and say what works."""
    there = other(loomlet.schedule)
    there.task.join()
    paused = other(loomlet.schedule, prepare=lambda task: task.remove())
    with pytest.raises(loomlet.WrongThread) as info:
        getattr(paused.task, how)()
    text = str(info.value)
    assert "belongs to another thread; use insert()" in text
    assert repr(paused.task) in text
    assert "insert(), run(), throw() or a channel" in text
    paused.task.kill()


def test_operations_on_ended_tasklets(other, mode):
    """Another thread's tasklet that has ended is an error, or nothing for kill()."""
    there = other(lambda: None)
    there.task.join()
    assert there.task.kill() is None
    for operation in (there.task.insert, there.task.run, lambda: there.task.throw(KeyError)):
        with pytest.raises(loomlet.DeadTasklet):
            operation()


def test_a_blocked_one(other, mode):
    """Another thread's tasklet that waits has a state, but cannot be inserted or run."""
    ch = Channel()
    there = other(waits, ch, [])
    assert (there.task.state, there.task.waiting_for) == ("blocked", ch)
    for operation in (there.task.insert, there.task.run):
        with pytest.raises(loomlet.TaskletError, match="is blocked; end its wait"):
            operation()
    ch.send(None)


def test_many_kills_from_outside(mode):
    """Tasklets killed and thrown into from another thread while they work all end once."""
    ended, tasks, go = [], Channel(200), Channel()

    def body(n):
        try:
            while True:
                if n % 3 == 0:
                    loomlet.schedule()
                elif n % 3 == 1:
                    Channel().receive()
                else:
                    sorted([1], key=lambda _: loomlet.schedule())
        except (loomlet.TaskletExit, KeyError):
            pass
        finally:
            ended.append(n)

    def main():
        mine = [loomlet.spawn(body, n) for n in range(200)]
        loomlet.schedule()
        for task in mine:
            tasks.send(task)
        go.receive()
        for task in mine:
            task.join()

    thread = threading.Thread(target=lambda: loomlet.run(main))
    thread.start()
    for n in range(200):
        task = tasks.receive()
        task.kill() if n % 2 else task.throw(KeyError())
    go.send(None)
    thread.join()
    assert sorted(ended) == list(range(200))
