"""A connection that was taken over from the engine, as a stream (_takeovers.py)."""

from __future__ import annotations

from loomlet import net

__all__ = ["TakenStream"]


class TakenStream(net.Stream):
    """A connection that was taken over; it counts as open until it is closed."""

    __slots__ = ("taken",)

    taken: object

    def close(self) -> None:
        """Closes it."""
        super().close()
        self.taken = None
