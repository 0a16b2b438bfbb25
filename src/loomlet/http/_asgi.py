"""ASGI 3: unmodified applications, each request a task of the thread's event loop.

The engine collects the requests that have come together, and one callback of the loop begins them
all: a task runs eagerly up to its first wait, so an application that waits for nothing has answered
then, and what several have answered leaves together.  What has to wait for the client waits in a
tasklet, not in the loop.

The loop is that of loomlet.aio.  Its coroutines take turns as in asyncio; what computes in one of
them holds the others, and nothing else: accepting, routes and plain handlers go on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from loomlet import _core, aio
from loomlet.http._answers import finish, send_bytes_of_file, send_rest, write
from loomlet.http._errors import ClientGone, HTTPError
from loomlet.http._handlers import interface_of, log, refusal
from loomlet.http._requests import NO_WSPROTO, Request
from loomlet.http._websocket_handshake import asks_for_websocket

__all__ = ["AsgiApplication", "Lifespan", "asgi", "common_scope"]

Message = dict[str, Any]
AsgiApplication = Callable[..., Awaitable[None]]

VERSIONS = {"version": "3.0", "spec_version": "2.5"}
SMALL = 65536
USUAL = {"http_version": "1.1", "method": "GET", "query_string": b""}
"""What the engine puts into a scope only if it is otherwise."""

OF_A_REQUEST = ("path", "raw_path", "client", "headers")
"""What each scope gets another value for; with room for them a copy need not grow."""

EAGER: dict[str, Any] = {"eager_start": True} if hasattr(asyncio, "eager_task_factory") else {}


class Cycle(_core.HttpCycle):
    """One request: its receive() and send().  send() of the base does what needs no wait."""

    __slots__ = ()

    # ---- receive() ----------------------------------------------------------------------------

    async def receive(self) -> Message:
        """The next part of the body, or that the client has gone."""
        if not self.body_over:
            try:
                data = await self._part()
            except ClientGone:
                self.body_over = True
                return {"type": "http.disconnect"}
            self.body_over = not data or self.request._body_over
            return {"type": "http.request", "body": data, "more_body": not self.body_over}
        if not self.finished:
            await self._disconnected()
        return {"type": "http.disconnect"}

    async def _part(self) -> bytes:
        data = self.request._next()
        if isinstance(data, bytes):
            return data
        if data is not None:
            raise HTTPError(data)
        return await aio.to_tasklet(self.request._part)

    async def _disconnected(self) -> None:
        """Returns when the client has gone, or nothing is left to be sent to it."""
        gone = asyncio.get_running_loop().create_future()
        self.request._state = gone

        def note(_: Request) -> None:
            if not gone.done():
                gone.set_result(None)

        if not self.request._gone:
            self.request._when_gone(note)
            await gone

    def _end(self) -> None:
        self.finished = True
        gone, self.request._state = self.request._state, None
        if gone is not None and not gone.done():
            gone.set_result(None)

    # ---- send() -------------------------------------------------------------------------------

    async def _send(self, message: Message) -> None:
        """What the base does not do at once."""
        kind = message["type"]
        if kind == "http.response.start":
            if self.status:
                raise RuntimeError("http.response.start was sent before")
            self.status = message["status"]
            self.fields = message.get("headers", ())
        elif not self.status or self.finished:
            raise RuntimeError(f"unexpected ASGI message {kind!r}")
        elif kind == "http.response.body":
            await self._send_body(message.get("body", b""), message.get("more_body", False))
        elif kind == "http.response.pathsend":
            await aio.to_tasklet(self._send_path, message["path"])
            self._end()
        else:
            raise ValueError(f"unexpected ASGI message {kind!r}")

    async def _send_body(self, body: bytes, more: bool) -> None:
        request = self.request
        if type(body) is not bytes:
            body = bytes(body)
        if not self.begun and not more:
            await self._send_rest(request._answer(self.status, self.fields, body))
            return
        if not self.begun:
            request._begin(self.status, self.fields)
            self.begun = True
        if len(body) > SMALL:
            await aio.to_tasklet(write, request, body)
        else:
            rest = request._write(body)
            if rest is not None:
                await aio.to_tasklet(send_rest, request, rest)
        if not more:
            await self._send_rest(request._finish())

    async def _send_rest(self, rest: Any) -> None:
        """The end of the answer: what the client has not taken at once, or None."""
        if rest is not None:
            await aio.to_tasklet(self._finish_with, rest)
        self._end()

    def _finish_with(self, rest: Any) -> None:
        send_rest(self.request, rest)
        self.request._done()

    def _send_path(self, path: str) -> None:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            fields = [*self.fields]
            if not any(bytes(name).lower() == b"content-length" for name, _ in fields):
                fields.append((b"content-length", str(size).encode()))
            self.request._begin(self.status, fields)
            if self.request._left < 0:
                finish(self.request)
            else:
                send_bytes_of_file(self.request, file.fileno(), 0, min(size, self.request._left))


# ---- requests ---------------------------------------------------------------------------------


async def _run_websocket(application: AsgiApplication, request: Request, common: Message) -> None:
    from loomlet.http._asgi_websocket import run_websocket

    try:
        await run_websocket(application, request, common, Cycle)
    except Exception as error:
        fail(request, error)


async def _run(application: AsgiApplication, *arguments: Any) -> None:
    """For an application that is no coroutine function: it is called in the task, too."""
    await application(*arguments)


def _end(request: Request, cycle: Cycle | None, task: asyncio.Task[None]) -> None:
    """Its task has ended."""
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is None and (cycle is None or cycle.finished):
        return
    if error is None:
        kind = ClientGone if request._gone else RuntimeError
        error = kind("the ASGI application has returned without a whole answer")
    if isinstance(error, Exception):
        fail(request, error)
    else:
        request._abort()


def _find_wsproto(request: Request) -> bool:
    """Whether it is there; without it the request is answered as if the client had not asked."""
    if find_spec("wsproto") is None:
        log.warning("%s %s: %s", request.method, request.target, NO_WSPROTO)
        return False
    return True


def fail(request: Request, error: Exception) -> None:
    """As for a plain handler, without a wait: the loop must not stand still."""
    what = f"{request.method} {request.target}"
    gone = isinstance(error, ClientGone) or request._gone
    if gone and isinstance(error, ConnectionError):
        log.info("%s: the client has gone: %s", what, error)
    elif isinstance(error, HTTPError):
        log.info("%s: %s", what, error)
    else:
        log.error("%s: %s: %s", what, type(error).__name__, error, exc_info=error)
    try:
        if not request._begun and not gone:
            status, text, fields = refusal(error)
            request._answer(status, fields, text.encode())
    except ValueError as second:
        if not isinstance(error, HTTPError):
            raise
        fail(request, second)
    finally:
        request._abort()


def asgi(
    application: AsgiApplication, core: Callable[[], _core.HttpServer], common: Message
) -> Callable[[list[Request]], None]:
    """What begins requests that have come together, in a tasklet; called on the loop's thread.

    `core` gives the server, `common` is what the scope of each request has besides.
    """
    run: Any = application if interface_of(application) == "asgi" else partial(_run, application)
    loop = aio.get_loop()
    make_task: Any = partial(asyncio.Task, loop=loop, **EAGER)
    tasks: set[asyncio.Task[None]] = set()

    def begin_one(request: Request) -> None:
        cycle: Cycle | None = None
        if request._upgrades and asks_for_websocket(request) and _find_wsproto(request):
            task = make_task(_run_websocket(application, request, common))
        else:
            cycle = Cycle(request)
            task = make_task(run(request._scope(common), cycle.receive, cycle.send))
        if task.done():
            _end(request, cycle, task)
        else:
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            task.add_done_callback(partial(_end, request, cycle))

    def begin_all(batch: list[Request]) -> None:
        for request in batch:
            try:
                begin_one(request)
            except Exception as error:
                fail(request, error)
            except BaseException:
                request._abort()
                raise

    def begin(batch: list[Request]) -> None:
        if len(batch) == 1:
            begin_all(batch)
            return
        server = core()
        server._gather(True)
        try:
            begin_all(batch)
        finally:
            if EAGER:
                server._gather(False)
            else:  # the tasks run behind this callback
                loop.call_soon(server._gather, False)

    def answer(batch: list[Request]) -> None:
        core()._take_batch()
        loop.call_soon(begin, batch)

    return answer


def common_scope(address: Any, state: Message) -> Message:
    """What the scopes of all requests of a server have in common."""
    return {
        "type": "http",
        "asgi": VERSIONS,
        "scheme": "http",
        "root_path": "",
        "server": tuple(address[:2]) if isinstance(address, tuple) else (str(address), None),
        "state": state,
        "extensions": {"http.response.pathsend": {}},
        **USUAL,
        **dict.fromkeys(OF_A_REQUEST),
    }


# ---- lifespan ---------------------------------------------------------------------------------


class Lifespan:
    """Tells an application when the server begins and ends; `state` is what it has put there."""

    def __init__(self, application: AsgiApplication) -> None:
        self.state: Message = {}
        self._application = application
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._answers: asyncio.Queue[Message | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._supported = True

    async def startup(self) -> None:
        """RuntimeError if the application cannot begin."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        await self._tell("startup")

    async def shutdown(self) -> None:
        """The same at the end."""
        if self._supported and self._task is not None and not self._task.done():
            await self._tell("shutdown")
        if self._task is not None:
            await self._task

    async def _tell(self, what: str) -> None:
        await self._events.put({"type": f"lifespan.{what}"})
        answer = await self._answers.get()
        if answer is not None and answer["type"] == f"lifespan.{what}.failed":
            reason = answer.get("message", "")
            raise RuntimeError(f"the application has refused to {what}: {reason}")

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": VERSIONS, "state": self.state}
        try:
            await self._application(scope, self._events.get, self._answers.put)
        except Exception as error:
            self._supported = False
            log.debug("the application does not support lifespan: %r", error)
        finally:
            self._answers.put_nowait(None)
