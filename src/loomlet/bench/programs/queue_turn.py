"""Two threads take turns over two queues; prints ns for each turn.

    python queue_turn.py main|threads COUNT

`main`: the main thread and another one; `threads`: two others.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time

WARM = 100


def give(count: int, out: queue.Queue[None], back: queue.Queue[None]) -> None:
    """One side: puts first."""
    for _ in range(count):
        out.put(None)
        back.get()


def answer(count: int, out: queue.Queue[None], back: queue.Queue[None]) -> None:
    """The other side: gets first."""
    for _ in range(count):
        out.get()
        back.put(None)


def take_turns(who: str, count: int) -> float:
    """Seconds for so many rounds."""
    out: queue.Queue[None] = queue.Queue()
    back: queue.Queue[None] = queue.Queue()
    threads = [threading.Thread(target=answer, args=(count, out, back))]
    if who == "threads":
        threads.append(threading.Thread(target=give, args=(count, out, back)))
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    if who == "main":
        give(count, out, back)
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


if __name__ == "__main__":
    take_turns(sys.argv[1], WARM)
    rounds = int(sys.argv[2])
    each = take_turns(sys.argv[1], rounds) * 1e9 / rounds / 2
    print(json.dumps({"each": each}))
