"""Addresses as people write them, and what the system wants instead.

(host, port) is TCP, a path is a UNIX socket.  A numeric host, or none ('' is every interface), is
taken as it is.  A name is looked up by the C library, whose call blocks: on another thread, so
that a tasklet waits for it and not its own.  A program that has put a function of its own in the
place of socket.getaddrinfo has that called, on a thread of the pool of run_blocking().
"""

from __future__ import annotations

import _socket
import os
import socket
from typing import Any, TypeAlias

from loomlet import _core

__all__ = ["Address", "Candidate", "candidates", "resolve"]

Address: TypeAlias = tuple[str, int] | str | os.PathLike[str]
Candidate: TypeAlias = tuple[int, Any]  # family, and the address as the socket module takes it

_GETADDRINFO = socket.getaddrinfo
_FAMILIES = {int(each): each for each in socket.AddressFamily}
_KINDS = {int(each): each for each in socket.SocketKind}


def candidates(address: Address, passive: bool = False) -> list[Candidate]:
    """What an address may mean, in the order in which to try; never empty."""
    if isinstance(address, str | os.PathLike):
        return [(socket.AF_UNIX, os.fspath(address))]
    if not isinstance(address, tuple) or len(address) != 2:
        raise TypeError(f"expected (host, port) or the path of a UNIX socket, found {address!r}")
    host, port = address
    flags = socket.AI_PASSIVE if passive else 0
    found = _numeric(host, port, flags)
    if not found:
        found = resolve(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, target) for family, _, _, _, target in found]


def resolve(
    host: str | None, port: int | str | None, *, family: int = 0, type: int = 0, flags: int = 0
) -> list[Any]:
    """What socket.getaddrinfo returns, looked up on another thread while the tasklet waits.

    Raises socket.gaierror when the name is not known.
    """
    asked = (host, port, family, type, 0, flags)
    if socket.getaddrinfo is not _GETADDRINFO:
        return _core.run_blocking(socket.getaddrinfo, *asked)
    found = _core._resolve_name(_socket.getaddrinfo, *asked)
    return [(_FAMILIES.get(n, n), _KINDS.get(k, k), *rest) for n, k, *rest in found]


def _numeric(host: str, port: int, flags: int) -> list[Any]:
    flags |= socket.AI_NUMERICHOST
    try:
        return socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=flags)
    except socket.gaierror:
        return []
