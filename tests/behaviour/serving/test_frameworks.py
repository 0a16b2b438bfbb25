"""Applications of Flask, Django, Starlette and FastAPI, unmodified."""

import asyncio
import concurrent.futures
import http.client
import json

import pytest

FLASK = """
import time
from flask import Flask, jsonify, request, stream_with_context

app = Flask(__name__)

@app.get("/wait")
def wait():
    time.sleep(0.2)
    return "waited"

@app.post("/echo")
def echo():
    return jsonify(request.get_json())

@app.get("/stream")
def stream():
    return app.response_class(stream_with_context(str(n) for n in range(3)))

@app.get("/fails")
def fails():
    raise KeyError("in the view")
"""

DJANGO = """
import os
import django
from django.conf import settings

settings.configure(
    SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.sqlite"}},
)
django.setup()

from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpResponse
from django.urls import path

def view(request):
    with connection.cursor() as cursor:
        cursor.execute("select 6 * 7")
        return HttpResponse(str(cursor.fetchone()[0]))

async def view_async(request):
    return HttpResponse(request.META["REMOTE_ADDR"])

urlpatterns = [path("", view), path("async", view_async)]
app = get_wsgi_application()
asgi = get_asgi_application()
"""

FLASK_SOCK = """
from flask import Flask
from flask_sock import Sock

app = Flask(__name__)
sock = Sock(app)

@sock.route("/echo")
def echo(websocket):
    while True:
        websocket.send(websocket.receive())

@sock.route("/fails")
def fails(websocket):
    websocket.send("first")
    raise KeyError("in the view")
"""

FASTAPI = """
import asyncio
import time
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

app = FastAPI()

@app.get("/wait")
def wait():
    time.sleep(0.2)
    return "waited"

@app.get("/async")
async def wait_async():
    await asyncio.sleep(0.01)
    return {"waited": True}

@app.post("/echo")
async def echo(request: Request):
    return len(await request.body())

@app.get("/stream")
async def stream():
    async def parts():
        for n in range(3):
            yield str(n)
            await asyncio.sleep(0.001)
    return StreamingResponse(parts())

@app.get("/fails")
def fails():
    raise KeyError("in the endpoint")
"""


def post(server, path, body, kind="application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("POST", path, body, {"Content-Type": kind})
    answer = connection.getresponse()
    try:
        return answer.status, answer.read()
    finally:
        connection.close()


def many(server, path, count):
    """The answers to so many requests at the same time."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda _: server.get(path), range(count)))


@pytest.mark.parametrize(("module", "text"), [("flask", FLASK), ("fastapi", FASTAPI)])
def test_views_that_block_wait_together(serve, program, module, text):
    """A hundred at once: neither the pool of threads of a server nor that of anyio limits them."""
    pytest.importorskip(module)
    program(text)
    server = serve("site_app")
    answers = many(server, "/wait", 100)
    assert {status for status, _ in answers} == {200}
    assert {body.strip(b'"') for _, body in answers} == {b"waited"}


@pytest.mark.parametrize(("module", "text"), [("flask", FLASK), ("fastapi", FASTAPI)])
def test_streams_and_failures(serve, program, module, text):
    pytest.importorskip(module)
    program(text)
    server = serve("site_app")
    assert server.get("/stream") == (200, b"012")
    assert server.get("/fails")[0] == 500
    server.wait_for("KeyError")
    assert server.get("/stream") == (200, b"012")


def test_bodies_of_flask(serve, program):
    pytest.importorskip("flask")
    program(FLASK)
    data = {"a": ["ä"] * 50_000}
    status, body = post(serve("site_app"), "/echo", json.dumps(data))
    assert (status, json.loads(body)) == (200, data)


def test_bodies_of_fastapi(serve, program):
    pytest.importorskip("fastapi")
    program(FASTAPI)
    server = serve("site_app")
    assert post(server, "/echo", b"x" * 1_000_000) == (200, b"1000000")
    assert server.get("/async") == (200, b'{"waited":true}')


@pytest.mark.parametrize("target", ["site_app:app", "site_app:asgi"])
def test_django(serve, program, target):
    """With a database; by both interfaces."""
    pytest.importorskip("django")
    program(DJANGO)
    server = serve(target)
    assert {answer for answer in many(server, "/", 20)} == {(200, b"42")}
    assert server.get("/async") == (200, b"127.0.0.1")
    assert server.get("/nothing")[0] == 404


async def ask_for_echo(port):
    """A connection that has got its answers."""
    import websockets

    socket = await websockets.connect(f"ws://127.0.0.1:{port}/echo")
    for word in ["a", "b" * 100_000]:
        await socket.send(word)
        assert await socket.recv() == word
    return socket


def test_websockets_of_flask(serve, program):
    """flask-sock takes the socket from the environ.

    A hundred talk at once; then one view fails, and the last connections end with the server.
    """
    pytest.importorskip("flask_sock")
    websockets = pytest.importorskip("websockets")
    program(FLASK_SOCK)
    server = serve("site_app")

    async def main():
        several = await asyncio.gather(*[ask_for_echo(server.port) for _ in range(100)])
        for socket in several[1:]:
            await socket.close()
        failing = await websockets.connect(f"ws://127.0.0.1:{server.port}/fails")
        assert await failing.recv() == "first"
        with pytest.raises(websockets.ConnectionClosed):
            await failing.recv()
        server.process.terminate()
        with pytest.raises(websockets.ConnectionClosed):
            await several[0].recv()

    asyncio.run(main())
    assert server.process.wait(timeout=30) == 0
    server.wait_for("KeyError: 'in the view'")
