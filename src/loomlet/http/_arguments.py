"""Checks what a Server is made from, so that a mistake is said where it was made, and not by the
first request, in a log, or never.

Each error says what was expected, what was found and, where that is not plain, what to do.  Nothing
is imported for it that a server does not need anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loomlet import _core

__all__ = ["ASYNC_HANDLER", "check_limits", "check_routes", "check_tls", "check_what_answers"]

ASYNC_HANDLER = (
    "an async function is not a handler: make it a plain function, which may block, or give the "
    "application of ASGI that it belongs to as application="
)


def check_what_answers(handler: Any, application: Any, interface: Any) -> None:
    """TypeError or ValueError unless exactly one of handler and application is given."""
    if (handler is None) == (application is None):
        raise TypeError("expected either a handler or an application")
    if handler is not None:
        if not callable(handler):
            raise TypeError(f"expected a handler, a function of a request, found {handler!r}")
        _check_plain(handler)
    elif not callable(application):
        raise TypeError(
            f"expected an application of WSGI or ASGI, which is called, found {application!r}"
        )
    if interface not in (None, "wsgi", "asgi"):
        raise ValueError(f"expected 'wsgi', 'asgi' or None as interface, found {interface!r}")


def _check_plain(handler: Any) -> None:
    if _core._is_coroutine_function(handler):
        raise TypeError(ASYNC_HANDLER)


def check_tls(tls: Any) -> None:
    """TypeError unless it is a context, or None."""
    if tls is None:
        return
    import ssl

    if not isinstance(tls, ssl.SSLContext):
        raise TypeError(
            f"expected an ssl.SSLContext as tls, found {tls!r}; ssl.create_default_context("
            "ssl.Purpose.CLIENT_AUTH) makes one, and its load_cert_chain() reads the certificate"
        )


def check_limits(limits: Any, kind: type) -> None:
    """TypeError or ValueError unless they are of that kind, and numbers that can be kept."""
    if not isinstance(limits, kind):
        raise TypeError(f"expected Limits(…) as limits, found {limits!r}")
    named: Mapping[str, Any] = limits._asdict()  # type: ignore[attr-defined]
    for name, value in named.items():
        if value is None and name in ("request", "slow"):
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"expected {name} as a whole number, found {value!r}")
        least = 1 if name in ("concurrency", "connections") else 0
        if value < least:
            raise ValueError(f"expected {name} of at least {least}, found {value}")


def check_routes(routes: Any) -> None:
    """TypeError, ValueError or OSError unless each is a path and what answers it."""
    if not isinstance(routes, Mapping):
        raise TypeError(f"expected a dict of paths and answers as routes, found {routes!r}")
    for path, answer in routes.items():
        if not isinstance(path, str):
            raise TypeError(f"expected a path as the name of a route, a str, found {path!r}")
        if not path.startswith("/"):
            raise ValueError(f"expected a route that begins with a slash, found {path!r}")
        _check_answer(path, answer)


def _check_answer(path: str, answer: Any) -> None:
    if isinstance(answer, Path):
        _check_folder(path, answer)
    elif callable(answer):
        try:
            _check_plain(answer)
        except TypeError as error:
            raise TypeError(f"route {path!r}: {error}") from None
    elif not isinstance(answer, str | bytes | bytearray | memoryview | dict | list):
        raise TypeError(
            f"route {path!r}: expected bytes, text, a pathlib.Path or a function, found {answer!r}"
        )


def _check_folder(path: str, folder: Path) -> None:
    if not path.endswith("/"):
        raise ValueError(f"expected the route of a folder to end with a slash, found {path!r}")
    if not folder.exists():
        raise FileNotFoundError(f"route {path!r}: there is not a folder {str(folder)!r}")
    if not folder.is_dir():
        raise NotADirectoryError(
            f"route {path!r}: {str(folder)!r} is not a folder; a handler may return a file"
        )
