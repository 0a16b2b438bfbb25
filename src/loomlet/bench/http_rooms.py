"""The rooms of the experiment on HTTP: what is asked for, of whom, by which client.

A room is a kind of request: which servers can do it, the path, the right answer, and a service
that has to run. Its cases are named by a number, whose meaning the room's client gives:

    wrk        N connections, each of which asks again when it has its answer
    rate       N requests are due in a second, on 64 connections, whatever the server does
    streams    N streams of HTTP/2 on one connection
    echo       N connections of WebSocket with messages of 64 bytes
    idle       N connections that were answered once and are kept
    held       N connections whose request is with the handler, which does not end
    overload   N times as many requests as the server can answer are due

Not every peer is asked at every number: those that no promise names take part at the usual one
only, which is that of the quick run. All of it is to take a quarter of an hour.

To add a kind of request, add an entry to `ROOMS`; one that asks a database has `service` for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loomlet.bench.model import BenchError, Cell, Job, Missing
from loomlet.bench.servers import NAME, SERVICES, lacks_compiler, lacks_openssl, lacks_wrk

__all__ = ["DYNAMIC", "FILES", "ROOMS", "STARTING", "SYSTEMS", "Room", "cells", "parse"]

FILES = (
    *("loomlet", "nginx", "nginx-cache", "go", "granian"),
    *("http-server", "http.server-1.1", "http.server"),
)
LISTING = tuple(name for name in FILES if name != "granian")
DYNAMIC = (
    *("loomlet", "loomlet-fixed", "loomlet-wsgi", "loomlet-asgi"),
    *("nginx", "epoll", "fastpysgi", "bjoern", "granian", "granian-asgi", "uvicorn"),
    *("gunicorn-16", "gunicorn-64", "gevent", "go", "node", "socketify"),
)
PROMISED = DYNAMIC[:11]
NGINX = ("loomlet", "nginx", "nginx-cache")
NO_OBJECTS = ("epoll",)
"""What knows one answer only."""
BLOCKING = ("loomlet-wsgi", "gunicorn-16", "gunicorn-64", "uvicorn")
BESIDE = ("loomlet", "loomlet-wsgi", "gunicorn-16", "go")
"""The others have one thread, which then answers nobody."""
KEPT = (
    *("loomlet", "nginx", "epoll", "fastpysgi", "bjoern", "uvicorn"),
    *("gevent", "go", "node"),
)
STREAMS = ("loomlet", "loomlet-asgi", "hypercorn")
MESSAGES = ("loomlet", "loomlet-asgi", "uvicorn", "hypercorn")
CROWDED = ("loomlet", "loomlet-wsgi", "gunicorn-16", "uvicorn")
CHECKED = "loomlet-checked"

STARTING = "start"
GREETING = "Hello, World!"
CONNECTIONS = {"rate": 64, "streams": 1, "overload": 3000}
"""Where the number of a case is another one."""
MESSAGE = 64


@dataclass(frozen=True)
class Room:
    """A kind of request: the systems that can answer it, what is asked for, and what is right.

    counts: numbers in full; the quick run takes `quick`, if any.  few: the systems that take part
    at other numbers than that one; all where empty.  service: what handlers ask, of `SERVICES`.
    beside: a path whose answer never comes.  more: what else the client is given, see `_job`.
    """

    systems: Sequence[str]
    path: str
    expect: str
    counts: Sequence[int]
    quick: int = 0
    few: Sequence[str] = ()
    service: str = ""
    beside: str = ""
    client: str = "wrk"
    runs: int = 2
    more: Mapping[str, Any] | None = None

    def at(self, count: int) -> Sequence[str]:
        """The systems that take part at that number."""
        rare = self.few and count in self.counts and count != (self.quick or self.counts[0])
        return [name for name in self.systems if name in self.few] if rare else self.systems


def _database(path: str, expect: str, quick: int = 0) -> Room:
    return Room(BLOCKING, path, expect, (64,), quick, service="postgresql")


def _beside(kind: str, path: str, systems: Sequence[str]) -> Room:
    return Room(systems, path, kind, (8,), beside="/computing")


_SECURE = ("loomlet", "loomlet-fixed", "nginx")

ROOMS: Mapping[str, Room] = {
    "file": Room(FILES, "/static/small.html", "file 7065", (8, 64, 512), 8, FILES),
    "large": Room(FILES, "/static/large.bin", "file 1048576", (8, 64), few=NGINX),
    "folder": Room(LISTING, "/static/many/", "listing", (8, 64), few=NGINX),
    "plain": Room(DYNAMIC, "/plain", GREETING, (8, 64, 512), 64, PROMISED),
    "json": Room(
        tuple(name for name in DYNAMIC if name not in NO_OBJECTS),
        "/json",
        'JSON {"message": "Hello, World!"}',
        (64, 8, 512),
        few=NGINX,
    ),
    "waiting": Room(BLOCKING, "/waiting", "done", (64, 512), 64, service="delay"),
    "arriving": Room(
        BLOCKING, "/waiting", "done", (1000, 4000), 1000, service="delay", client="rate"
    ),
    "db": _database("/db", "world"),
    "queries": _database("/queries?queries=20", "worlds 20"),
    "fortunes": _database("/fortunes", "fortunes", 64),
    "beside": _beside(GREETING, "/plain", BESIDE),
    "beside file": _beside(
        "file 7065", "/static/small.html", ("loomlet", "loomlet-wsgi", "loomlet-asgi", "go")
    ),
    "beside status": _beside("status", "/-/status", ("loomlet-wsgi", "loomlet-asgi")),
    "tls": Room(_SECURE, "/plain", GREETING, (64,), more={"secure": True}),
    "handshakes": Room(
        _SECURE, "/plain", GREETING, (64,), 64, more={"secure": True, "closing": True}
    ),
    "streams": Room(STREAMS, "/plain", GREETING, (100,), 100, client="streams"),
    "websocket": Room(MESSAGES, "/echo", "", (64,), 64, client="echo"),
    "idle": Room(KEPT, "/plain", GREETING, (10_000,), client="idle", runs=1),
    "held": Room(("loomlet", "uvicorn", "go"), "/holding", "", (10_000,), client="held", runs=1),
    "overload": Room(CROWDED, "/working", GREETING, (10,), client="overload"),
    "founding": Room(
        *((CHECKED,), "/static/small.html", "file 7065", (8,)),
        runs=1,
        more={"seconds": 10, "threads": 2},
    ),
}
SYSTEMS = tuple(dict.fromkeys(name for room in ROOMS.values() for name in room.systems))


def parse(case: str) -> tuple[str, int]:
    """The room, and the number; BenchError for other words."""
    found = re.fullmatch(r"([\w ]+?) N=([1-9]\d*)", case)
    if case != STARTING and not (found and found[1] in ROOMS):
        raise BenchError(f"expected a case like 'plain N=64', or 'start', found {case!r}")
    return (found[1], int(found[2])) if found else (STARTING, 0)


def _usual(quick: bool) -> list[str]:
    if quick:
        return [f"{name} N={room.quick}" for name, room in ROOMS.items() if room.quick]
    found = [f"{name} N={count}" for name, room in ROOMS.items() for count in room.counts]
    return [*found, STARTING]


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per room and number, for the servers that can do it."""
    return [_cell(case, quick) for case in wanted or _usual(quick)]


def _cell(case: str, quick: bool) -> Cell:
    kind, count = parse(case)
    systems = ROOMS[kind].at(count) if kind in ROOMS else SYSTEMS
    jobs = [_job(case, _room_of(kind, name), name, count) for name in systems]
    runs = ROOMS[kind].runs if kind in ROOMS else 2
    return Cell(case, 1 if quick else runs, jobs, _lack(kind, case))


def _room_of(kind: str, system: str) -> Room:
    """That of the name; a server that is only started shows by what it does best that it works."""
    if kind != STARTING:
        return ROOMS[kind]
    return ROOMS["plain" if system in (*DYNAMIC, "hypercorn") else "file"]


def _lack(kind: str, case: str) -> Missing | None:
    """What the machine lacks for all servers in that room."""
    if kind == STARTING:
        return None
    room = ROOMS[kind]
    if room.client == "wrk" and (why := lacks_wrk()):
        return Missing("wrk", why)
    if room.client in ("rate", "streams", "echo", "overload") and (why := lacks_compiler()):
        return Missing("http_client", why)
    if (room.more or {}).get("secure") and (why := lacks_openssl()):
        return Missing("openssl", why)
    why = SERVICES[room.service].lacks() if room.service else ""
    return Missing(room.service, why, case) if why else None


def _job(case: str, room: Room, system: str, count: int) -> Job:
    """client, number: see the head of this file.  secure: by TLS.  closing: each request on a
    connection of its own.  threads: of wrk."""
    known: dict[str, Any] = {"secure": False, "closing": False, "threads": 1, "seconds": 1}
    known |= {"path": room.path, "expect": room.expect, "service": room.service}
    known |= {"beside": room.beside, "client": room.client}
    known["connections"] = CONNECTIONS.get(room.client, count) if count else 0
    known["number"] = MESSAGE if room.client == "echo" else count
    return Job(NAME, system, case, {**known, **(room.more or {})})
