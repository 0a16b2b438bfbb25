"""The application of the database for WSGI: Flask and psycopg with a pool of sixteen connections.

    /db                 one row of `world` by its number, as an object
    /queries?queries=N  N of them, asked for one after the other
    /fortunes           the sentences of `fortune` and one more, sorted, as a page

It is what one writes for a server with threads, and runs unmodified under all of them. The database
is at the port that LOOMLET_BENCH_SERVICE names.
"""

from __future__ import annotations

import os
import random
from typing import Any

from flask import Flask, request
from psycopg_pool import ConnectionPool

ROWS = 10_000
ONE_MORE = "Additional fortune added at request time."
PORT = os.environ.get("LOOMLET_BENCH_SERVICE", "0")
TEXT = (
    "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>"
    "<tr><th>id</th><th>message</th></tr>"
    "{% for id, message in fortunes %}<tr><td>{{ id }}</td><td>{{ message }}</td></tr>{% endfor %}"
    "</table></body></html>"
)
WORLD = "select id, randomnumber from world where id = %s"

app = Flask(__name__)
page = app.jinja_env.from_string(TEXT)
pool = ConnectionPool(
    f"host=127.0.0.1 port={PORT} user=postgres dbname=postgres",
    min_size=16,
    max_size=16,
    kwargs={"autocommit": True},
    open=True,
)


def look_up(connection: Any) -> dict[str, int]:
    """A row of the database, any."""
    row = connection.execute(WORLD, (random.randint(1, ROWS),)).fetchone()
    return {"id": row[0], "randomNumber": row[1]}


def one() -> dict[str, int]:
    """One."""
    with pool.connection() as connection:
        return look_up(connection)


def several() -> list[dict[str, int]]:
    """As many as are asked for."""
    with pool.connection() as connection:
        return [look_up(connection) for _ in range(int(request.args["queries"]))]


def fortunes() -> str:
    """The page."""
    with pool.connection() as connection:
        found = connection.execute("select id, message from fortune").fetchall()
    found.append((0, ONE_MORE))
    found.sort(key=lambda row: row[1])
    text: str = page.render(fortunes=found)
    return text


app.add_url_rule("/db", view_func=one)
app.add_url_rule("/queries", view_func=several)
app.add_url_rule("/fortunes", view_func=fortunes)
