"""Addresses as users write them, and as the operating system takes them.

(host, port) is TCP, a path is a UNIX socket.  A numeric host, or an empty one (every interface), is
used as it is.  A name is looked up by the C library, whose call blocks; so it runs on another
thread, and only the tasklet waits.  If a program has replaced socket.getaddrinfo, its function is
called on a thread of the pool of run_blocking().
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
    """The candidates for an address, in the order in which to try them; never empty."""
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
    """The result of socket.getaddrinfo, looked up on another thread while the tasklet waits.

    Raises socket.gaierror if the name is unknown.
    """
    query = (host, port, family, type, 0, flags)
    if socket.getaddrinfo is not _GETADDRINFO:
        return _core.run_blocking(socket.getaddrinfo, *query)
    found = _core._resolve_name(_socket.getaddrinfo, *query)
    return [(_FAMILIES.get(n, n), _KINDS.get(k, k), *rest) for n, k, *rest in found]


def _numeric(host: str, port: int, flags: int) -> list[Any]:
    flags |= socket.AI_NUMERICHOST
    try:
        return socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=flags)
    except socket.gaierror:
        return []
