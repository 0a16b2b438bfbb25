"""A tasklet that has ended can be bound and run again."""

import loomlet.compat.stackless as stackless


def test_bound_anew(mode):
    """Spec 1, re-use: the same object runs another function after its end."""
    log = []
    task = stackless.tasklet(log.append)(1)
    stackless.run()
    task.bind(log.extend)
    task([2, 3])
    stackless.run()
    assert log == [1, 2, 3]


def test_many_times(mode):
    """Spec 1, re-use: any number of times, even after an error and after a kill."""
    log, task = [], stackless.tasklet()
    ch = stackless.channel()

    def fails():
        raise KeyError

    for n in range(20):
        task.bind(fails)()
        try:
            stackless.run()
        except KeyError:
            log.append("failed")
        task.bind(ch.receive)()
        stackless.run()
        task.kill()
        task.bind(log.append, (n,)).insert()
        stackless.run()
    assert log == [entry for n in range(20) for entry in ("failed", n)]
