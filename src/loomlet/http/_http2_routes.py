"""Routes for requests that the engine does not see: those of HTTP/2.

For HTTP/1 the engine answers fixed routes and files itself, without Python.  Here the same routes
are looked up in a dict, and files are opened by the engine's own door (_open_below: the path is
made safe as text, and the system resolves it inside of the folder) and sent from Python.  Tags and
dates of files are those of the engine, so a cache may ask by either protocol.

Of what the engine does with files, several ranges in one answer are missing: all of the file is
answered then, as the rules allow.

Threads.  Tasklets of the server's thread; a table that never changes after the server was made.

Rejected: asking the engine through a pair of sockets (each request would be written and read
twice); every folder for the handler (the same site would differ by protocol).
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from email.utils import formatdate, parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from loomlet.http._answers import TEXT, answer_whole, send_bytes_of_file
from loomlet.http._codings import VARY, type_of
from loomlet.http._handlers import Answer, fail
from loomlet.http._open_files import is_shortage
from loomlet.http._requests import Request

if TYPE_CHECKING:
    from loomlet.http._compressing import Compressor

__all__ = ["Routes"]

Fields = list[tuple[str, str]]

PLAIN = ("GET", "HEAD")
RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII)
PHRASES = {403: "Forbidden\n", 404: "Not Found\n", 405: "Method Not Allowed\n", 503: "Busy\n"}


class Routes:
    """What is answered without the application; `core` is the server's.

    `routes`: the name of a method below and its arguments, for each.
    """

    def __init__(self, routes: Iterable[tuple[Any, ...]]) -> None:
        self._fixed: dict[str, tuple[str, bytes]] = {}
        self._handlers: dict[str, Answer] = {}
        self._folders: list[tuple[str, Answer, Compressor | None]] = []
        for method, *arguments in routes:
            getattr(self, method)(*arguments)

    def add_fixed(self, path: str, kind: str, body: bytes) -> None:
        """The same body for GET and HEAD of that path."""
        self._fixed[path] = (kind, body)

    def add_handler(self, path: str, answer: Answer) -> None:
        """That path, whatever the method."""
        self._handlers[path] = answer

    def add_folder(self, prefix: str, listing: Answer, compressor: Compressor | None) -> None:
        """Files; the folder that was added last comes first."""
        self._folders.insert(0, (prefix, listing, compressor))

    def find(self, core: Any, request: Request) -> Callable[[Request], None] | None:
        """What answers a request; None: the application does."""
        path = request.raw_path
        if path in self._handlers:
            return self._handlers[path]
        if not request._body_over:
            return None
        if path in self._fixed and request.method in PLAIN:
            kind, body = self._fixed[path]
            fields = [("Content-Type", kind)] if kind else []
            return lambda request: answer_whole(request, 200, fields, body)
        for prefix, listing, compressor in self._folders:
            if path.startswith(prefix):
                return lambda request: _answer_file(core, request, listing, compressor)
        return None


def _answer_file(
    core: Any, request: Request, listing: Answer, compressor: Compressor | None
) -> None:
    try:
        if request.method not in PLAIN:
            _refuse(request, 405, [("Allow", "GET, HEAD")])
            return
        name = request.raw_path
        if name.endswith("/"):
            name += "index.html"
        try:
            fd = core._open_below(name)
        except OSError as error:
            _answer_without(request, error, listing)
            return
        _answer_open(request, fd, name, compressor)
    except Exception as error:
        fail(request, error)
    except BaseException:
        request._abort()
        raise


def _refuse(request: Request, status: int, fields: Fields) -> None:
    answer_whole(request, status, [*TEXT, *fields], PHRASES[status].encode())


def _answer_without(request: Request, error: OSError, listing: Answer) -> None:
    """There is no such file."""
    if is_shortage(error):
        _refuse(request, 503, [])
    elif error.errno in (errno.EACCES, errno.EPERM):
        _refuse(request, 403, [])
    elif request.raw_path.endswith("/"):
        listing(request)
    else:
        _refuse(request, 404, [])


def _answer_open(request: Request, fd: int, name: str, compressor: Compressor | None) -> None:
    """What was opened, which is closed."""
    try:
        facts = os.fstat(fd)
        if stat.S_ISDIR(facts.st_mode):
            answer_whole(request, 301, [("Location", request.raw_path + "/")], b"")
        elif stat.S_ISREG(facts.st_mode):
            _send_form(request, fd, facts, name, compressor)
        else:
            _refuse(request, 404, [])
    finally:
        os.close(fd)


# ---- files --------------------------------------------------------------------------------------


def _send_form(
    request: Request, fd: int, facts: os.stat_result, name: str, compressor: Compressor | None
) -> None:
    """The file as it is, or compressed if the client takes that and asks for no ranges."""
    if compressor is None:
        _send(request, fd, facts, name)
        return
    if request.header("range") is None:
        beside = compressor.find_beside(request, name, facts)
        if beside is not None:
            try:
                _send(request, beside[0], os.fstat(beside[0]), name, more=[VARY], coding=beside[1])
            finally:
                os.close(beside[0])
            return
        if compressor.is_worth_it(request, name, facts) and compressor.answer_file(request, name):
            return
    _send(request, fd, facts, name, more=[VARY])


def _send(
    request: Request,
    fd: int,
    facts: os.stat_result,
    name: str,
    *,
    more: Sequence[tuple[str, str]] = (),
    coding: str | None = None,
) -> None:
    seconds, rest = divmod(facts.st_mtime_ns, 10**9)
    form = f"-{coding}" if coding is not None else ""
    tag = f'"{seconds:x}-{rest:x}-{facts.st_size:x}{form}"'
    fields = [("ETag", tag), ("Last-Modified", formatdate(seconds, usegmt=True)), *more]
    fields.append(
        ("Content-Encoding", coding) if coding is not None else ("Accept-Ranges", "bytes")
    )
    if _is_known(request, tag, seconds):
        answer_whole(request, 304, fields, b"")
        return
    content = ("Content-Type", type_of(name))
    part = _range(request, tag, seconds, facts.st_size)
    if part is None:
        part, status = (0, facts.st_size), 200
    elif part[0] >= part[1]:
        fields.append(("Content-Range", f"bytes */{facts.st_size}"))
        answer_whole(request, 416, fields, b"")
        return
    else:
        status = 206
        fields.append(("Content-Range", f"bytes {part[0]}-{part[1] - 1}/{facts.st_size}"))
    request._begin(status, [*fields, content, ("Content-Length", str(part[1] - part[0]))])
    send_bytes_of_file(request, fd, *part)


def _seconds_of(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def _is_known(request: Request, tag: str, seconds: int) -> bool:
    """Whether the client has it already."""
    tags = request.header("if-none-match")
    if tags is not None:
        known = [part.strip().removeprefix("W/") for part in tags.split(",")]
        return tag in known or known == ["*"]
    since = _seconds_of(request.header("if-modified-since") or "")
    return since is not None and seconds <= since


def _range(request: Request, tag: str, seconds: int, size: int) -> tuple[int, int] | None:
    """From where to where, if the client wants a part; empty if there is no such part."""
    found = RANGE.fullmatch((request.header("range") or "").strip())
    condition = request.header("if-range")
    if found is None or request.method != "GET" or not any(found.groups()):
        return None
    if condition is not None and condition != tag and _seconds_of(condition) != seconds:
        return None
    first, last = found.groups()
    if not first:
        return max(size - int(last), 0), size if int(last) > 0 else 0
    if last and int(last) < int(first):
        return None
    return int(first), min(int(last) + 1, size) if last else size
