"""Content codings: which of them a client takes, and what they are called."""

from __future__ import annotations

from loomlet.http._requests import Request

__all__ = ["NOT_COMPRESSED", "NO_FILE", "SUFFIXES", "VARY", "accepted", "type_of"]

SUFFIXES = (("br", ".br"), ("zstd", ".zst"), ("gzip", ".gz"))
"""The smallest comes first."""
VARY = ("Vary", "Accept-Encoding")
NO_FILE, NOT_COMPRESSED = -1, -2
"""What the engine takes instead of the descriptor of a file that was compressed."""


def accepted(request: Request) -> set[str]:
    """The content codings that a client takes, as src/core/http/coding.c reads them."""
    taken: set[str] = set()
    refused: set[str] = set()
    for name, value in request.headers:
        if name.lower() == "accept-encoding":
            for part in value.split(","):
                coding, _, weight = part.strip().lower().partition(";")
                number = weight.strip()
                is_zero = number.startswith("q=0") and not number[3:].strip("0. ")
                (refused if is_zero else taken).add(coding.strip().removeprefix("x-"))
    if "*" in taken:
        taken |= {coding for coding, _ in SUFFIXES}
    return taken - refused


def type_of(target: str) -> str:
    """The media type of what a target names."""
    from mimetypes import guess_type

    kind, encoding = guess_type(target)
    return kind if kind is not None and encoding is None else "application/octet-stream"
