"""The hand-over of locks, permits and items is needed as it is: with one mistake a model finds it.

A file of `src/core` is changed in one place, built with the models of `sync_world.c`, and the
models' tests run until one fails.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers_c_programs import CORE, HERE, call, compile_c

PRIMITIVES = ("lock", "queue", "gate", "semaphore", "condition", "rwlock", "event")
CODE = (*(f"sync/{name}" for name in PRIMITIVES), "sched/wake", "sched/inbox")
MODELS = ("sync_locks", "sync_queue", "sync_event", "sync_rwlock", "sync_condition")
LEFT_OUT = "a_lock_is_handed_over_in_the_order_of_arrival"
LONG = (
    "who_waits_for_a_queue_learns_that_it_is_shut",
    "items_and_room_are_handed_over_when_the_last_item_is_the_first",
    "readers_and_writers_are_let_in_in_the_order_of_arrival",
    "notifications_are_handed_over_in_the_order_of_arrival",
)
pytestmark = pytest.mark.stress

# What is changed: in which file, where, and into what.
MISTAKES = {
    "release_frees_a_lock_that_is_awaited": (
        "sync/lock.c",
        "y_lock_give(lock, next, y_depth_after_wait(next));",
        "lock->held = 0;",
    ),
    "release_keeps_a_lock_that_nobody_awaits": ("sync/lock.c", "        lock->held = 0;", ";"),
    "anybody_takes_a_held_lock": ("sync/lock.c", "if (lock->held)\n        return 0;", ""),
    "a_lock_taken_is_not_held": ("sync/gate.h", "    lock->held = 1;\n", ""),
    "a_lock_handed_to_a_dead_one_is_lost": (
        "sync/lock.c",
        "= {.name = \"acquire\", .refused = give_back_lock};",
        "= {.name = \"acquire\"};",
    ),
    "the_next_holder_is_not_woken": (
        "sync/lock.c",
        "    if (next != NULL)\n        y_let_hold(s, next);\n    return code;",
        "    return code;",
    ),
    "the_holder_is_not_noted": ("sync/gate.h", "    lock->holder = t->id;\n", ""),
    "the_last_waiter_is_the_first": (
        "sync/gate.h",
        "    b_link *first = b_first(waiters);\n",
        "    b_link *first = b_first(waiters) ? waiters->prev : NULL;\n",
    ),
    "a_waiter_comes_first": (
        "sched/types.h",
        "b_append(queue, &me->wait.link);",
        "b_prepend(queue, &me->wait.link);",
    ),
    "the_queue_is_joined_unseen": ("sched/types.h", "    me->queued = 1;\n", ""),
    "a_claimed_one_seems_queued": ("sched/types.h", "    t->queued = 0;\n", ""),
    "who_gives_up_stays_in_the_queue": (
        "sched/types.h",
        "    if (queued)\n        s_dequeue(&t->wait.link);\n    c_lock_give(lock);",
        "    c_lock_give(lock);",
    ),
    "who_passes_keeps_the_deadline": (
        "sched/wake.c",
        "    t->kind = NULL;\n    s_deadline_drop(s, t);\n    s_ready",
        "    t->kind = NULL;\n    s_ready",
    ),
    "a_deadline_ends_a_wait_that_is_over": (
        "sched/wake.c",
        "        if (t->kind->detach(t)) {\n            s_give",
        "        if (t->kind->detach(t), 1) {\n            s_give",
    ),
    "an_exception_ends_a_wait_that_is_over": (
        "sched/wake.c",
        "    if (detached != 1) {",
        "    if (t->state != S_BLOCKED) {",
    ),
    "a_kill_that_comes_too_soon_is_dropped": (
        "sched/wake.c",
        "            s_post_message(s, s_handle_throw, t, Py_NewRef(error));\n        Py_DECREF",
        "            ;\n        Py_DECREF",
    ),
    "a_kill_does_not_refuse_what_was_given": (
        "sched/wake.c",
        "    Py_XSETREF(t->error, error);\n    s_refuse(s, t);",
        "    Py_XSETREF(t->error, error);",
    ),
    "a_kill_here_does_not_refuse_what_was_given": (
        "sched/wake.c",
        "        s_refuse(s, t);\n        if (t->state == S_PAUSED) {",
        "        if (t->state == S_PAUSED) {",
    ),
    "what_was_given_is_forgotten_on_arrival": ("sched/wake.h", "    t->kind = given;\n", ""),
    "what_was_given_here_is_forgotten": (
        "sync/gate.h",
        "    if (here)\n        t->kind = given;\n",
        "",
    ),
    "items_are_refused_unheard": ("sched/wake.h", "|| kind->gives_items", ""),
    "the_sleeper_is_not_woken": (
        "sched/wake.c",
        "    if (owner != NULL)\n        s_wake_thread_later(owner);",
        "",
    ),
    "a_message_wakes_nobody": (
        "sched/inbox.c",
        "    s_wake_thread(to);\n    return S_OK;\n}\n\nint s_post_woken",
        "    return S_OK;\n}\n\nint s_post_woken",
    ),
    "the_inbox_looks_empty": (
        "sched/inbox.c",
        "        b_append(&to->woken, &t->wait.link);\n"
        "        __atomic_store_n(&to->has_messages, 1, __ATOMIC_SEQ_CST);",
        "        b_append(&to->woken, &t->wait.link);",
    ),
    "permits_pass_over_the_waiters": (
        "sync/semaphore.c",
        "permits > 0 && (at = b_first(&semaphore->gate.waiters)) != NULL",
        "(at = b_first(&semaphore->gate.waiters)) != NULL && 0",
    ),
    "a_permit_is_given_twice": (
        "sync/semaphore.c",
        "(at = b_first(&semaphore->gate.waiters)) != NULL; permits--)",
        "(at = b_first(&semaphore->gate.waiters)) != NULL;)",
    ),
    "a_permit_is_not_taken": ("sync/semaphore.c", "    semaphore->count--;\n", ""),
    "a_permit_given_to_a_dead_one_is_lost": (
        "sync/semaphore.c",
        "    y_semaphore_release(s, t->on, 1);\n",
        "(void)s, (void)t;",
    ),
    "an_item_is_put_into_a_full_queue": ("sync/queue.c", "queue->count >= queue->most", "0"),
    "an_item_passes_over_the_getters": (
        "sync/queue.c",
        "if ((*getter = y_claim_first(&queue->gate.waiters)) == NULL) {",
        "{",
    ),
    "an_item_is_handed_over_and_kept": (
        "sync/queue.c",
        "    if ((*getter = y_claim_first(&queue->gate.waiters)) == NULL) {\n"
        "        if (queue->count",
        "    *getter = y_claim_first(&queue->gate.waiters);\n    {\n        if (queue->count",
    ),
    "room_is_given_to_nobody": (
        "sync/queue.c",
        "    *putter = admit_putter(queue);\n    return 1;",
        "    return 1;",
    ),
    "who_has_put_is_not_woken": (
        "sync/queue.c",
        "    else if (putter != NULL)\n        let_go_on(s, putter);\n    return item;",
        "    return item;",
    ),
    "an_item_of_a_putter_stays_its_own": (
        "sync/queue.c",
        "    putter->wait.value = NULL;\n",
        "",
    ),
    "an_item_that_comes_back_is_dropped": (
        "sync/queue.c",
        "        code = return_item(queue, item);\n",
        "        Py_DECREF(item);\n",
    ),
    "an_item_that_comes_back_passes_over_the_getters": (
        "sync/queue.c",
        "    s_tasklet *next = y_claim_first(&queue->gate.waiters);\n",
        "    s_tasklet *next = NULL;\n",
    ),
    "a_put_after_the_end_is_kept": (
        "sync/queue.c",
        "    if (queue->shut)\n        return S_E_SHUT;\n",
        "",
    ),
    "getters_miss_the_end": (
        "sync/queue.c",
        "    claim_all(&queue->gate.waiters, &claimed);\n",
        "",
    ),
    "putters_miss_the_end": ("sync/queue.c", "    claim_all(&queue->putters, &claimed);\n", ""),
    "the_end_is_not_noted": ("sync/queue.c", "    queue->shut = 1;\n", ""),
    "the_end_says_nothing": (
        "sched/wake.c",
        "        Py_CLEAR(t->wait.value);\n        Py_XSETREF(t->error, error);\n"
        "        s_wake(s, t);\n    }\n}\n\nstatic int count",
        "        Py_CLEAR(t->wait.value);\n        Py_DECREF(error);\n"
        "        s_wake(s, t);\n    }\n}\n\nstatic int count",
    ),
    "who_is_notified_is_in_no_queue": (
        "sync/condition.c",
        "    b_append(&condition->lock->gate.waiters, first);\n",
        "",
    ),
    "who_is_notified_comes_first": (
        "sync/condition.c",
        "    b_append(&condition->lock->gate.waiters, first);\n",
        "    b_prepend(&condition->lock->gate.waiters, first);\n",
    ),
    "who_is_notified_is_not_told": ("sync/condition.c", "    mark_called(s_of_link(first));\n", ""),
    "the_last_to_wait_is_notified": (
        "sync/condition.c",
        "    b_link *first = b_first(&condition->gate.waiters);\n",
        "    b_link *first = b_first(&condition->gate.waiters);\n"
        "    first = first ? condition->gate.waiters.prev : NULL;\n",
    ),
    "notify_calls_one_too_many": (
        "sync/condition.c",
        "while (count > 0 && call_first",
        "while (count >= 0 && call_first",
    ),
    "notify_calls_nobody": (
        "sync/condition.c",
        "while (count > 0 && call_first",
        "while (count > 1 && call_first",
    ),
    "a_notification_ends_with_one_that_is_killed_in_the_queue": (
        "sync/condition.c",
        "        call_first(condition);\n        return 0;\n",
        "        return 0;\n",
    ),
    "a_notification_ends_with_one_that_is_killed_with_the_lock": (
        "sync/condition.c",
        "    if (y_condition_is_held(condition, t))\n        call_first(condition);\n",
        "",
    ),
    "a_kill_does_not_refuse_a_notification": (
        "sync/condition.c",
        ".refused = notify_next, ",
        "",
    ),
    "who_was_notified_is_late": ("sync/condition.c", "t->queued && !is_called(t)", "t->queued"),
    "a_late_one_is_never_late": (
        "sync/condition.c",
        "    int late = t->queued && !is_called(t);",
        "    int late = 0;",
    ),
    "a_late_one_stays_where_it_waits": (
        "sync/condition.c",
        "    s_dequeue(&t->wait.link);\n    return take_or_queue",
        "    return take_or_queue",
    ),
    "a_late_one_takes_the_lock_from_its_holder": (
        "sync/condition.c",
        "    if (lock->held) {\n        s_enqueue",
        "    if (0) {\n        s_enqueue",
    ),
    "a_late_one_is_not_woken": (
        "sync/condition.c",
        "        s_give(t, Py_False);\n        s_wake(s, t);\n",
        "        s_give(t, Py_False);\n",
    ),
    "a_late_one_seems_notified": (
        "sync/gate.h",
        "Py_NewRef(returns ? Py_False : Py_True)",
        "Py_NewRef(Py_True)",
    ),
    "a_killed_one_raises_nothing": (
        "sync/condition.c",
        "        t->error = Py_NewRef(error);\n",
        "",
    ),
    "a_killed_one_raises_without_the_lock": (
        "sync/condition.c",
        "detached = begin_return(condition, t) ? 1 : S_KEEPS_ERROR;",
        "detached = (begin_return(condition, t), s_dequeue(&t->wait.link), 1);",
    ),
    "a_wait_keeps_the_lock": (
        "sync/condition.c",
        "s_tasklet *next = y_lock_leave(condition->lock, me);",
        "s_tasklet *next = NULL;",
    ),
    "a_wait_wakes_nobody_for_the_lock": (
        "sync/condition.c",
        "    if (next != NULL)\n        y_let_hold(s, next);\n    PyObject *done",
        "    PyObject *done",
    ),
    "a_wait_forgets_how_often_the_lock_was_taken": (
        "sync/condition.c",
        "    if (depth <= 1)\n",
        "    if (depth <= 2)\n",
    ),
    "one_that_took_it_twice_is_not_told": (
        "sync/condition.c",
        "PyLong_FromLong(-PyLong_AsLong(t->wait.value))",
        "PyLong_FromLong(PyLong_AsLong(t->wait.value))",
    ),
    "a_late_one_gets_a_lock_once_that_it_took_twice": (
        "sync/condition.c",
        "    y_lock_give(lock, t, y_depth_after_wait(t));\n    return 1;",
        "    y_lock_give(lock, t, 1);\n    return 1;",
    ),
    "readers_overtake_those_who_wait": (
        "sync/rwlock.c",
        "return b_list_empty(&gate->waiters) && begin_reading",
        "return begin_reading",
    ),
    "a_reader_enters_beside_a_writer": (
        "sync/rwlock.c",
        "    if (lock->writes)\n        return 0;\n",
        "",
    ),
    "a_writer_enters_beside_readers": (
        "sync/rwlock.c",
        "if (lock->writes || lock->readers > 0)",
        "if (lock->writes)",
    ),
    "a_writer_enters_beside_a_writer": (
        "sync/rwlock.c",
        "if (lock->writes || lock->readers > 0)",
        "if (lock->readers > 0)",
    ),
    "a_writer_never_leaves": ("sync/rwlock.c", "        lock->writes = 0;\n", "        ;\n"),
    "a_reader_never_leaves": ("sync/rwlock.c", "        lock->readers--;\n", "        ;\n"),
    "who_leaves_lets_nobody_in": (
        "sync/rwlock.c",
        "        lock->readers--;\n    admit_first(lock, &claimed);\n",
        "        lock->readers--;\n",
    ),
    "who_gives_up_lets_nobody_in": (
        "sync/rwlock.c",
        "        s_dequeue(&t->wait.link);\n    admit_first(lock, &claimed);\n",
        "        s_dequeue(&t->wait.link);\n",
    ),
    "readers_are_let_in_one_by_one": (
        "sync/rwlock.c",
        "        s_dequeue(at);\n    }",
        "        s_dequeue(at);\n        b_append(claimed, at);\n        return;\n    }",
    ),
    "all_that_wait_are_let_in_as_readers": (
        "sync/rwlock.c",
        "t->kind == &writing ? begin_writing(lock, t) : begin_reading(lock)",
        "begin_reading(lock)",
    ),
    "who_is_let_in_as_another_gives_up_is_not_woken": (
        "sync/rwlock.c",
        "    y_let_all_pass(t->owner, &claimed);\n    return left;",
        "    return left;",
    ),
    "who_is_let_in_is_not_woken": (
        "sync/rwlock.c",
        "    y_let_all_pass(s, &claimed);\n    return held",
        "    return held",
    ),
    "a_reader_that_is_killed_stays_inside": (
        "sync/rwlock.c",
        "= {.name = \"read\", .refused = give_back_reading};",
        "= {.name = \"read\"};",
    ),
    "a_writer_that_is_killed_stays_inside": (
        "sync/rwlock.c",
        "= {.name = \"write\", .refused = give_back_writing};",
        "= {.name = \"write\"};",
    ),
    "an_event_is_not_set": ("sync/event.c", "    event->is_set = 1;\n", ""),
    "an_event_is_not_cleared": ("sync/event.c", "    event->is_set = 0;\n", ""),
    "an_event_is_seen_by_one_only": (
        "sync/event.c",
        "        b_append(&claimed, at);\n",
        "        b_append(&claimed, at);\n        break;\n",
    ),
    "those_who_see_an_event_sleep_on": (
        "sync/event.c",
        "    s_wake_all(s, &claimed, Py_True);\n",
        "",
    ),
    "those_who_see_an_event_seem_late": (
        "sync/event.c",
        "s_wake_all(s, &claimed, Py_True)",
        "s_wake_all(s, &claimed, Py_False)",
    ),
    "who_waits_too_long_for_an_event_raises": ("sync/event.c", ", .late = Py_False", ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The models, compiled; none of their own code changes."""
    folder = tmp_path_factory.mktemp("models")
    objects = []
    for name in (*MODELS, "sync_world", "explore", "runner"):
        objects.append(str(folder / f"{name}.o"))
        compile_c(f"-I{HERE / 'pretend'}", "-c", str(HERE / f"{name}.c"), "-o", objects[-1])
    return objects


def build(models: list[str], folder: Path) -> Path:
    """The models with the code of `folder`, and what is not there of `src/core`."""
    program = folder / "model"
    code = [
        path if (path := folder / f"{name}.c").exists() else CORE / f"{name}.c" for name in CODE
    ]
    compile_c(
        *(f"-I{path}" for path in (HERE / "pretend", folder)),
        *(*models, *map(str, code), str(CORE / "plat" / "wait_linux.c")),
        *("-Wl,--wrap=realloc,--wrap=calloc,--wrap=s_post_woken", "-pthread", "-o", str(program)),
    )
    return program


def in_order(changed: str | None) -> list[str]:
    """The tests of the models: those that look at the changed file first, the long ones last."""
    tests = [
        (name in LONG, stem.removeprefix("sync_") not in str(changed), name)
        for stem in MODELS
        for name in re.findall(r"^TEST\((\w+)\)", (HERE / f"{stem}.c").read_text(), re.MULTILINE)
        if name != LEFT_OUT
    ]
    return [name for *_, name in sorted(tests, key=lambda test: test[:2])]


def first_failure(program: Path, changed: str | None = None) -> str | None:
    """The first test of the models that fails; the longest is left out."""
    return next((name for name in in_order(changed) if call(str(program), name).returncode), None)


def test_the_code_as_it_is_has_no_failure(models: list[str], tmp_path: Path) -> None:
    """The same build and the same tests: what fails below fails for the mistake."""
    assert first_failure(build(models, tmp_path)) is None


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_hand_over_is_found(mistake: str, models: list[str], tmp_path: Path) -> None:
    """One change of one place."""
    name, old, new = MISTAKES[mistake]
    text = (CORE / name).read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
    changed = tmp_path / name
    changed.parent.mkdir()
    changed.write_text(text.replace(old, new))
    found = first_failure(build(models, tmp_path), name)
    assert found is not None, "no test of the models fails"
