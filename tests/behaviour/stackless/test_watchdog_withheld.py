"""When an interruption has to wait: atomic, a trap, callbacks, C code in between."""

import pytest

import loomlet.compat.stackless as stackless


def spin(rounds=10_000):
    for _ in range(rounds):
        pass


def test_atomic():
    """Spec 6, withheld: while the tasklet is atomic; afterwards it comes at once."""
    log = []

    def body():
        stackless.getcurrent().set_atomic(True)
        spin()
        log.append("atomic")
        stackless.getcurrent().set_atomic(False)
        spin()
        log.append("later")

    task = stackless.tasklet(body)()
    assert stackless.run(100) is task
    assert log == ["atomic"]
    assert stackless.run() is None
    task.insert()
    stackless.run()
    assert log == ["atomic", "later"]


def test_the_trap():
    """Spec 6, withheld: while switching is trapped."""
    log = []

    def body():
        stackless.switch_trap(1)
        spin()
        log.append("trapped")
        stackless.switch_trap(-1)
        spin()
        log.append("later")

    task = stackless.tasklet(body)()
    assert stackless.run(100) is task
    assert log == ["trapped"]
    task.kill()


def test_callbacks():
    """Spec 6, withheld: inside the schedule callback."""
    log = []

    def callback(prev, following):
        spin()
        log.append("callback")

    def body():
        spin(50_000)
        log.append("end")

    task = stackless.tasklet(body)()
    stackless.set_schedule_callback(callback)
    found = stackless.run(100)
    stackless.set_schedule_callback(None)
    assert found is task
    assert log == ["callback", "callback"]
    task.kill()


def test_channel_callbacks():
    """Spec 6, withheld: inside the channel callback."""
    ch, log = stackless.channel(), []

    def callback(*args):
        spin()
        log.append("callback")

    def body():
        ch.receive()
        spin()
        log.append("later")

    receiver = stackless.tasklet(ch.receive)()
    stackless.run()
    task = stackless.tasklet(lambda: [ch.send(None), spin(), log.append("later")])()
    stackless.set_channel_callback(callback)
    found = stackless.run(100)
    stackless.set_channel_callback(None)
    assert found in (task, receiver)
    assert log == ["callback"]
    task.kill()


def test_the_error_handler():
    """Spec 6, withheld: inside the error handler; the tasklet has ended then."""
    log = []

    def handler(*args):
        spin()
        log.append("handled")

    def fails():
        raise KeyError

    stackless.tasklet(fails)()
    stackless.set_error_handler(handler)
    found = stackless.run(100)
    stackless.set_error_handler(None)
    assert found is None
    assert log == ["handled"]


def below_c(log):
    stackless._test_nostacklesscall(spin)
    log.append("C code has ended")
    spin()
    log.append("later")


def test_c_code_in_between():
    """Spec 6, ignore_nesting: below a C call no tasklet is interrupted, only after it."""
    log = []
    task = stackless.tasklet(below_c)(log)
    assert stackless.run(100) is task
    assert log[:1] == ["C code has ended"] or log == []
    task.kill()


def test_c_code_in_between_is_not_interrupted_inside():
    """Spec 6, ignore_nesting: without it, the loop below the C call runs to its end."""
    log = []

    def inner():
        spin()
        log.append("inner ended")

    task = stackless.tasklet(stackless._test_nostacklesscall)(inner)
    stackless.run(100)
    assert log == ["inner ended"]
    task.kill()


@pytest.mark.parametrize("how", ["run", "tasklet"])
def test_ignore_nesting(how):
    """Spec 6, ignore_nesting: a flag of run() or of the tasklet lets it be interrupted there."""
    log = []

    def inner():
        spin(100_000)
        log.append("inner ended")

    task = stackless.tasklet(stackless._test_nostacklesscall)(inner)
    if how == "tasklet":
        task.set_ignore_nesting(True)
    assert stackless.run(100, ignore_nesting=how == "run") is task
    assert log == []
    assert task.paused
    assert task.nesting_level > 0
    task.insert()
    stackless.run()
    assert log == ["inner ended"]
