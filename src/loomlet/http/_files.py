"""Listings of folders.

The engine answers files, and asks for a listing when a folder has no index.  It keeps what it gets
for a second, so a folder that is asked for a thousand times a second is read once.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from loomlet.http._answers import answer_whole
from loomlet.http._codings import NOT_COMPRESSED, VARY, accepted
from loomlet.http._handlers import fail
from loomlet.http._open_files import open_below
from loomlet.http._requests import Request

if TYPE_CHECKING:
    from loomlet.http._compressing import Compressor

__all__ = ["listing"]

HTML = "text/html; charset=utf-8"
STYLE = (
    "body{font:16px sans-serif;margin:2em}table{border-spacing:0}td{padding:.15em 1.5em .15em 0}"
    "td:nth-child(n+2){color:#666;text-align:right;white-space:nowrap}"
)


def listing(core: Any, compressor: Compressor | None = None) -> Callable[[Request], None]:
    """What answers requests for folders without an index, of that server; and for files that are
    not compressed yet."""

    def answer(request: Request) -> None:
        try:
            _answer_made(core, compressor, request)
        except Exception as error:
            fail(request, error)
        except BaseException:
            request._abort()
            raise

    return answer


def _answer_made(core: Any, compressor: Compressor | None, request: Request) -> None:
    target = request.raw_path
    is_folder = target.endswith("/")
    wanted = compressor if compressor is not None and "gzip" in accepted(request) else None
    if wanted is not None and wanted.answer_file(request, target + "index.html" * is_folder):
        return
    page = _page_of(core, request) if is_folder else None
    if page is None:
        answer_whole(request, 404, [("Content-Type", "text/plain")], b"Not Found\n")
        return
    core._keep_made(target, HTML, page, NOT_COMPRESSED)
    if wanted is not None:
        wanted.answer_page(request, target, HTML, page)
        return
    vary = [VARY] if compressor is not None else []
    answer_whole(request, 200, [("Content-Type", HTML), *vary], page)


def _page_of(core: Any, request: Request) -> bytes | None:
    folder = open_below(core, request.raw_path)
    if folder is None:
        return None
    try:
        if not stat.S_ISDIR(os.fstat(folder).st_mode):
            return None
        return "".join(_lines(request.path, _entries(folder))).encode("utf-8", "replace")
    finally:
        os.close(folder)


Entry = tuple[bool, str, int, float]


def _entries(folder: int) -> list[Entry]:
    """Whether it is a folder, its name, size and time; folders first, hidden ones left out."""
    found: list[Entry] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            try:
                facts = entry.stat()
            except OSError:
                continue
            is_folder = stat.S_ISDIR(facts.st_mode)
            if is_folder or stat.S_ISREG(facts.st_mode):
                found.append((is_folder, entry.name, facts.st_size, facts.st_mtime))
    return sorted(found, key=lambda entry: (not entry[0], entry[1]))


def _lines(path: str, entries: list[Entry]) -> Iterator[str]:
    from html import escape
    from urllib.parse import quote

    title = escape(path)
    yield f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title>'
    yield f"<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n<table>\n"
    if path != "/":
        yield '<tr><td><a href="../">../</a></td><td></td><td></td></tr>\n'
    for is_folder, name, size, changed in entries:
        mark = "/" if is_folder else ""
        day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(changed))
        link = escape(quote(os.fsencode(name)) + mark)
        shown = escape(name.encode("utf-8", "replace").decode() + mark)
        yield f'<tr><td><a href="./{link}">{shown}</a></td>'
        yield f"<td>{day}</td><td>{'' if is_folder else f'{size:,}'}</td></tr>\n"
    yield "</table></body></html>\n"
