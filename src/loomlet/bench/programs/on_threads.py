"""OS threads that the interpreter switches between, for the experiment on preemption."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable


def give_up() -> None:
    """Lets another thread run."""
    time.sleep(0)


def preempt(slice: float, calls: list[Callable[[], None]], flavour: str) -> list[int]:
    """Run the calls in threads that are switched at that interval; no requests are seen."""
    sys.setswitchinterval(slice)
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return []
