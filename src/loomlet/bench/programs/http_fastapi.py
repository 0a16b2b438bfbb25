"""The application of the database for ASGI: FastAPI and asyncpg with a pool of sixteen connections.

    /db                 one row of `world` by its number, as an object
    /queries?queries=N  N of them, asked for one after the other
    /fortunes           the sentences of `fortune` and one more, sorted, as a page

The same as `http_flask.py`, as one writes it for an event loop; page and template are the same.
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from jinja2 import Environment

ROWS = 10_000
ONE_MORE = "Additional fortune added at request time."
PORT = int(os.environ.get("LOOMLET_BENCH_SERVICE", "0"))
PAGE = Environment(autoescape=True).from_string(
    "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>"
    "<tr><th>id</th><th>message</th></tr>"
    "{% for id, message in fortunes %}<tr><td>{{ id }}</td><td>{{ message }}</td></tr>{% endfor %}"
    "</table></body></html>"
)
WORLD = "select id, randomnumber from world where id = $1"


@asynccontextmanager
async def open_pool(app: Any) -> AsyncIterator[None]:
    """The connections are there before the first request."""
    known = {"host": "127.0.0.1", "port": PORT, "user": "postgres", "database": "postgres"}
    async with asyncpg.create_pool(**known, min_size=16, max_size=16) as pool:
        app.state.pool = pool
        yield


async def look_up(connection: Any) -> dict[str, int]:
    """A row of the database, any."""
    row = await connection.fetchrow(WORLD, random.randint(1, ROWS))
    return {"id": row[0], "randomNumber": row[1]}


async def one() -> dict[str, int]:
    """One."""
    async with app.state.pool.acquire() as connection:
        return await look_up(connection)


async def several(queries: int) -> list[dict[str, int]]:
    """As many as are asked for."""
    async with app.state.pool.acquire() as connection:
        return [await look_up(connection) for _ in range(queries)]


async def fortunes() -> str:
    """The page."""
    async with app.state.pool.acquire() as connection:
        rows = await connection.fetch("select id, message from fortune")
    found = [(row[0], row[1]) for row in rows]
    found.append((0, ONE_MORE))
    found.sort(key=lambda row: row[1])
    text: str = PAGE.render(fortunes=found)
    return text


app = FastAPI(lifespan=open_pool)
app.add_api_route("/db", one)
app.add_api_route("/queries", several)
app.add_api_route("/fortunes", fortunes, response_class=HTMLResponse)
