"""The run queue is a ring with the current tasklet as its head; new tasklets join at its tail."""

import loomlet.compat.stackless as stackless


def ring():
    """The run queue from the current tasklet on."""
    found = [stackless.getcurrent()]
    while found[-1].next is not found[0]:
        found.append(found[-1].next)
    return found


def test_alone():
    """Spec 1, run queue: the current tasklet is a member, so there is always one."""
    main = stackless.getcurrent()
    assert stackless.getruncount() == 1
    assert main.next is main
    assert main.prev is main


def test_insertion_is_at_the_tail():
    """Spec 1, run queue: new tasklets come in order, just before the current one in the ring."""
    main, log = stackless.getcurrent(), []
    tasks = [stackless.tasklet(log.append)(n) for n in range(3)]
    assert ring() == [main, *tasks]
    assert stackless.getruncount() == 4
    assert main.prev is tasks[2]
    stackless.run()
    assert log == [0, 1, 2]


def test_the_current_tasklet_is_the_head(mode):
    """Spec 1, run queue: when the next one runs, the ring has turned by one; its order stays."""
    main, seen = stackless.getcurrent(), []

    def look():
        seen.append(ring())

    a, b, c = (stackless.tasklet(look)() for _ in range(3))
    stackless.schedule()
    assert seen == [[a, b, c, main], [b, c, main], [c, main]]


def test_the_order_is_kept_round_after_round(mode):
    """Spec 1, run queue: tasklets that schedule take turns in the order of their arrival."""
    log = []

    def body(name):
        for n in range(3):
            log.append(f"{name}{n}")
            stackless.schedule()

    for name in "abc":
        stackless.tasklet(body)(name)
    stackless.run()
    assert log == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]
