"""What happens to the tasklets of a thread that has ended."""

import gc
import sys
import threading

import pytest

import loomlet.compat.stackless as stackless


def wait(log):
    try:
        stackless.schedule_remove()
        log.append("continued")
    finally:
        log.append("finally")


@pytest.fixture
def lost(thread):
    """A bound tasklet whose thread has ended."""
    return thread(lambda: stackless.tasklet(print, ("ran",))).result()


def test_one_with_c_state_is_killed(thread):
    """Spec 9, a thread ends: its C stacks cannot outlive it."""
    log = []

    def body():
        task = stackless.tasklet(stackless._test_nostacklesscall)(wait, log)
        stackless.run()
        return task

    task = thread(body).result()
    assert log == ["finally"]
    assert not task.alive


def stopped(thread, func, *args):
    """A tasklet that has run until it removed itself, in a thread that has ended."""

    def body():
        task = stackless.tasklet(func)(*args)
        stackless.run()
        return task

    return thread(body).result()


def go_on_for_ever(log):
    """Catches what is to end it and keeps its C stack."""

    def key(value):
        try:
            stackless.schedule_remove()
        except TaskletExit:
            log.append("caught")
        stackless.schedule_remove()
        return value

    sorted([1], key=key)


def test_it_is_killed_there(thread):
    """Spec 9, a thread ends: TaskletExit is raised on that thread, beside a main of no one."""
    seen = []

    def body():
        try:
            stackless.schedule_remove()
        finally:
            main = stackless.getmain()
            seen.append((type(sys.exception()), threading.get_ident()))
            seen.append((main is not stackless.getcurrent(), main is not mains[0], main.alive))

    def run():
        mains.append(stackless.getmain())
        stackless.tasklet(stackless._test_nostacklesscall)(body)
        stackless.run()

    mains = []
    other = thread(run)
    other.result()
    assert seen == [(TaskletExit, other.id), (True, True, False)]


def test_one_that_goes_on_is_left_as_it_is(thread, raises):
    """Spec 9, a thread ends: not alive, not restorable, and with a C stack for ever."""
    log = []
    task = stopped(thread, go_on_for_ever, log)
    assert log == ["caught"]
    assert (task.alive, task.restorable, task.thread_id) == (False, False, -1)
    assert task.nesting_level > 0
    with raises(RuntimeError, "tasklet has C state on its stack"):
        task.bind(None)
    with raises(RuntimeError, "tasklet has no thread"):
        task.run()
    assert task.kill() is None
    del task
    gc.collect()


def test_a_soft_one_loses_its_thread(thread, soft):
    """Spec 9, a thread ends: it has no thread, is not alive, and can be adopted."""
    log = []

    def body():
        task = stackless.tasklet(wait)(log)
        stackless.run()
        return task

    task = thread(body).result()
    assert log == []
    assert (task.alive, task.paused, task.restorable) == (False, False, True)
    assert task.thread_id == -1
    task.bind_thread()
    assert task.alive
    assert task.thread_id == threading.get_ident()
    task.run()
    assert log == ["continued", "finally"]


def test_thread_id_of_a_lost_one(lost):
    """Spec 9, a tasklet without a thread: thread_id is -1."""
    assert lost.thread_id == -1
    assert not lost.alive


def test_run_of_a_lost_one(lost, raises):
    """Spec 9, a tasklet without a thread: it cannot be run."""
    with raises(RuntimeError, "tasklet has no thread"):
        lost.run()


def test_insert_of_a_lost_one(lost, raises):
    """Spec 9, a tasklet without a thread: nor inserted."""
    with raises(RuntimeError, "Target thread isn't initialized"):
        lost.insert()


def test_kill_of_a_lost_one(lost):
    """Spec 9, a tasklet without a thread: can be killed quietly."""
    assert lost.kill() is None
    assert not lost.alive


def test_throw_into_a_lost_one_later(lost, raises):
    """Spec 9, a tasklet without a thread: nothing can be raised in it later."""
    with raises(RuntimeError, "tasklet has no thread"):
        lost.throw(TaskletExit, pending=True)
    assert lost.thread_id == -1


def test_kill_of_a_lost_one_later(lost):
    """Spec 9, a tasklet without a thread: kill(pending=True) brings a fresh one here."""
    assert lost.kill(pending=True) is None
    assert (lost.alive, lost.scheduled) == (True, True)
    assert lost.thread_id == threading.get_ident()
    stackless.run()
    assert not lost.alive


def test_kill_of_a_soft_lost_one_later(thread, soft):
    """Spec 9, a tasklet without a thread: a soft one too, off its channel, and it ends here."""
    ch, log = stackless.channel(), []

    def body():
        try:
            ch.receive()
        finally:
            log.append(threading.get_ident())

    task = stopped(thread, body)
    assert task.blocked
    task.kill(pending=True)
    assert (task.alive, task.blocked, task.scheduled) == (True, False, True)
    assert ch.balance == 0
    stackless.run()
    assert log == [threading.get_ident()]


def test_kill_of_a_hard_lost_one_later(thread):
    """Spec 9, a tasklet without a thread: one with a C stack only leaves its channel."""
    ch = stackless.channel()

    def body():
        while True:
            try:
                ch.receive()
            except TaskletExit:
                pass

    task = stopped(thread, stackless._test_nostacklesscall, body)
    assert (task.blocked, ch.balance) == (True, -1)
    assert task.kill(pending=True) is None
    assert (task.alive, task.blocked, task.scheduled) == (False, False, False)
    assert (task.thread_id, ch.balance) == (-1, 0)


def test_one_that_was_removed(thread, capsys):
    """Spec 9, a tasklet without a thread: not alive, unless it was adopted in time."""

    def body():
        tasks = [stackless.tasklet(print)(name) for name in ("late", "in time")]
        for task in tasks:
            task.remove()
        removed.extend(tasks)
        ready.set()
        assert go.wait(60)

    removed, ready, go = [], threading.Event(), threading.Event()
    other = thread(body)
    assert ready.wait(60)
    late, in_time = removed
    in_time.bind_thread(threading.get_ident())
    go.set()
    other.result()
    assert (late.alive, in_time.alive) == (False, True)
    in_time.insert()
    stackless.run()
    assert capsys.readouterr().out == "in time\n"


def test_adopting_a_lost_one(lost, capsys):
    """Spec 9, a tasklet without a thread: bind_thread() gives it one."""
    lost.bind_thread()
    lost.insert()
    stackless.run()
    assert capsys.readouterr().out == "ran\n"


def test_daemon_threads_end_with_the_interpreter(python):
    """Spec 9, the interpreter exits: daemon threads end at their next switch; nothing hangs."""
    done = python("""
        import threading
        import loomlet.compat.stackless as stackless
        ready = threading.Event()
        def spin():
            ready.set()
            while True:
                stackless.schedule()
        def body():
            for _ in range(2):
                stackless.tasklet(spin)()
            stackless.run()
        threading.Thread(target=body, daemon=True).start()
        ready.wait(60)
        print("end")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("action", ["insert", "run"])
@pytest.mark.parametrize("daemon", [True, False])
def test_one_that_was_rebound_and_started_from_elsewhere(action, daemon, python):
    """Spec 9, the interpreter exits: a tasklet that was bound to another thread, and put into its
    queue from here, runs there and keeps nobody."""
    done = python(f"""
        import threading
        import loomlet.compat.stackless as stackless
        ch, done = stackless.channel(), threading.Event()
        def body():
            print(ch.receive())
            done.set()
            if {daemon}:
                ch.receive()
        other = threading.Thread(target=body, daemon={daemon})
        other.start()
        while ch.balance == 0:
            threading.Event().wait(0.001)
        tasks = [stackless.tasklet(f, ()) for f in (lambda: ch.send("sent"), ch.receive)]
        for task in tasks[:1 + {daemon}]:
            task.bind_thread(other.ident)
            assert task.thread_id == other.ident
            task.{action}()
        assert done.wait(60)
        if not {daemon}:
            other.join()
        print("end")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "sent\nend\n", "")


def test_a_daemon_thread_that_sleeps(python):
    """Spec 9, the interpreter exits: a thread that waits in a channel does not keep it."""
    done = python("""
        import threading
        import loomlet.compat.stackless as stackless
        ch = stackless.channel()
        threading.Thread(target=ch.receive, daemon=True).start()
        while ch.balance == 0:
            threading.Event().wait(0.001)
        print("end")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
