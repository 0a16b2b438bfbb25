"""Whether a switch is soft or hard shows in nesting_level and restorable, and nowhere else."""

import pytest

import loomlet.compat.stackless as stackless


def below_python(ch):
    ch.receive()


def below_c(ch):
    stackless._test_nostacklesscall(ch.receive)


def below_c_twice(ch):
    stackless._test_nostacklesscall(below_c, ch)


def blocked(body, ch):
    task = stackless.tasklet(body)(ch)
    stackless.run()
    assert task.blocked
    return task


def test_soft(soft):
    """Spec 1, soft and hard switches: no C frame in between, no nesting."""
    ch = stackless.channel()
    task = blocked(below_python, ch)
    assert task.nesting_level == 0
    assert task.restorable is True
    ch.send(None)


def test_hard():
    """Spec 1, soft and hard switches: a C frame in between keeps the C stack."""
    ch = stackless.channel()
    task = blocked(below_c, ch)
    assert task.nesting_level > 0
    assert task.restorable is False
    ch.send(None)


def test_nesting_level_counts():
    """Spec 3, tasklet.nesting_level: each C activation in between counts."""
    ch = stackless.channel()
    once, twice = blocked(below_c, ch), blocked(below_c_twice, ch)
    assert twice.nesting_level > once.nesting_level > 0
    ch.send(None)
    ch.send(None)


def spin():
    while True:
        pass


def counts(log):
    while True:
        for _ in range(1000):
            pass
        log.append(len(log))


def interrupted(*call):
    task = stackless.tasklet(call[0])(*call[1:])
    task.set_ignore_nesting(True)
    assert stackless.run(1000) is task
    return task


def test_of_a_preempted_tasklet(soft):
    """Spec 3, tasklet.nesting_level: a tasklet interrupted in its loop keeps no C stack."""
    task = interrupted(spin)
    assert task.nesting_level == 0
    assert task not in stackless.getuncollectables()
    task.kill()


def test_of_one_preempted_below_c():
    """Spec 3, tasklet.nesting_level: interrupted below C it keeps its stack, which counts."""
    task = interrupted(stackless._test_nostacklesscall, spin)
    assert task.nesting_level == 1
    assert task in stackless.getuncollectables()
    task.kill()


def test_restorable_of_a_preempted_tasklet(soft, thread):
    """Spec 3, tasklet.restorable: so it can be bound anew, or continue in another thread."""
    log = []
    task = interrupted(counts, log)
    assert task.restorable is True

    def adopt():
        task.bind_thread()
        task.insert()
        while len(log) < 5:
            stackless.run(1000)
            task.insert()
        task.remove()
        task.bind(None)

    thread(adopt).result()
    assert log[:5] == [0, 1, 2, 3, 4]
    assert not task.alive


def test_restorable_of_one_preempted_below_c(raises, thread):
    """Spec 3, tasklet.restorable: it is not below C, and so cannot be bound anew or moved."""
    task = interrupted(stackless._test_nostacklesscall, spin)
    assert task.restorable is False
    with raises(RuntimeError, "tasklet has C state on its stack"):
        task.bind(None)

    def adopt():
        with raises(RuntimeError, "tasklet has C state on its stack"):
            task.bind_thread()

    thread(adopt).result()
    task.kill()


def test_restorable_of_a_bound_tasklet():
    """Spec 3, tasklet.restorable: what has not started has no C state."""
    task = stackless.tasklet(print, ())
    assert task.restorable is True
    assert task.nesting_level == 0


def test_nesting_level_of_the_running_tasklet(mode):
    """Spec 3, tasklet.nesting_level: can be asked from inside."""
    seen = []

    def look():
        seen.append(stackless.getcurrent().nesting_level)

    def body():
        look()
        stackless._test_nostacklesscall(look)

    stackless.tasklet(body)()
    stackless.run()
    assert seen[1] > seen[0] >= 0


@pytest.mark.parametrize("body", [below_python, below_c])
def test_the_order_is_the_same(body, mode):
    """Spec 1, soft and hard switches: the semantics do not show which it was."""
    ch, log = stackless.channel(), []

    def receiver(name):
        body(ch)
        log.append(name)

    for name in "abc":
        stackless.tasklet(receiver)(name)
    stackless.run()
    for _ in range(3):
        ch.send(None)
        log.append("main")
    assert log == ["a", "main", "b", "main", "c", "main"]
