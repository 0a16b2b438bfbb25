"""An HTTP server whose handlers are plain functions, each request in a tasklet of its own.

from loomlet import http

def hello(request):
    return f"Hello, {request.path}"

http.serve(hello, port=8000)
"""

from typing import TYPE_CHECKING, Any

from loomlet._public import show_in
from loomlet.http._answers import Response, events
from loomlet.http._errors import ClientGone, HTTPError
from loomlet.http._requests import Request
from loomlet.http._serving import Limits, Server, serve, serve_application

if TYPE_CHECKING:
    from loomlet.http._protocols import Transport, TransportServer, register, server

__all__ = [
    "ClientGone",
    "HTTPError",
    "Limits",
    "Request",
    "Response",
    "Server",
    "Transport",
    "TransportServer",
    "events",
    "register",
    "serve",
    "serve_application",
    "server",
]

OF_PROTOCOLS = ("Transport", "TransportServer", "register", "server")

show_in(__name__, ClientGone, HTTPError, Limits, Request, Response, Server)
show_in(__name__, events, serve, serve_application)


def __getattr__(name: str) -> Any:
    """The protocol interface, which loads loomlet.net, when it is first needed."""
    if name not in OF_PROTOCOLS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from loomlet.http import _protocols

    found = {each: getattr(_protocols, each) for each in OF_PROTOCOLS}
    show_in(__name__, *found.values())
    globals().update(found)
    return found[name]
