"""Servers in Python that have no command of their own for this, each as its documents start it.

    python http_peers.py NAME PORT FOLDER

NAME is `fastpysgi`, `bjoern`, `gevent` or `socketify`, which run the application for WSGI (but for
socketify, which has its own interface), or `keep-alive`: http.server with HTTP/1.1 and without a
log, as the founding document ran it.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"


class Quiet(SimpleHTTPRequestHandler):
    """Files over connections that are kept."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""


def serve_files(port: int, folder: str) -> None:
    """By http.server."""
    ThreadingHTTPServer((HOST, port), partial(Quiet, directory=folder)).serve_forever()


def application() -> Any:
    """For WSGI, from the file beside this one."""
    sys.path.insert(0, str(Path(__file__).parent))
    import http_applications  # type: ignore[import-not-found]

    return http_applications.wsgi


def serve_by_fastpysgi(port: int, folder: str) -> None:
    """One worker."""
    import fastpysgi

    fastpysgi.run(application(), HOST, port)


def serve_by_bjoern(port: int, folder: str) -> None:
    """One process."""
    import bjoern

    bjoern.run(application(), HOST, port)


def serve_by_gevent(port: int, folder: str) -> None:
    """Its pywsgi, patched, without a log."""
    from gevent import monkey

    monkey.patch_all()
    from gevent.pywsgi import WSGIServer

    WSGIServer((HOST, port), application(), backlog=4096, log=None).serve_forever()


def serve_by_socketify(port: int, folder: str) -> None:
    """Its own interface."""
    from socketify import App, AppListenOptions

    app = App()
    app.get("/plain", lambda answer, request: answer.end("Hello, World!"))
    app.get("/json", lambda answer, request: answer.end(json.dumps({"message": "Hello, World!"})))
    app.listen(AppListenOptions(port=port, host=HOST))
    app.run()


SERVERS = {
    "fastpysgi": serve_by_fastpysgi,
    "bjoern": serve_by_bjoern,
    "gevent": serve_by_gevent,
    "socketify": serve_by_socketify,
    "keep-alive": serve_files,
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
