"""What happens to the tasklets of a thread that has ended."""

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


def test_a_soft_one_loses_its_thread(thread, soft):
    """Spec 9, a thread ends: it stays alive, without a thread, and can be adopted."""
    log = []

    def body():
        task = stackless.tasklet(wait)(log)
        stackless.run()
        return task

    task = thread(body).result()
    assert log == []
    assert task.alive
    assert task.thread_id == -1
    task.bind_thread()
    assert task.thread_id == threading.get_ident()
    task.run()
    assert log == ["continued", "finally"]


def test_thread_id_of_a_lost_one(lost):
    """Spec 9, a tasklet without a thread: thread_id is -1."""
    assert lost.thread_id == -1
    assert lost.alive


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
