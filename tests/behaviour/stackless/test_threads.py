"""The operations that one thread may perform on the tasklets of another."""

import threading

import pytest

import loomlet.compat.stackless as stackless


class Server:
    """A thread whose main tasklet runs its queue until stop() is called."""

    def __init__(self, thread):
        self.jobs, self.log = stackless.channel(), []
        self.jobs.preference = 0
        self.ready, self._stop = threading.Event(), False
        self.thread = thread(self._main)
        assert self.ready.wait(60)

    def _main(self):
        self.made = stackless.tasklet(self.note, ("made",))
        self.waiting = stackless.tasklet(self.wait)()
        stackless.run()
        self.ready.set()
        while not self._stop:
            self.jobs.receive()()

    def note(self, what):
        self.log.append((what, threading.get_ident() == self.thread.id))

    def wait(self):
        try:
            stackless.schedule_remove()
            self.note("continued")
        except KeyError:
            self.note("KeyError")
        except TaskletExit:
            self.note("TaskletExit")
            raise

    def until(self, condition):
        """Lets the thread run its tasklets until the condition holds."""
        while not condition():
            self.jobs.send(stackless.schedule)

    def stop(self):
        self.jobs.send(lambda: setattr(self, "_stop", True))  # over there: no race
        self.thread.result()


@pytest.fixture
def server(thread):
    """A thread with a paused tasklet that has not started, and one that has."""
    made = Server(thread)
    yield made
    made.stop()


def test_insert(server):
    """Spec 9, insert from another thread: the tasklet runs on its own thread."""
    assert server.made.insert() is server.made
    server.until(lambda: not server.made.alive)
    assert server.log == [("made", True)]


def test_run(server):
    """Spec 9, run from another thread: returns at once; the tasklet runs over there, next."""
    assert server.made.run() is None
    server.until(lambda: not server.made.alive)
    assert server.log == [("made", True)]


def test_throw(server):
    """Spec 9, throw from another thread: raised over there."""
    server.waiting.throw(KeyError)
    server.until(lambda: not server.waiting.alive)
    assert server.log == [("KeyError", True)]


def test_kill(server):
    """Spec 9, kill from another thread: ended over there."""
    server.waiting.kill()
    server.until(lambda: not server.waiting.alive)
    assert server.log == [("TaskletExit", True)]


def test_at_once(thread):
    """Spec 9, insert from another thread: seen at once, like remove and run."""
    made, order = [], []
    ready, go = threading.Event(), threading.Event()

    def body():
        made.extend(stackless.tasklet(order.append, (name,)) for name in "abcd")
        ready.set()
        go.wait(60)
        stackless.run()

    other = thread(body)
    assert ready.wait(60)

    def count():
        return stackless.get_thread_info(other.id)[2]

    a, b, c, d = made
    assert count() == 1
    a.insert()
    b.insert()
    assert (a.scheduled, a.paused, a.next, b.prev, count()) == (True, False, b, a, 3)
    b.run()
    assert (b.next, a.prev, count()) == (a, b, 3)
    c.insert()
    c.remove()
    assert (c.scheduled, c.paused, c.next, count()) == (False, True, None, 3)
    d.kill()
    assert (d.scheduled, count()) == (True, 4)
    d.remove()
    assert (d.paused, count()) == (True, 3)
    go.set()
    other.result()
    assert order == ["b", "a"]


@pytest.mark.parametrize("action", ["kill", "throw"])
def test_a_blocked_one_at_once(action, thread):
    """Spec 9, throw from another thread: it leaves its channel at once; kill, too."""
    made, order, ch = [], [], stackless.channel()
    ready, go = threading.Event(), threading.Event()

    def waits():
        try:
            ch.receive()
        except (KeyError, TaskletExit) as error:
            order.append(type(error))

    def body():
        made.append(stackless.tasklet(waits)())
        stackless.run()
        ready.set()
        go.wait(60)
        stackless.run()

    other = thread(body)
    assert ready.wait(60)
    (task,) = made
    assert (task.blocked, ch.balance) == (True, -1)
    if action == "throw":
        task.throw(KeyError)
    else:
        task.kill()
    assert (task.blocked, task.scheduled, ch.balance) == (False, True, 0)
    assert stackless.get_thread_info(other.id)[2] == 2
    go.set()
    other.result()
    assert order == [KeyError if action == "throw" else TaskletExit]


def test_a_value_dropped_by_another_thread(server):
    """Spec 9, throw from another thread: what the tasklet was to get is destroyed, by code that
    may do anything."""
    log = []

    class Value:
        def __del__(self):
            stackless.tasklet(log.append)("destroyed")
            stackless.run()

    server.waiting.tempval = Value()
    server.waiting.throw(KeyError)
    assert log == ["destroyed"]
    server.until(lambda: not server.waiting.alive)
    assert server.log == [("KeyError", True)]


def test_channels(server):
    """Spec 9, channels between threads: values both ways, whatever the preference."""
    for preference in (-1, 0, 1):
        question, answer = stackless.channel(), stackless.channel()
        question.preference = answer.preference = preference

        def echo(question=question, answer=answer):
            answer.send((question.receive(), threading.get_ident()))

        server.jobs.send(echo)
        question.send(preference)
        assert answer.receive() == (preference, server.thread.id)


@pytest.mark.parametrize(("action", "preference"), [("send", -1), ("receive", 1)])
def test_the_acting_tasklet_continues(action, preference, thread):
    """Spec 4, another thread's partner: made runnable there; the actor continues at once."""
    ch, log = stackless.channel(), []
    ch.preference = preference
    other = thread(ch.receive) if action == "send" else thread(ch.send, "value")
    while ch.balance == 0:
        threading.Event().wait(0.001)  # the other thread is about to wait
    stackless.tasklet(log.append)("queued")
    done = ch.send("value") if action == "send" else ch.receive()
    assert log == []
    assert (done, other.result()) == ((None, "value") if action == "send" else ("value", None))
    stackless.run()


def test_run_comes_before_the_others(thread):
    """Spec 9, run from another thread: behind the busy current one, before its whole queue."""
    log, made = [], []
    ready, go = threading.Event(), threading.Event()

    def body():
        made.extend(stackless.tasklet(log.append, (name,)) for name in ("run", "insert"))
        for name in "ab":
            stackless.tasklet(log.append)(name)
        ready.set()
        go.wait(60)
        stackless.run()

    other = thread(body)
    assert ready.wait(60)
    made[1].insert()
    made[0].run()
    go.set()
    other.result()
    assert log == ["run", "a", "b", "insert"]


def test_insert_wakes_a_thread(thread):
    """Spec 9, insert from another thread: a thread that sleeps in a channel runs it."""
    ch, made = stackless.channel(), []

    def body():
        made.append(stackless.tasklet(lambda: ch.send(threading.get_ident()), ()))
        return ch.receive()

    other = thread(body)
    while ch.balance == 0:
        threading.Event().wait(0.001)  # the other thread is about to sleep
    made[0].insert()
    assert other.result() == other.id


def test_attributes(server):
    """Spec 9, reading attributes from another thread: all of them."""
    task = server.waiting
    assert task.thread_id == server.thread.id
    assert (task.alive, task.paused, task.blocked, task.scheduled) == (True, True, False, False)
    assert (task.is_main, task.is_current, task.next, task.prev) == (False, False, None, None)
    assert task.frame.f_code.co_name == "wait"
    assert task.recursion_depth >= 0


def test_switch(server, raises):
    """Spec 9, switch to another thread: not allowed."""
    with raises(RuntimeError, "can't switch to a different thread."):
        server.made.switch()
    assert server.made.paused


def test_many_values(thread):
    """Spec 9, channels between threads: a thousand round trips, nothing lost."""
    there, back = stackless.channel(), stackless.channel()

    def echo():
        for _ in range(1000):
            back.send(there.receive() + 1)

    other = thread(echo)
    for n in range(1000):
        there.send(n)
        assert back.receive() == n + 1
    other.result()


def test_remove(thread):
    """Spec 9, remove from another thread: paused over there; after an insert it is as before."""
    log, made = [], []
    ready, go = threading.Event(), threading.Event()

    def body():
        made.extend(stackless.tasklet(log.append)(name) for name in "ab")
        ready.set()
        go.wait(60)
        stackless.run()

    other = thread(body)
    assert ready.wait(60)
    count = stackless.getruncount()
    assert made[0].remove() is made[0]
    made[1].remove()
    made[1].insert()
    assert stackless.getruncount() == count
    go.set()
    other.result()
    assert log == ["b"]
    assert not made[0].alive  # its thread has ended


def test_tasklets_that_cannot_be_removed(server, raises):
    """Spec 9, remove from another thread: refused for the same reasons as here."""
    ended = stackless.tasklet(lambda: None)()
    stackless.run()
    assert ended.remove() is ended
    assert server.made.remove() is server.made
    mains = []
    server.jobs.send(lambda: mains.append(stackless.getmain()))
    server.until(lambda: mains)
    while not mains[0].blocked:
        threading.Event().wait(0.001)  # it is about to wait for its next job
    with raises(RuntimeError, "You cannot remove a blocked tasklet."):
        mains[0].remove()
