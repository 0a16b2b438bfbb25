"""The hand-over of locks, permits and items is needed as it is: with one mistake a model finds it.

A file of `src/core` is changed in one place, built with the models of `sync_world.c`, and the
models' tests run until one fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers_c_programs import CORE, HERE, call, compile_c

CODE = ("sync/lock", "sync/queue", "sync/gate", "sync/semaphore", "sched/wake", "sched/inbox")
MODEL = ("sync_world", "sync_locks", "sync_queue", "explore", "runner")
LONG = (
    "a_lock_is_handed_over_in_the_order_of_arrival",
    "who_waits_for_a_queue_learns_that_it_is_shut",
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
}  # fmt: skip


def build(folder: Path) -> Path:
    """The models with the code of `folder`, and what is not there of `src/core`."""
    program = folder / "model"
    code = [
        path if (path := folder / f"{name}.c").exists() else CORE / f"{name}.c" for name in CODE
    ]
    sources = [*code, *(HERE / f"{name}.c" for name in MODEL), CORE / "plat" / "wait_linux.c"]
    compile_c(
        *(f"-I{path}" for path in (HERE / "pretend", folder)),
        *map(str, sources),
        *("-Wl,--wrap=realloc", "-Wl,--wrap=s_post_woken", "-pthread", "-o", str(program)),
    )
    return program


def first_failure(program: Path) -> str | None:
    """The first test of the models that fails; the first of the long ones is left out."""
    names = call(str(program), "--list").stdout.split()[::-1]  # those of locks first
    for name in sorted(names, key=LONG.__contains__):
        if name != LONG[0] and call(str(program), name).returncode:
            return name
    return None


def test_the_code_as_it_is_has_no_failure(tmp_path: Path) -> None:
    """The same build and the same tests: what fails below fails for the mistake."""
    assert first_failure(build(tmp_path)) is None


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_hand_over_is_found(mistake: str, tmp_path: Path) -> None:
    """One change of one place."""
    name, old, new = MISTAKES[mistake]
    text = (CORE / name).read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
    changed = tmp_path / name
    changed.parent.mkdir()
    changed.write_text(text.replace(old, new))
    found = first_failure(build(tmp_path))
    assert found is not None, "no test of the models fails"
