"""Libraries whose calls wait at the server until all have come; as a program of its own too.

    python helpers_simultaneous_waits.py first|last LIBRARY COUNT ADDRESS

The program asks COUNT times at once, each in a tasklet.  `first` patches the standard library
before it imports the library; `last` when it has imported it, made what it is asked by (a session,
a pool, contexts of TLS, a connection), and used that.  ADDRESS is a JSON object, the fields of
helpers_servers.Address.

The server proves that they wait at the same time: it counts them and releases none before all
wait.  A library that blocks its thread waits for ever, and is ended with a traceback.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from helpers_many_tasklets import together

import loomlet
from loomlet import aio, net, patch

LIMIT = 200
ADVISED = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@dataclass(frozen=True)
class Waiting:
    """ask(number) waits and returns number + 1; release() releases all once `count` wait.

    Made by a function of this file, which imports the library and has used it once.  Numbers below
    `count` count; calls with other numbers must have been interrupted by then.  close() releases
    what must not be left to the collector.
    """

    ask: Callable[[int], int]
    release: Callable[[], None]
    close: Callable[[], object] = lambda: None


def until(enough: Callable[[], bool]) -> None:
    """Polls: servers do not announce that one more client has begun to wait."""
    while not enough():
        loomlet.sleep(0.01)


# --- databases --------------------------------------------------------------------------------


def redis(address: Any, count: int) -> Waiting:
    """redis-py: each waits for a list of its own."""
    import redis

    client = redis.Redis(unix_socket_path=address.path, max_connections=2 * count)
    client.flushall()

    def ask(number: int) -> int:
        return int(client.blpop([f"list{number}"])[1])

    def release() -> None:
        until(lambda: client.info("clients")["blocked_clients"] == count)
        for number in range(count):
            client.rpush(f"list{number}", number + 1)

    return Waiting(ask, release)


def psycopg(address: Any, count: int) -> Waiting:
    """psycopg: each waits for one lock; the first by a connection that was there before."""
    import psycopg

    place = address.path.rpartition("/")[0]
    url = f"host={place} port={address.port} user=postgres dbname=postgres"
    holder, first = (psycopg.connect(url, autocommit=True) for _ in range(2))
    holder.execute("SELECT pg_advisory_lock(1)")

    def ask(number: int) -> int:
        with psycopg.connect(url, autocommit=True) if number else first as one:
            one.execute("SELECT pg_advisory_lock_shared(1)")
            return int(one.execute("SELECT %s + 1", [number]).fetchone()[0])

    def release() -> None:
        with holder:
            until(lambda: holder.execute(ADVISED).fetchone()[0] == count)
            holder.execute("SELECT pg_advisory_unlock(1)")

    return Waiting(ask, release)


def asyncpg(address: Any, count: int) -> Waiting:
    """asyncpg: a pool with room for all; each waits for one lock."""
    import asyncpg

    place = {"host": address.path.rpartition("/")[0], "port": address.port}
    place |= {"user": "postgres", "database": "postgres"}

    async def make() -> tuple[Any, Any]:
        pool = await asyncpg.create_pool(**place, min_size=1, max_size=count)
        return pool, await asyncpg.connect(**place)

    pool, holder = aio.await_(make())
    aio.await_(holder.execute("SELECT pg_advisory_lock(1)"))

    async def lock(number: int) -> int:
        async with pool.acquire() as one:
            await one.execute("SELECT pg_advisory_lock_shared(1)")
            return int(await one.fetchval("SELECT $1::int + 1", number))

    def release() -> None:
        until(lambda: aio.await_(holder.fetchval(ADVISED)) == count)
        aio.await_(holder.close())

    def ask(number: int) -> int:
        return aio.await_(lock(number))

    return Waiting(ask, release, lambda: aio.await_(pool.close()))


def pymysql(address: Any, count: int) -> Waiting:
    """PyMySQL: each waits for one lock; the first by a connection that was there before."""
    import pymysql

    def connect() -> Any:
        return pymysql.connect(unix_socket=address.path, user="root", ssl_disabled=True)

    def value(connection: Any, query: str, *arguments: Any) -> int:
        with connection.cursor() as cursor:
            cursor.execute(query, arguments)
            return int(cursor.fetchone()[0])

    holder, first = connect(), connect()
    assert value(holder, "SELECT GET_LOCK('gate', 0)") == 1
    waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock'"

    def ask(number: int) -> int:
        with connect() if number else first as one:
            assert value(one, "SELECT GET_LOCK('gate', 100)") == 1
            assert value(one, "SELECT RELEASE_LOCK('gate')") == 1
            return value(one, "SELECT %s + 1", number)

    def release() -> None:
        with connect() as other:
            until(lambda: value(other, waiting) == count)
        with holder:
            assert value(holder, "SELECT RELEASE_LOCK('gate')") == 1

    return Waiting(ask, release)


# --- HTTP -------------------------------------------------------------------------------------


def answer_all(listener: net.Listener, count: int) -> None:
    """The server behind nginx: answers when numbers 0 ... count - 1 have asked."""
    asked: list[tuple[net.Stream, int]] = []
    while len(asked) < count:
        stream, head = listener.accept(), b""
        while b"\r\n\r\n" not in head:
            head += stream.receive_some()
        number = int(head.split(b" ", 2)[1].rpartition(b"=")[2])
        if number < count:
            asked.append((stream, number))
        else:
            stream.close()
    for stream, number in asked:
        with stream:
            stream.send_all(b"HTTP/1.0 200 OK\r\n\r\n%d" % (number + 1))


def by_http(
    address: Any, count: int, get: Callable[[str], str], close: Callable[[], object] = lambda: None
) -> Waiting:
    """get(path) asks nginx, which asks the listener that is made here."""
    assert get("/?n=1") == "GET 1"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(address.behind)
    listener = net.listen(address.behind, backlog=4 * count)

    def release() -> None:
        with listener:
            answer_all(listener, count)

    return Waiting(lambda number: int(get(f"/held?n={number}")), release, close)


def requests(address: Any, count: int) -> Waiting:
    """requests, with TLS."""
    import requests

    session = requests.Session()
    session.trust_env, session.verify = False, address.authority
    return by_http(address, count, lambda path: session.get(address.tls_url + path).text)


def urllib3(address: Any, count: int) -> Waiting:
    """urllib3, with TLS."""
    import urllib3

    pool = urllib3.PoolManager(ca_certs=address.authority)

    def get(path: str) -> str:
        return pool.request("GET", address.tls_url + path).data.decode()

    return by_http(address, count, get)


def httpx(address: Any, count: int) -> Waiting:
    """httpx, with a TLS context that is made here."""
    import ssl

    import httpx

    context = ssl.create_default_context(cafile=address.authority)
    limits = httpx.Limits(max_connections=count)
    client = httpx.Client(trust_env=False, timeout=LIMIT, verify=context, limits=limits)
    return by_http(address, count, lambda path: client.get(address.tls_url + path).text)


def httpx_async(address: Any, count: int) -> Waiting:
    """httpx's asynchronous client from plain functions: one for each hundred.

    The work of its pool grows with the square of what it holds, with asyncio alone too.
    """
    import itertools
    import ssl

    import httpx

    async def make(context: ssl.SSLContext) -> Any:
        limits = httpx.Limits(max_connections=100)
        return httpx.AsyncClient(trust_env=False, timeout=LIMIT, verify=context, limits=limits)

    context = ssl.create_default_context(cafile=address.authority)
    clients = [aio.await_(make(context)) for _ in range(0, count, 100)]
    turn = itertools.cycle(clients)

    def get(path: str) -> str:
        return aio.await_(next(turn).get(address.tls_url + path)).text

    def close() -> None:
        for client in clients:
            aio.await_(client.aclose())

    return by_http(address, count, get, close)


def aiohttp(address: Any, count: int) -> Waiting:
    """aiohttp's client from plain functions; as many connections as are asked for."""
    import ssl

    import aiohttp

    async def make() -> Any:
        context = ssl.create_default_context(cafile=address.authority)
        connector = aiohttp.TCPConnector(limit=count, ssl=context)
        return aiohttp.ClientSession(connector=connector)

    session = aio.await_(make())

    def get(path: str) -> str:
        response = aio.await_(session.get(address.tls_url + path))
        try:
            return aio.await_(response.text())
        finally:
            response.release()

    return by_http(address, count, get, lambda: aio.await_(session.close()))


def http_client(address: Any, count: int) -> Waiting:
    """http.client, with a TLS context that is made here."""
    import http.client
    import ssl

    context = ssl.create_default_context(cafile=address.authority)
    place = address.tls_url.rpartition("/")[2]

    def get(path: str) -> str:
        connection = http.client.HTTPSConnection(place, context=context)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    return by_http(address, count, get)


# --- the program ------------------------------------------------------------------------------

HTTP = (requests, urllib3, httpx, http_client, httpx_async, aiohttp)
LIBRARIES: dict[str, Callable[[Any, int], Waiting]] = {
    each.__name__: each for each in (*HTTP, redis, psycopg, asyncpg, pymysql)
}
SERVERS = dict.fromkeys((each.__name__ for each in HTTP), "nginx")
SERVERS |= {"redis": "redis", "pymysql": "mariadb"}
SERVERS |= dict.fromkeys(("psycopg", "asyncpg"), "postgresql")
MODULES = {"http_client": "http.client", "httpx_async": "httpx"}


def all_wait_at_once(library: str, address: Any, count: int) -> None:
    """So many tasklets ask the library, which has been used before the patch, if it is not yet."""

    def main() -> None:
        waiting = LIBRARIES[library](address, count)
        patch.install()
        ask_together(waiting, count)
        waiting.close()

    loomlet.run(main)


def ask_together(waiting: Waiting, count: int) -> None:
    """So many ask at once, and get their answers."""

    def work(number: int) -> int:
        return waiting.ask(number) if number < count else waiting.release() or 0

    assert together(work, count + 1) == [*range(1, count + 1), 0]


def variant(library: str) -> str:
    """Its name, and which of its implementations was used."""
    pq = sys.modules.get("psycopg.pq")
    return f"{library} {pq.__impl__}" if pq is not None else library


def main(order: str, library: str, count: str, address: str) -> None:
    """The program."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    assert MODULES.get(library, library) not in sys.modules
    if order == "first":
        patch.install()
    from helpers_servers import Address

    place = Address(**json.loads(address))
    all_wait_at_once(library, place, int(count))
    print("all at once:", variant(library))


if __name__ == "__main__":
    main(*sys.argv[1:])
