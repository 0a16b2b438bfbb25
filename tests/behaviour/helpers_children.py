"""Children of the test's own process, which fork without a program of their own."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def works_in_a_child(work: Callable[[], object]) -> bool:
    """Whether work() is true in a child of this process, which does nothing else."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 2
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)  # also after an exception: the child never returns to the tests
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
