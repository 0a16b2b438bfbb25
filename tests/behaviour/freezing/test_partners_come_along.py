"""Joins, locks, scopes and groups: tied to each other again when both sides were frozen."""

import pytest
from helpers_frozen_tasklets import waiting

import loomlet
from loomlet import CancelScope, Channel, Lock, TaskGroup, _core, timeout
from loomlet.testing import virtual_clock


def receives(ch):
    return ch.receive()


def wants_result(other):
    return "result", other.result()


def again(*tasks, **options):
    """Frozen together, ended, thawed."""
    data = loomlet.freeze(tasks, **options)
    for task in reversed(tasks):
        task.kill()
    return loomlet.thaw(data)


def test_a_joiner_waits_for_the_copy():
    """And gets its result."""
    ch = Channel()
    target = waiting(receives, ch)
    thawed, joiner = again(target, waiting(wants_result, target))
    assert joiner.state == "blocked" and joiner.waiting_for is thawed
    thawed.waiting_for.send(7)
    assert joiner.result() == ("result", 7)


def test_with_partners_brings_the_joined_tasklet():
    """Though only the joiner was named."""
    target = waiting(receives, Channel())
    (joiner,) = again(waiting(wants_result, target), with_partners=True)
    joiner.waiting_for.waiting_for.send(8)
    assert joiner.result() == ("result", 8)
    target.kill()


def test_a_join_with_a_deadline_keeps_the_rest_of_it():
    """Five seconds of eight are left."""

    def patient(other):
        try:
            other.join(timeout=8)
        except TimeoutError:
            return loomlet.now()

    with virtual_clock() as clock:
        target = waiting(receives, Channel())
        joiner = waiting(patient, target)
        clock.advance(3)
        thawed, joiner = again(target, joiner)
        began = loomlet.now()
        assert joiner.result() == pytest.approx(began + 5)
        thawed.kill()


def holds(lock, ch):
    with lock:
        got = ch.receive()
    return got, lock.locked()


def test_a_lock_travels_with_its_holder():
    """It is another lock, held by the copy, and given back by it."""
    lock, ch = Lock(), Channel()
    (copy,) = again(waiting(holds, lock, ch))
    assert not lock.locked()
    copy.waiting_for.send(1)
    assert copy.result() == (1, False)


def test_a_waiter_gets_the_lock_after_the_holder():
    """Both were frozen; the order of waiting is kept."""
    lock, ch = Lock(), Channel()
    holder = waiting(holds, lock, ch)
    first, second = waiting(holds, lock, ch), waiting(holds, lock, ch)
    holder, first, second = again(holder, first, second)
    assert [task.waiting_in for task in (holder, first, second)] == ["receive"] + ["acquire"] * 2
    thawed = holder.waiting_for
    for number in range(3):
        thawed.send(number)
        loomlet.schedule()
    assert [task.result()[0] for task in (holder, first, second)] == [0, 1, 2]


def hurries(ch, seconds):
    began = loomlet.now()
    try:
        with timeout(seconds):
            return ch.receive()
    except TimeoutError:
        return "late", loomlet.now() - began


def test_a_timeout_keeps_its_remaining_time():
    """Seven of ten seconds."""
    with virtual_clock() as clock:
        task = waiting(hurries, Channel(), 10)
        clock.advance(3)
        (copy,) = again(task)
        began = loomlet.now()
        word, _ = copy.result()
        assert (word, loomlet.now() - began) == ("late", pytest.approx(7))


def test_a_timeout_that_is_not_over_does_nothing():
    """The block ends by itself."""
    with virtual_clock():
        (copy,) = again(waiting(hurries, Channel(), 10))
        copy.waiting_for.send("value")
        assert copy.result() == "value"


def nested(ch, log):
    with CancelScope() as outer:
        with CancelScope(shield=True) as inner:
            log.append(ch.receive())
            inner.cancel()
            try:
                ch.receive()
            finally:
                log.append("left")
        log.append(ch.receive())
        outer.cancel()
        ch.receive()
    return log, outer.cancelled_caught, inner.cancelled_caught


def test_scopes_inside_scopes():
    """In their order, with their flags."""
    (copy,) = again(waiting(nested, Channel(), []))
    ch = copy.waiting_for
    ch.send(1)
    ch.send(2)
    assert copy.result() == ([1, "left", 2], True, True)


def parent(ch):
    with TaskGroup() as group:
        for _ in range(2):
            group.spawn(receives, ch)
    return "all ended"


def test_a_group_comes_with_its_children():
    """It waits for the copies of them, and not for the first ones."""
    ch = Channel()
    task = waiting(parent, ch)
    loomlet.schedule()
    (copy,) = again(task, with_partners=True)
    assert copy.state == "blocked" and ch.balance == 0
    children = copy.waiting_for._children
    assert len(children) == 2
    for number, child in enumerate(children):
        child.waiting_for.send(number)
    assert copy.result() == "all ended"


def test_a_child_that_fails_ends_the_copy_of_its_group():
    """The children are its own."""
    task = waiting(parent, Channel())
    loomlet.schedule()
    (copy,) = again(task, with_partners=True)
    copy.waiting_for._children[0].throw(KeyError("child"))
    with pytest.raises(ExceptionGroup) as caught:
        copy.result()
    assert [type(error) for error in caught.value.exceptions] == [KeyError]


def test_a_group_is_not_frozen_without_its_children():
    """They are named."""
    task = waiting(parent, Channel())
    loomlet.schedule()
    with pytest.raises(
        loomlet.FreezeError, match=r"children that are not frozen with it: receives-"
    ):
        loomlet.freeze(task)
    task.kill()


def test_a_child_can_leave_its_group():
    """Frozen without its parent, it has no parent when it is thawed."""
    ch = Channel()
    task = waiting(parent, ch)
    loomlet.schedule()
    copy = loomlet.thaw(loomlet.freeze(task.waiting_for._children[0]))
    task.kill()
    copy.waiting_for.send(3)
    assert copy.result() == 3


def holds_scope(scope, ch):
    return ch.receive(), scope


def test_the_scope_of_another_is_refused_by_name():
    """Thawed, it would be separated from the tasklet inside it."""

    def outer(ch):
        with CancelScope() as scope:
            loomlet.spawn(holds_scope, scope, ch)
            ch.receive()

    ch = Channel()
    task = waiting(outer, ch)
    loomlet.schedule()
    inner = next(each for each in _core.tasklets() if "holds_scope" in each.name)
    with pytest.raises(loomlet.FreezeError, match=rf"belongs to {task.name}"):
        loomlet.freeze(inner)
    inner.kill()
    task.kill()


def test_a_clone_has_a_timeout_of_its_own():
    """Both have the time that is left."""
    with virtual_clock() as clock:
        task = waiting(hurries, Channel(), 10)
        clock.advance(4)
        copy = loomlet.clone(task)
        assert {task.result()[0], copy.result()[0]} == {"late"}
        assert loomlet.now() == pytest.approx(10)
