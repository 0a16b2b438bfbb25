"""Ten thousand Stackless tasklets, channels and bombs, ended in every way, leave nothing behind."""

import threading
import warnings

import pytest

import loomlet.compat.stackless as stackless
from loomlet.testing import assert_no_leaks

COUNT = 10_000
BATCH = 500


class Thing:
    """Is seen by the collector, in a cycle of its own."""

    def __init__(self):
        self.me = self


def wait(ch, thing):
    local = [thing]
    ch.receive()
    return local


def pause(thing):
    local = [thing]
    stackless.schedule_remove()
    return local


def fail(thing):
    raise ValueError(thing)


def run_all():
    """Runs until nothing is left to run, and ignores the exceptions of tasklets."""
    while True:
        try:
            return stackless.run()
        except ValueError:
            pass


def ended():
    for _ in range(BATCH):
        stackless.tasklet(Thing)()
    run_all()


def ended_by_an_exception():
    for _ in range(BATCH):
        stackless.tasklet(fail)(Thing())
    run_all()


def killed_while_blocked():
    ch = stackless.channel()
    tasks = [stackless.tasklet(wait)(ch, Thing()) for _ in range(BATCH)]
    run_all()
    for task in tasks:
        task.kill()
    assert ch.balance == 0


def killed_before_it_began():
    for _ in range(BATCH):
        stackless.tasklet(pause)(Thing()).kill()


def killed_later():
    tasks = [stackless.tasklet(pause)(Thing()) for _ in range(BATCH)]
    run_all()
    for task in tasks:
        task.kill(pending=True)
    run_all()


def thrown_into():
    tasks = [stackless.tasklet(pause)(Thing()) for _ in range(BATCH)]
    run_all()
    for task in tasks:
        task.throw(ValueError, Thing(), pending=True)
    run_all()


def paused_and_dropped():
    for _ in range(BATCH):
        stackless.tasklet(pause)(Thing())
    run_all()


def bound_and_dropped():
    for _ in range(BATCH):
        stackless.tasklet(pause, (Thing(),))
        stackless.tasklet(pause)


def bound_again():
    task = stackless.tasklet(pause)
    for _ in range(BATCH):
        task.bind(pause, (Thing(),))
        task.insert()
        run_all()
        if task.restorable:
            task.bind(pause)
        else:
            task.kill()


def removed_and_dropped():
    for _ in range(BATCH):
        stackless.tasklet(pause)(Thing()).remove()


def left_in_a_lost_channel():
    ch = stackless.channel()
    for _ in range(BATCH):
        stackless.tasklet(wait)(ch, Thing())
    run_all()


def left_in_a_channel_made_later():
    tasks = [stackless.tasklet() for _ in range(BATCH)]
    ch = stackless.channel()
    for task in tasks:
        task.bind(wait, (ch, Thing())).insert()
    run_all()
    assert ch.balance == -BATCH


def left_with_its_value():
    ch = stackless.channel()
    for _ in range(BATCH):
        stackless.tasklet(ch.send)(Thing())
    run_all()


def bombs():
    ch = stackless.channel()

    def receive():
        for _ in range(BATCH):
            with pytest.raises(ValueError):
                ch.receive()

    stackless.tasklet(receive)()
    run_all()
    for n in range(BATCH):
        stackless.bomb(ValueError, ValueError(Thing()))
        if n % 2:
            ch.send_exception(ValueError, Thing())
        else:
            ch.send(stackless.bomb(ValueError, ValueError(Thing())))


def bombs_in_the_slot():
    for _ in range(BATCH):
        task = stackless.tasklet(pause)(Thing())
        task.run()
        task.tempval = stackless.bomb(ValueError, ValueError(Thing()))
        task.insert()
    run_all()


def values_in_the_slot():
    for _ in range(BATCH):
        task = stackless.tasklet(pause)(Thing())
        task.run()
        task.tempval = Thing()


def with_callbacks_set():
    stackless.set_schedule_callback(lambda _before, _after: None)
    stackless.set_channel_callback(lambda _ch, _task, _sending, _waits: None)
    ch = stackless.channel()
    for _ in range(BATCH):
        stackless.tasklet(wait)(ch, Thing())
        stackless.tasklet(ch.send)(Thing())
    run_all()
    stackless.set_schedule_callback(None)
    stackless.set_channel_callback(None)


def handled():
    stackless.set_error_handler(lambda *_error: None)
    ended_by_an_exception()
    stackless.set_error_handler(None)


def spin(thing):
    while thing is not None:
        pass


def interrupted_and_killed():
    for _ in range(BATCH // 10):
        stackless.tasklet(spin)(Thing())
        stackless.run(100).kill()


def in_a_thread(func):
    thread = threading.Thread(target=func)
    thread.start()
    thread.join()


def left_by_a_thread():
    kept = []

    def body():
        ch = stackless.channel()
        for _ in range(BATCH // 5):
            kept.append(stackless.tasklet(pause, (Thing(),)))
            kept.append(stackless.tasklet(pause)(Thing()))
            kept.append(stackless.tasklet(wait)(ch, Thing()))
        run_all()
        kept.append(stackless.tasklet(pause)(Thing()))

    in_a_thread(body)
    assert {task.thread_id for task in kept} <= {-1}


def adopted_from_a_thread():
    kept = []
    in_a_thread(lambda: kept.extend(stackless.tasklet(Thing, ()) for _ in range(BATCH)))
    for task in kept:
        task.bind_thread()
        task.insert()
    run_all()


def woken_after_their_thread():
    ch = stackless.channel()

    def body():
        for _ in range(BATCH // 5):
            stackless.tasklet(wait)(ch, Thing())
        run_all()

    in_a_thread(body)
    while ch.balance < 0:
        ch.send(Thing())


def disturbed_after_their_thread():
    kept = []

    def body():
        kept.extend(stackless.tasklet(pause)(Thing()) for _ in range(BATCH // 5))
        run_all()

    in_a_thread(body)
    for task in kept:
        with pytest.raises(RuntimeError):
            task.insert()
        with pytest.raises(RuntimeError):
            task.throw(ValueError, Thing())
        task.kill()


WAYS = (
    *(ended, ended_by_an_exception, killed_while_blocked, killed_before_it_began, killed_later),
    *(thrown_into, paused_and_dropped, bound_and_dropped, bound_again, removed_and_dropped),
    *(left_in_a_lost_channel, left_in_a_channel_made_later, left_with_its_value),
    *(bombs, bombs_in_the_slot, values_in_the_slot),
    *(with_callbacks_set, handled, interrupted_and_killed, left_by_a_thread, adopted_from_a_thread),
    *(woken_after_their_thread, disturbed_after_their_thread),
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nothing_is_left(way, mode):
    """No object, no tasklet, no memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for _ in range(4):
            way()
        with assert_no_leaks():
            for _ in range(COUNT // BATCH):
                way()
