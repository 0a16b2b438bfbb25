"""loomlet.run() works in every thread, each with its own scheduler."""

import threading

import loomlet
from loomlet import Channel


def test_in_several_threads_at_once(mode):
    """Threads run their programs side by side without seeing each other's tasklets."""
    barrier = threading.Barrier(4)
    seen = {}

    def main(n):
        tasks = [loomlet.spawn(lambda: loomlet.schedule() or n) for _ in range(10)]
        barrier.wait()
        results = {task.result() for task in tasks}
        return results, len(loomlet._core.tasklets())

    def thread(n):
        seen[n] = loomlet.run(main, n)

    threads = [threading.Thread(target=thread, args=[n]) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert seen == {n: ({n}, 1) for n in range(4)}


def test_inside_a_tasklet_of_another_thread(mode):
    """A thread started by a tasklet is a thread like any other."""
    result = Channel(1)

    def body():
        thread = threading.Thread(target=lambda: result.send(loomlet.run(lambda: "thread")))
        thread.start()
        value = result.receive()
        thread.join()
        return value

    assert loomlet.run(lambda: loomlet.spawn(body).result()) == "thread"
