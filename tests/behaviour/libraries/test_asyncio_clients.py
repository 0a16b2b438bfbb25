"""asyncpg, aiohttp and httpx.AsyncClient, unmodified, from plain functions, with real servers."""

import logging

import pytest
from helpers_many_tasklets import MANY, SOME, together
from helpers_simultaneous_waits import MODULES, SERVERS, all_wait_at_once

import loomlet
from loomlet import aio


@pytest.mark.parametrize(
    ("library", "count"), [("asyncpg", SOME), ("aiohttp", MANY), ("httpx_async", SOME)]
)
def test_all_wait_at_once(library, count, request):
    """Pools that may open a connection for each tasklet."""
    pytest.importorskip(MODULES.get(library, library))
    logging.getLogger("httpx").setLevel(logging.WARNING)
    all_wait_at_once(library, request.getfixturevalue(f"{SERVERS[library]}_server"), count)


def test_a_small_pool_of_asyncpg(postgresql_server):
    """Ten connections, a pool's default, for a thousand tasklets."""
    asyncpg = pytest.importorskip("asyncpg")

    async def make():
        return await asyncpg.create_pool(
            host=postgresql_server.path.rpartition("/")[0],
            port=postgresql_server.port,
            user="postgres",
            database="postgres",
        )

    def main():
        pool = aio.await_(make())

        def work(number):
            return aio.await_(pool.fetchval("SELECT $1::int + 1", number))

        assert together(work, MANY) == list(range(1, MANY + 1))
        assert pool.get_size() == 10
        aio.await_(pool.close())

    loomlet.run(main)


def test_a_small_pool_of_aiohttp(nginx_server):
    """A hundred connections, a session's default, for a thousand tasklets."""
    aiohttp = pytest.importorskip("aiohttp")

    async def make():
        return aiohttp.ClientSession()

    def main():
        session = aio.await_(make())

        def work(number):
            response = aio.await_(session.get(f"{nginx_server.url}/?n={number}"))
            return aio.await_(response.text())

        assert together(work, MANY) == [f"GET {number}" for number in range(MANY)]
        aio.await_(session.close())

    loomlet.run(main)
