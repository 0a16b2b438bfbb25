"""The lines of what a stream receives.

A line that never ends would fill the memory of a server, so there is a longest line.  What arrives
is split where it lies: the part behind the last end is kept and put in front of what comes next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["LONGEST", "split_lines"]

LONGEST = 65536
"""Bytes, unless the caller says otherwise: as asyncio."""


def split_lines(parts: Iterable[bytes], most: int) -> Iterator[bytes]:
    """The lines of the parts, without their ends, each at most `most` bytes: else ValueError."""
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield _checked(line, most).removesuffix(b"\r")
        _checked(rest, most)
    if rest:
        yield rest


def _checked(line: bytes, most: int) -> bytes:
    if len(line) > most:
        raise ValueError(
            f"expected lines of at most {most} bytes, found one of {len(line)} or more"
        )
    return line
