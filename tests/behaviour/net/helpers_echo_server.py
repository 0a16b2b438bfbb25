"""A server that sends back what it receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loomlet


def answer(stream: Any) -> None:
    """One connection, until its peer ends its side."""
    with stream:
        for data in stream:
            stream.send_all(data)


def serve(listener: Any, answer: Callable[[Any], None] = answer) -> str:
    """A tasklet for each connection, until the listener is closed; says so."""
    for stream in listener:
        loomlet.spawn(answer, stream)
    return "closed"
