"""One program for the web: /plain answers at once, /slow when the test lets it.

As plain WSGI, Flask, Django (also the project: this file with the arguments of manage.py), and
FastAPI, there with routes that are coroutines too (/plain_async, /slow_async).  A slow view puts a
mark into the folder $LOOMLET_WEB_MARKS and sleeps until the file `go` is there, so a test knows
which views are running, in any process.  Each framework is imported only when its server asks.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

MARKS = Path(os.environ["LOOMLET_WEB_MARKS"])
GO = MARKS.with_name("go")


def plain(n: int) -> str:
    """A view that does not wait."""
    return f"plain {n}"


def slow(n: int) -> str:
    """A view that sleeps until it is released."""
    MARKS.joinpath(str(n)).touch()
    while not GO.exists():
        time.sleep(0.01)
    return f"slow {n}"


async def plain_async(n: int) -> str:
    """The same as a coroutine."""
    return f"plain_async {n}"


async def slow_async(n: int) -> str:
    """The same as a coroutine."""
    MARKS.joinpath(str(n)).touch()
    while not GO.exists():
        await asyncio.sleep(0.01)
    return f"slow_async {n}"


VIEWS = {"plain": plain, "slow": slow}
urlpatterns: list[Any] = []
"""The views of the Django project, under the name that Django looks for."""


def wsgi(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """The program without a framework."""
    view = VIEWS[environ["PATH_INFO"].strip("/")]
    text = view(int(parse_qs(environ["QUERY_STRING"])["n"][0])).encode()
    headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))]
    start_response("200 OK", headers)
    return [text]


def flask() -> Any:
    """The program in Flask."""
    from flask import Flask, request

    app = Flask("web")
    for name, view in VIEWS.items():
        app.add_url_rule(f"/{name}", name, lambda view=view: view(int(request.args["n"])))
    return app


def fastapi() -> Any:
    """The program in FastAPI."""
    from fastapi import FastAPI
    from fastapi.responses import PlainTextResponse

    app = FastAPI()
    for view in (plain, slow, plain_async, slow_async):
        app.get(f"/{view.__name__}", response_class=PlainTextResponse)(view)
    return app


def django(arguments: list[str]) -> None:
    """The program in Django, whose views read their answer from SQLite."""
    from django.conf import settings
    from django.core.management import execute_from_command_line
    from django.db import connection
    from django.http import HttpRequest, HttpResponse
    from django.urls import path

    def read(request: HttpRequest, view: Callable[[int], str]) -> HttpResponse:
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s", [view(int(request.GET["n"]))])
            return HttpResponse(cursor.fetchone()[0])

    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(MARKS.with_name("data"))}
    settings.configure(DEBUG=True, ROOT_URLCONF=__name__, DATABASES={"default": database})
    urlpatterns.extend(path(name, read, {"view": view}) for name, view in VIEWS.items())
    execute_from_command_line(arguments)


if __name__ == "__main__":
    django(sys.argv)
