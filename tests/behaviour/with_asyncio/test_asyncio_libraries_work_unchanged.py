"""Libraries written for asyncio, as they are: its own streams and processes, aiohttp, httpx."""

import asyncio
import contextlib
import http.server
import logging
import subprocess
import sys
import threading

import pytest

import loomlet
from loomlet import aio, net

MANY = 200


async def shout(reader, writer):
    """Answers each line in capitals."""
    async for line in reader:
        writer.write(line.upper())
        await writer.drain()
    writer.close()
    await writer.wait_closed()


async def close(server):
    """Ends a server of asyncio."""
    server.close()
    await server.wait_closed()


def test_tasklets_talk_to_a_server_of_asyncio(mode):
    """loomlet.net on one side, asyncio on the other, in one thread."""
    server = aio.await_(asyncio.start_server(shout, "127.0.0.1", 0))
    address = server.sockets[0].getsockname()

    def client(n):
        with net.connect(address) as stream:
            for turn in range(3):
                stream.send_all(b"line %d\n" % turn)
                assert stream.receive_exactly(7) == b"LINE %d\n" % turn
        return n

    tasks = [loomlet.spawn(client, n) for n in range(50)]
    assert [task.result() for task in tasks] == list(range(50))
    aio.await_(close(server))


def test_asyncio_talks_to_a_server_of_tasklets(mode):
    """The other way round."""

    def answer(stream):
        with stream:
            for data in stream:
                stream.send_all(data.upper())

    def serve(listener):
        for stream in listener:
            loomlet.spawn(answer, stream)

    async def client(address):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"hello")
        found = await reader.readexactly(5)
        writer.close()
        await writer.wait_closed()
        return found

    with net.listen(("127.0.0.1", 0)) as listener:
        serving = loomlet.spawn(serve, listener)
        loomlet.schedule()
        tasks = [loomlet.spawn(aio.await_, client(listener.local)) for _ in range(50)]
        assert {task.result() for task in tasks} == {b"HELLO"}
        listener.close()
        serving.join()


def test_streams_in_debug_mode(mode):
    """The slow-callback clock, the origins and the checks of the thread disturb nothing."""
    aio.get_loop().set_debug(True)
    server = aio.await_(asyncio.start_server(shout, "127.0.0.1", 0))

    async def ask():
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"a\n")
        found = await reader.readline()
        writer.close()
        await writer.wait_closed()
        return found

    tasks = [loomlet.spawn(aio.await_, ask()) for _ in range(10)]
    assert {task.result() for task in tasks} == {b"A\n"}
    aio.await_(close(server))


def test_processes(mode):
    """Their output and their end."""

    async def run(text):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", f"print({text!r})", stdout=subprocess.PIPE
        )
        output, _ = await process.communicate()
        return output, process.returncode

    tasks = [loomlet.spawn(aio.await_, run(f"process {n}")) for n in range(3)]
    assert [task.result() for task in tasks] == [(b"process %d\n" % n, 0) for n in range(3)]


# ---- HTTP --------------------------------------------------------------------------------


SCHEME = "http"


def url_of(address):
    """The root of the server at a (host, port)."""
    return f"{SCHEME}://{address[0]}:{address[1]}/"


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers a GET with its path."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """The path, as the body."""
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Nothing."""


class Server(http.server.ThreadingHTTPServer):
    """One with room for all at once."""

    request_queue_size = 2 * MANY


@pytest.fixture
def url():
    """An HTTP server of the standard library in threads of its own."""
    with Server(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield url_of(server.server_address)
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def used(manager):
    """`async with` for plain functions."""

    async def make():
        return await manager().__aenter__()

    client = aio.await_(make())
    try:
        yield client
    finally:
        aio.await_(client.__aexit__(None, None, None))


def test_aiohttp_from_many_tasklets(mode, url):
    """A session that they share, in plain functions."""
    aiohttp = pytest.importorskip("aiohttp", reason="the extra test-libraries is not installed")

    async def get(session, path):
        async with session.get(url + path) as response:
            return response.status, await response.text()

    with used(aiohttp.ClientSession) as session:
        tasks = [loomlet.spawn(aio.await_, get(session, f"a{n}")) for n in range(MANY)]
        assert [task.result() for task in tasks] == [(200, f"/a{n}") for n in range(MANY)]


def test_aiohttp_is_cancelled(mode):
    """A timeout around a request that is never answered; the session stays usable."""
    aiohttp = pytest.importorskip("aiohttp", reason="the extra test-libraries is not installed")

    async def get(session, address):
        async with session.get(url_of(address)) as response:
            return await response.text()

    with net.listen(("127.0.0.1", 0)) as deaf, used(aiohttp.ClientSession) as session:
        for _ in range(3):
            with pytest.raises(TimeoutError), loomlet.timeout(0.01):
                aio.await_(get(session, deaf.local))


def test_httpx_from_many_tasklets(mode, url):
    """A client that they share, in plain functions; it finds out by itself that this is asyncio."""
    httpx = pytest.importorskip("httpx", reason="the extra test-libraries is not installed")
    logging.getLogger("httpx").setLevel(logging.WARNING)

    def get(client, path):
        response = aio.await_(client.get(url + path))
        return response.status_code, response.text

    with used(lambda: httpx.AsyncClient(timeout=60)) as client:
        tasks = [loomlet.spawn(get, client, f"x{n}") for n in range(MANY)]
        assert [task.result() for task in tasks] == [(200, f"/x{n}") for n in range(MANY)]
