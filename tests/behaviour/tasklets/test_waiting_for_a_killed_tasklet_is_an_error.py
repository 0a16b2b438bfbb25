"""TaskletExit stays inside the tasklet that it ends; what waits for that one gets TaskletKilled."""

import os
import pickle
import threading

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel, TaskGroup, TaskletExit, TaskletKilled, spawn


def killed(how="kill"):
    """A tasklet that this function has killed, while it waited."""
    task = spawn(Channel().receive)
    loomlet.schedule()
    if how == "kill":
        task.kill()
    else:
        task.throw(TaskletExit)
    return task


@pytest.mark.parametrize("how", ["kill", "throw"])
def test_the_error_names_the_tasklet_and_the_line(mode, how):
    """An ordinary exception, caused by the TaskletExit with the victim's own traceback."""
    task = killed(how)
    line = killed.__code__.co_firstlineno + (5 if how == "kill" else 7)
    for wait in (task.join, task.result):
        with pytest.raises(TaskletKilled) as info:
            wait()
        error = info.value
        assert isinstance(error, Exception)
        assert isinstance(error, loomlet.TaskletError)
        assert error.tasklet == task.name
        assert error.reason == f"killed by main at {__file__}:{line} in killed"
        assert str(error) == f"tasklet {task.name} was {error.reason}; it has no result"
        assert type(error.__cause__) is TaskletExit


def test_a_tasklet_that_waits_is_woken_with_it(mode, caught):
    """Also when it waited before the kill; the killer may be any tasklet."""
    victim = spawn(Channel().receive)
    waiters = [caught(victim.join), caught(victim.result)]
    loomlet.schedule()
    killer = spawn(victim.kill)
    killer.name = "killer"
    for waiter in waiters:
        error = waiter.result()
        assert type(error) is TaskletKilled
        assert error.tasklet == victim.name
        assert error.reason.startswith("killed by killer")


def test_a_waiter_that_does_not_catch_it_fails_aloud(mode, failures):
    """It reaches the error handler like any failure."""
    task = killed()
    waiter = spawn(task.result)
    loomlet.schedule()
    [(failed, error)] = failures
    failures.clear()
    assert failed is waiter
    assert type(error) is TaskletKilled


def test_a_program_does_not_end_in_silence(python):
    """The main function of run(), the case that ended with status 0 and no line."""
    done = python("""
        import loomlet

        def main():
            task = loomlet.spawn(loomlet.sleep, 60)
            loomlet.schedule()
            task.kill()
            return task.result()

        print(loomlet.run(main))
    """)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "TaskletKilled: tasklet tasklet-" in done.stderr.replace(
        "builtin_function_or_method", "tasklet"
    )
    assert "killed by main at <string>:7 in main" in done.stderr


def test_a_killed_main_function_is_an_error_of_run(mode):
    """The caller of run() waits for main."""

    def main():
        spawn(loomlet.current().kill)
        Channel().receive()

    with pytest.raises(TaskletKilled, match="tasklet main was killed by") as info:
        loomlet.run(main)
    assert type(info.value.__cause__) is TaskletExit


def test_main_may_still_end_the_program_by_a_taskletexit_of_its_own(mode):
    """As with SystemExit: nothing has killed it."""

    def main():
        raise TaskletExit

    with pytest.raises(TaskletExit):
        loomlet.run(main)


def test_a_tasklet_that_ends_itself(mode):
    """The text says so."""

    def leave():
        raise TaskletExit

    with pytest.raises(TaskletKilled, match="was ended by a TaskletExit that it raised itself"):
        spawn(leave).join()


def test_a_cancelled_tasklet_is_an_error_for_others(mode):
    """Cancelled belongs to the scope that was cancelled; code outside of it gets an Exception."""

    def child():
        with CancelScope() as scope:
            scope.cancel()
            raise Cancelled from None

    with TaskGroup() as group:
        task = group.spawn(loomlet.sleep, 60)
        loomlet.schedule()
        group.cancel()
    with pytest.raises(TaskletKilled, match="was cancelled with its scope"):
        task.result()


def test_inside_the_cancelled_scope_it_is_cancelled(mode):
    """There every operation raises Cancelled anyway, which the scope catches."""
    with TaskGroup() as group:
        task = group.spawn(loomlet.sleep, 60)
        loomlet.schedule()
        group.cancel()
        with CancelScope(shield=True):
            while task.state != "done":
                loomlet.schedule()
        with pytest.raises(Cancelled):
            task.join()


def test_it_pickles(mode):
    """With what it says."""
    with pytest.raises(TaskletKilled) as info:
        killed().join()
    again = pickle.loads(pickle.dumps(info.value))
    assert type(again) is TaskletKilled
    assert (str(again), again.tasklet, again.reason) == (
        str(info.value),
        info.value.tasklet,
        info.value.reason,
    )


def holds(error):
    loomlet.sleep(0.001)
    return error


@pytest.mark.skipif(
    not loomlet._core.SOFT_SUPPORTED or "switch" in os.environ.get("LOOMLET_TORTURE", ""),
    reason="freezing needs soft switching",
)
def test_it_freezes():
    """In a local variable of a frozen tasklet."""
    with pytest.raises(TaskletKilled) as info:
        killed().join()
    error = info.value.with_traceback(None)
    text, error.__cause__, error.__context__ = str(error), None, None
    task = spawn(holds, error)
    loomlet.schedule()
    again = loomlet.thaw(loomlet.freeze(task))
    task.kill()
    assert str(again.result()) == text


def test_a_kill_from_another_thread_names_its_line(mode):
    """The place is that of the caller of kill(), not of the message."""
    victim = spawn(Channel().receive)
    loomlet.schedule()

    def kill():
        victim.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(TaskletKilled, match=r"in .*kill; it has no result"):
        victim.join()
    thread.join()


# ---- groups


def test_a_child_killed_from_outside_fails_the_group(mode):
    """The others are cancelled, and the group says who killed what, once."""
    children = []

    def body():
        with TaskGroup() as group:
            children.append(group.spawn(Channel().receive))
            children.append(group.spawn(Channel().receive))
            children[0].join()

    owner = spawn(body)
    loomlet.schedule()
    loomlet.schedule()
    children[0].kill()
    with pytest.raises(ExceptionGroup) as info:
        owner.join()
    [error] = info.value.exceptions
    assert type(error) is TaskletKilled
    assert error.tasklet == children[0].name
    assert "test_a_child_killed_from_outside_fails_the_group" in error.reason
    assert children[1].state == "done"


@pytest.mark.parametrize("killer", ["body", "child", "itself"])
def test_a_child_killed_from_inside_does_not(mode, killer):
    """The group's own tasklets may end a child that is not needed any more."""
    with TaskGroup() as group:
        task = group.spawn(Channel().receive)
        if killer == "itself":
            group.spawn(lambda: loomlet.current().kill())
        loomlet.schedule()
        if killer == "child":
            group.spawn(task.kill)
        else:
            task.kill()
    assert not group.cancel_called
    assert task.state == "done"


def test_a_kill_that_the_child_survives_is_no_failure(mode):
    """It caught the TaskletExit and returned."""

    def child():
        try:
            Channel().receive()
        except TaskletExit:
            return "survived"

    tasks = []

    def body():
        with TaskGroup() as group:
            tasks.append(group.spawn(child))

    owner = spawn(body)
    loomlet.schedule()
    loomlet.schedule()
    tasks[0].kill()
    owner.join()
    assert tasks[0].result() == "survived"


def test_the_end_of_run_fails_no_group(mode, failures):
    """All tasklets end; those that wait for each other do so in silence."""
    ended = []

    def child():
        try:
            Channel().receive()
        finally:
            loomlet.schedule()

    def body():
        try:
            with TaskGroup() as group:
                group.spawn(child).join()
        except BaseException as error:
            ended.append(type(error))
            raise

    def main():
        spawn(body)
        for _ in range(3):
            loomlet.schedule()
        return "result"

    assert loomlet.run(main) == "result"
    assert ended == [TaskletExit]
    assert failures == []
