"""What goes wrong between a client and a handler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["ClientGone", "HTTPError", "of_client"]


class ClientGone(ConnectionError):
    """The client has ended, or was too slow, in the middle of a request or an answer."""


def of_client(wait: Callable[..., Any], *arguments: Any) -> Any:
    """wait(*arguments), which waits for the client; ClientGone if its connection is broken."""
    try:
        return wait(*arguments)
    except ConnectionError as error:
        raise ClientGone(str(error)) from error


class HTTPError(Exception):
    """HTTPError(status, text=None, headers=()): the answer to this request is that status.

    `status` is a number from 400 to 599, `text` what the client reads; by default what the status
    is called.  `headers`: pairs of (name, value) that the answer has besides.
    """

    def __init__(
        self, status: int, text: str | None = None, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(status, text)
        self.status = status
        self.headers = headers
        self.text = text if text is not None else f"{_phrase(status)}\n"

    def __str__(self) -> str:
        return f"{self.status} {self.text.strip()}"


def _phrase(status: int) -> str:
    from http import HTTPStatus

    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
