"""loomlet.heap.stats() counts what tasklets have, and trim() gives back what nobody has."""

import gc
import sys
import threading

import loomlet
from loomlet import Channel, _core, heap

FREE = not getattr(sys, "_is_gil_enabled", lambda: True)()


def waits(gate):
    gate.receive()


def waits_below(gate, depth):
    if depth:
        waits_below(gate, depth - 1)
    else:
        gate.receive()


def start(count, *call):
    tasklets = [loomlet.spawn(*call) for _ in range(count)]
    loomlet.schedule()
    return tasklets


def end(gate, tasklets):
    for _ in tasklets:
        gate.send(None)
    for tasklet in tasklets:
        tasklet.join()


def first_chunks(stats):
    return sum(stats["chunks"].values()) + stats["large_chunks"]


def test_each_tasklet_has_a_first_chunk(mode):
    """From its creation to its end, whether it has begun or not."""
    gate, before = Channel(), first_chunks(heap.stats())
    tasklets = start(100, waits, gate)
    assert first_chunks(heap.stats()) == before + 100
    tasklets.append(loomlet.spawn(waits, gate))
    assert first_chunks(heap.stats()) == before + 101
    loomlet.schedule()
    end(gate, tasklets)
    assert first_chunks(heap.stats()) == before


def test_a_function_with_a_large_frame_has_a_large_chunk():
    """That of the C library, above 8192 bytes."""
    names = ", ".join(f"v{n}" for n in range(1100))
    space = {}
    exec(f"def large(gate):\n    {names} = range(1100)\n    gate.receive()", space)
    gate, before = Channel(), heap.stats()
    tasklets = start(3, space["large"], gate)
    now = heap.stats()
    assert now["large_chunks"] == before["large_chunks"] + 3
    assert now["large_chunk_bytes"] >= before["large_chunk_bytes"] + 3 * 8192
    end(gate, tasklets)
    assert heap.stats()["large_chunk_bytes"] == before["large_chunk_bytes"]


def test_bytes_are_those_of_the_chunks():
    """In use, and from the system."""
    gate = Channel()
    tasklets = start(1000, waits, gate)
    stats = heap.stats()
    assert stats["chunk_bytes"] == sum(size * n for size, n in stats["chunks"].items())
    assert stats["slab_bytes"] >= stats["chunk_bytes"] >= 1000 * 256
    end(gate, tasklets)


def test_deep_calls_take_blocks():
    """One for each tasklet at least, until it has ended."""
    gate = Channel()
    end(gate, start(10, waits_below, gate, 200))  # main may take one for that, which it keeps
    before = heap.stats()["blocks"]
    tasklets = start(10, waits_below, gate, 200)
    assert heap.stats()["blocks"] >= before + 10
    end(gate, tasklets)
    assert heap.stats()["blocks"] == before


def test_a_tasklet_that_is_switched_hard_has_a_stack():
    """While it waits it is not a spare one."""
    _core.soft(False)
    gate = Channel()
    in_use = heap.stats()["stacks"] - heap.stats()["spare_stacks"]
    tasklets = start(50, waits, gate)
    now = heap.stats()
    assert now["stacks"] - now["spare_stacks"] >= in_use + 50
    assert now["stacks_made"] >= now["stacks"]
    end(gate, tasklets)
    now = heap.stats()
    assert now["stacks"] - now["spare_stacks"] <= in_use + 1


def test_what_nobody_has_is_given_back():
    """Spare stacks of this thread, spare blocks, and the slabs that are free."""
    gate = Channel()
    deep = start(30, waits_below, gate, 200)
    _core.soft(False)
    hard = start(30, waits, gate)
    end(gate, deep + hard)
    assert heap.stats()["spare_blocks"] > 0
    assert heap.stats()["spare_stacks"] > 0
    gc.collect()
    heap.trim()
    now = heap.stats()
    assert now["spare_blocks"] == 0
    assert now["spare_stacks"] == 0
    assert now["slab_bytes"] <= 65536 * sum(count > 0 for count in now["chunks"].values()) * (
        16 if FREE else 1
    )
    assert loomlet.spawn(sum, [1, 2]).result() == 3


def test_a_tasklet_may_trim(mode):
    """It runs on a stack that is not a spare one."""

    def body():
        heap.trim()
        loomlet.schedule()
        return sorted([3, 1, 2], key=lambda n: heap.trim() or loomlet.schedule() or n)

    assert [loomlet.spawn(body).result() for _ in range(3)] == [[1, 2, 3]] * 3


def test_any_thread_may_ask():
    """The pools are those of the process."""
    gate, found = Channel(), []
    before = first_chunks(heap.stats())
    tasklets = start(10, waits, gate)

    def ask():
        found.append(heap.stats())
        heap.trim()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert before + 10 <= first_chunks(found[0]) <= before + 11
    end(gate, tasklets)


def test_threads_take_and_give_beside_each_other():
    """A tasklet that one thread made may end in another; the counts are right in the end."""
    before, passed = first_chunks(heap.stats()), Channel(100)

    def run():
        gate = Channel()
        for _ in range(20):
            tasklets = start(50, waits, gate)
            passed.send(tasklets[0])
            end(gate, tasklets)

    threads = [threading.Thread(target=loomlet.run, args=(run,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(4 * 20):
        passed.receive().join()
    for thread in threads:
        thread.join()
    gc.collect()
    assert first_chunks(heap.stats()) <= before + 1
