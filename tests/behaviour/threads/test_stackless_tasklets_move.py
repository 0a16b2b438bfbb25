"""A Stackless tasklet has one owner thread at a time, whatever threads do to it at once."""

import os
import threading

import pytest

import loomlet
import loomlet.compat.stackless as stackless


class Far:
    """A thread with a scheduler, which does one thing at a time for us."""

    def __init__(self):
        self.todo, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.thread = threading.Thread(target=self._main, daemon=True)
        self.thread.start()

    def _main(self):
        while self.todo.acquire() and self.job is not None:
            self.value = self.job()
            self.done.release()

    def begin(self, job):
        self.job = job
        self.todo.release()

    def end(self):
        assert self.done.acquire(timeout=60)
        return self.value

    def do(self, job):
        self.begin(job)
        return self.end()

    def stop(self):
        self.begin(None)
        self.thread.join(60)


@pytest.fixture
def far():
    made = Far()
    yield made
    made.stop()


def note(log, *args):
    log.append((threading.get_ident(), *args))


def receive(log, ch):
    note(log, ch.receive())


def test_a_tasklet_that_waits_in_a_channel(far):
    """It is woken on the thread that owns it by then."""
    log, ch = [], stackless.channel()
    task = far.do(lambda: (stackless.tasklet(receive)(log, ch), stackless.run())[0])
    if not task.restorable:
        pytest.skip("it keeps a C stack")
    task.bind_thread()
    far.do(lambda: ch.send("value"))
    stackless.run()
    assert log == [(threading.get_ident(), "value")]


def test_one_that_was_made_runnable_from_here(far):
    """It is runnable there at once and stays; removed again it can be moved, with its exception."""
    log = []
    tasks = far.do(lambda: [stackless.tasklet(note, (log, n)) for n in range(3)])
    tasks[0].insert()
    tasks[1].run()
    tasks[2].throw(KeyError, pending=True)
    for task in tasks:
        with pytest.raises(RuntimeError, match="runnable"):
            task.bind_thread()
        task.remove()
        task.bind_thread()
        task.insert()
    far.do(stackless.run)
    assert log == []
    with pytest.raises(KeyError):
        stackless.run()
    stackless.run()
    assert sorted(log) == [(threading.get_ident(), 0), (threading.get_ident(), 1)]


def test_messages_follow_a_native_one(far):
    """A request that its old thread had not yet handled is carried out on the new one."""
    log = []

    def paused():
        task = loomlet.spawn(note, log, "native")
        task.remove()
        return task

    def looks_at_nothing():
        os.write(inside[1], b"x")
        os.read(go[0], 1)

    task = far.do(paused)
    inside, go = os.pipe(), os.pipe()
    far.begin(looks_at_nothing)
    os.read(inside[0], 1)
    task.insert()
    task.bind_thread()
    os.write(go[1], b"x")
    far.end()
    far.do(lambda: [loomlet.schedule() for _ in range(100)])  # it looks at messages now and then
    while task.state != "done":
        loomlet.schedule()
    assert log == [(threading.get_ident(), "native")]
    for end in (*inside, *go):
        os.close(end)


def test_one_whose_thread_sleeps_in_it(far):
    """A thread that has nothing to do sleeps as the tasklet that waited last, with its C stack."""
    log, ch = [], stackless.channel()
    made = []

    def last():
        made.append(stackless.getcurrent())
        receive(log, ch)

    far.begin(last)
    while ch.balance == 0:
        threading.Event().wait(0.001)  # it is about to wait
    with pytest.raises(RuntimeError, match="tasklet has C state on its stack"):
        made[0].bind_thread()
    ch.send("value")
    far.end()
    assert log == [(far.thread.ident, "value")]


def test_arguments_that_run_it():
    """bind() looks again at the tasklet when its arguments have been taken apart."""
    log = []
    task = stackless.tasklet(note, (log, "old"))

    def arguments():
        task.insert()
        yield log

    with pytest.raises(RuntimeError, match="tasklet is scheduled"):
        task.bind(note, arguments())
    stackless.run()
    assert log == [(threading.get_ident(), "old")]


def test_a_destructor_that_begins_it():
    """While its frames are dropped a tasklet cannot be used again."""
    refused = []

    class Local:
        def __del__(self):
            try:
                task()
            except RuntimeError as error:
                refused.append(str(error))

    def body():
        local = Local()
        stackless.schedule_remove()
        return local

    task = stackless.tasklet(body)()
    stackless.run()
    if not task.restorable:
        task.kill()
        pytest.skip("it keeps a C stack")
    task.bind(body)
    assert refused == ["tasklet is alive"]


def test_a_detached_tasklet_that_is_killed_in_its_channel(far):
    """It leaves the queue: no sender can reach it any more."""
    log, ch = [], stackless.channel()
    task = far.do(lambda: (stackless.tasklet(receive)(log, ch), stackless.run())[0])
    far.stop()
    task.kill()
    assert (task.alive, ch.balance, log) == (False, 0, [])


def test_a_tasklet_that_sleeps_when_its_thread_ends(far):
    """Its thread's clock stops; it is killed as the native ones are."""
    log = []

    def body():
        try:
            loomlet.sleep(1000)
        finally:
            note(log)

    task = far.do(lambda: (stackless.tasklet(body)(), stackless.schedule())[0])
    ident = far.thread.ident
    far.stop()
    assert not task.alive
    assert log == [(ident,)]


def test_neighbours_of_the_next_tasklet():
    """In a schedule callback, what comes next is in no queue."""
    seen = []
    stackless.set_schedule_callback(lambda _before, after: seen.append((after.next, after.prev)))
    stackless.tasklet(int)()
    stackless.run()
    stackless.set_schedule_callback(None)
    assert (None, None) in seen
