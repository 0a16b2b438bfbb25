"""Future: that of concurrent.futures, whose condition is ours.

So it is one for `as_completed`, `wait` and `asyncio.wrap_future`, and a tasklet that waits
for its result lets the others run, with time slices and without.
"""

from __future__ import annotations

import concurrent.futures
from typing import TypeVar

from loomlet._conditions import Condition

__all__ = ["Future"]

T = TypeVar("T")


class Future(concurrent.futures.Future[T]):
    """Future(): a result that will be there; for tasklets and threads.

    As concurrent.futures.Future; also its maker sets it: set_result(), set_exception().
    """

    def __init__(self) -> None:
        super().__init__()
        self._condition = Condition()  # type: ignore[assignment]
