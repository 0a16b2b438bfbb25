"""What proxies say of their clients: X-Forwarded-For and X-Forwarded-Proto.

Anybody can send these fields, so they count only when the peer of the connection is trusted.  Each
proxy adds its own peer at the end of X-Forwarded-For: from there on the list is as true as those
who wrote it, so the client is the last address that is not trusted itself; if all are, the first.
What is no address ends the list, and the one behind it is the client.  The port of a client that is
named so is 0.  X-Forwarded-Proto counts if it is sent once and says http, https, ws or wss.

Those who are trusted are named as in uvicorn, separated by commas: addresses, networks such as
10.0.0.0/8, the path of a local socket or `unix:` for any (its peers have no address), and `*` for
everybody; with `*` the first address of the list is the client.

How.  The type of a server's requests is made with a layer that answers `client` and `scheme`, and
corrects the environ of WSGI and the scope of ASGI.  A server without proxies has no such layer.
The access log, which knows notes instead of requests, asks Proxies itself.

Threads.  Nothing here changes after it was made.

Rejected: a layer around the application (plain handlers, routes and the log would not see it).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from loomlet.http._requests import Request

__all__ = ["Proxies", "behind_proxies"]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

ANYBODY = "*"
LOCAL = "unix:"
SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}


class Proxies:
    """Peers whose word counts; `local` is the path where their server listens, if it is one."""

    local: str | None = None

    def __init__(self, trusted: str | Iterable[str]) -> None:
        parts = trusted.split(",") if isinstance(trusted, str) else [*trusted]
        self._names = names = {part.strip() for part in parts if part.strip()}
        self._anybody = ANYBODY in names
        self._networks: list[Network] = [_network(name) for name in names if not _is_path(name)]

    def trust(self, address: Address | None) -> bool:
        """Whether the peer with that address counts; None: one of a local socket."""
        if self._anybody:
            return True
        if address is None:
            return not self._names.isdisjoint((LOCAL, self.local, f"{LOCAL}{self.local}"))
        return any(address in network for network in self._networks)

    def client_of(self, peer: str, forwarded: str | None) -> str:
        """The address of the client, of a connection from `peer` with that X-Forwarded-For."""
        address = read_address(peer)
        if not forwarded or not self.trust(address):
            return peer
        names = forwarded.split(",")
        found = address
        for name in reversed(names):
            named = read_address(name)
            if named is None:
                break
            found = named
            if not self.trust(named):
                break
        return "" if found is None else str(found)

    def scheme_of(self, peer: str, forwarded: Iterable[str]) -> str | None:
        """What X-Forwarded-Proto says; None: nothing that counts."""
        values = list(forwarded)
        if len(values) != 1 or not self.trust(read_address(peer)):
            return None
        return SCHEMES.get(values[0].strip().lower())


def _is_path(name: str) -> bool:
    return name == ANYBODY or name.startswith(("/", "@", LOCAL))


def _network(name: str) -> Network:
    try:
        return ip_network(name, strict=False)
    except ValueError:
        raise ValueError(
            "expected an address, a network such as 10.0.0.0/8, the path of a socket or *, "
            f"found {name!r} among the trusted proxies"
        ) from None


@lru_cache(1024)
def read_address(text: str) -> Address | None:
    """The address in a text that may have a port; None if there is none."""
    name = text.strip()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    try:
        found = ip_address(name)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


# ---- requests -----------------------------------------------------------------------------------


def behind_proxies(kind: type[Request], proxies: Proxies) -> type[Any]:
    """That type of requests, for a server whose clients come by way of those proxies."""

    class Forwarded(kind):  # type: ignore[valid-type, misc]
        """A request whose client and scheme are what a proxy says."""

        __slots__ = ()

        @property
        def client(self) -> tuple[str, int] | None:
            peer = super().client
            host = peer[0] if peer is not None else ""
            found = proxies.client_of(host, ",".join(_values(self, "x-forwarded-for")) or None)
            return peer if found == host else (found, 0)

        @property
        def scheme(self) -> str:
            peer = super().client
            host = peer[0] if peer is not None else ""
            said = proxies.scheme_of(host, _values(self, "x-forwarded-proto"))
            return said or str(super().scheme)

        def _environ(self, common: dict[str, Any], /) -> dict[str, Any]:
            environ: dict[str, Any] = super()._environ(common)
            client = self.client
            environ["REMOTE_ADDR"] = client[0] if client is not None else ""
            environ["wsgi.url_scheme"] = self.scheme
            return environ

        def _scope(self, common: dict[str, Any], /) -> dict[str, Any]:
            scope: dict[str, Any] = super()._scope(common)
            scope["client"] = self.client
            scope["scheme"] = self.scheme
            return scope

    return Forwarded


def _values(request: Request, wanted: str) -> list[str]:
    return [value for name, value in request.headers if name.lower() == wanted]
