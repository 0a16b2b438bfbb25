"""The handler around the user's function: it answers, whatever happens.

Each request runs in a tasklet of its own.  What the function raises is logged with its traceback
and answered with 500, HTTPError with its status, MemoryError with 503.  Once an answer has begun
the connection is closed instead, so that the client does not take a part for the whole.  A client
that ends early is no failure of anybody.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from loomlet.http._answers import (
    BYTES,
    JSON,
    TEXT,
    Fields,
    answer_whole,
    as_json,
    respond,
    send_rest,
)
from loomlet.http._errors import ClientGone, HTTPError
from loomlet.http._requests import Request
from loomlet.http._takeovers import Takeover, end_with

__all__ = [
    "Answer",
    "Handler",
    "answering",
    "end_late",
    "fail",
    "interface_of",
    "log",
    "refusal",
    "report_slow",
]

Handler = Callable[[Request], Any]
Answer = Callable[[Any], None]

log = logging.getLogger("loomlet.http")


def answering(handler: Handler) -> Answer:
    """What runs in the tasklet of a request: handler(request), and its result is the answer."""

    def answer(request: Request) -> None:
        try:
            result = handler(request)
            if type(result) is str:
                rest = request._answer(200, TEXT, result.encode())
            elif type(result) is bytes:
                rest = request._answer(200, BYTES, result)
            elif type(result) is dict:
                rest = request._answer(200, JSON, as_json(result))
            elif result is not None or not end_with(request, None):
                respond(request, result)
                return
            else:
                return
            if rest is not None:
                send_rest(request, rest)
                request._done()
        except Exception as error:
            fail(request, error)
        except BaseException as error:
            end_with(request, error)
            request._abort()
            raise

    return answer


def fail(request: Request, error: Exception) -> None:
    """A handler has raised: the client gets a status, or the connection is closed."""
    what = f"{request.method} {request.target}"
    taken_over = isinstance(request._state, Takeover)
    gone = isinstance(error, ClientGone) or (request._gone and not taken_over)
    if gone and isinstance(error, ConnectionError):
        log.info("%s: the client has gone: %s", what, error)
    elif isinstance(error, HTTPError):
        log.info("%s: %s", what, error)
    else:
        log.error("%s: %s: %s", what, type(error).__name__, error, exc_info=error)
    if end_with(request, error):
        return
    if request._begun or gone:
        request._abort()
        return
    try:
        status, text, fields = refusal(error)
        answer_whole(request, status, fields, text.encode())
    except Exception as second:
        if isinstance(error, HTTPError) and not request._begun:
            fail(request, second)  # such as HTTPError(100): that is the failure
            return
        log.error("%s: %s: %s", what, type(second).__name__, second)
        request._abort()


def refusal(error: Exception) -> tuple[int, str, Fields]:
    """What a client is answered for what a handler has raised: status, text and fields."""
    if isinstance(error, HTTPError):
        return error.status, error.text, [*TEXT, *error.headers]
    if isinstance(error, MemoryError):
        return 503, "Service Unavailable\n", [*TEXT, ("Retry-After", "1")]
    return 500, "Internal Server Error\n", TEXT


# ---- applications ----------------------------------------------------------------------------


def interface_of(application: Any) -> str:
    """ "asgi" for what is called with `await`, else "wsgi"."""
    import inspect

    called = application if inspect.isfunction(application) else type(application).__call__
    return "asgi" if inspect.iscoroutinefunction(called) else "wsgi"


# ---- requests that take long ------------------------------------------------------------------


def _stack_of(request: Request) -> str:
    """Where the tasklet of a request is, innermost last, as a traceback says it."""
    tasklet = request._tasklet
    frames = tasklet._stack() if tasklet is not None else []
    lines = [
        f'  File "{code.co_filename}", line {line}, in {code.co_qualname}'
        for code, line in reversed(frames)
    ]
    return "\n".join(lines)


def report_slow(seconds: float) -> Callable[[Request], None]:
    """What is called for a request that has run for so long and is still running."""

    def report(request: Request) -> None:
        if request._tasklet is not None and not request._begun:
            log.warning(
                "%s %s has run for more than %g s and is in\n%s",
                *(request.method, request.target, seconds, _stack_of(request)),
            )

    return report


def end_late(seconds: float) -> Callable[[Request], None]:
    """What is called for a request that has run for longer than a request may."""

    def end(request: Request) -> None:
        tasklet = request._tasklet
        if tasklet is None or request._begun:
            return
        log.error(
            "%s %s has run for more than %g s and is killed in\n%s",
            *(request.method, request.target, seconds, _stack_of(request)),
        )
        try:
            answer_whole(request, 504, [*TEXT, ("Connection", "close")], b"Gateway Timeout\n")
        finally:
            tasklet.kill()

    return end
