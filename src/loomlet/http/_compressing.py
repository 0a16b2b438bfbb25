"""Compressed answers of folders: what the engine does not do itself.

The engine answers compressed files that lie beside the ones that are asked for, and what was
compressed before (src/core/serve/compressed.c).  What is missing it asks for here: a text file or a
listing is compressed by gzip once, given to the engine to keep, and answered.  Several requests for
the same file wait for one of them.  Requests of HTTP/2 are answered from here altogether.

Large files are compressed in a thread of the pool, so no other tasklet waits for them.  A file that
changes while it is read is not kept.

Threads.  Tasklets of the server's thread.

Rejected: compressing on each request (a page of 100 KB costs more time than all the rest).
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from typing import Any

from loomlet import _core
from loomlet.blocking import run_blocking
from loomlet.http._answers import answer_whole
from loomlet.http._codings import NO_FILE, SUFFIXES, VARY, accepted, type_of
from loomlet.http._open_files import open_below
from loomlet.http._requests import Request

__all__ = ["Compressor"]

LEVEL = 6
GZIP = zlib.MAX_WBITS | 16
AT_ONCE = 32768
"""Bytes that are compressed without a thread."""
LEAST, MOST = 256, 2**20
"""What is worth it, in bytes; as in compressed.c."""
TEXT = re.compile("text/|json|xml|javascript")


class _Job:
    """What several requests wait for."""

    __slots__ = ("done", "is_whole", "result")

    def __init__(self) -> None:
        self.done = _core.Event()
        self.is_whole = False  # else whoever made it was killed, or had no memory
        self.result: tuple[list[tuple[str, str]], bytes] | None = None


class Compressor:
    """Compresses files and pages of the folders of that server."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._jobs: dict[str, _Job] = {}

    def answer_file(self, request: Request, target: str) -> bool:
        """Answers with the file of that target, compressed: whether there is one that can be."""
        job = self._wait_for_another(target)
        if job is None:
            job = self._jobs[target] = _Job()
            try:
                job.result = self._compress_file(target)
                job.is_whole = True
            finally:
                self._jobs.pop(target, None)
                job.done.set()
        if job.result is None:
            return False
        _answer(request, *job.result)
        return True

    def _wait_for_another(self, target: str) -> _Job | None:
        """What another request has compressed meanwhile; None: nobody does, or it has failed."""
        while (job := self._jobs.get(target)) is not None:
            job.done.wait()
            if job.is_whole:
                return job
        return None

    def answer_page(self, request: Request, target: str, kind: str, page: bytes) -> None:
        """Answers with a page that was made for that target, compressed."""
        body = compress(page)
        kept = self._core._keep_made(target, kind, body, NO_FILE)
        _answer(request, _fields(kept, kind), body)

    def find_beside(
        self, request: Request, target: str, facts: os.stat_result
    ) -> tuple[int, str] | None:
        """For HTTP/2: the file beside that one, compressed and not older: open, and its coding."""
        taken = accepted(request)
        for coding, suffix in SUFFIXES:
            if coding not in taken:
                continue
            try:
                fd = self._core._open_below(target + suffix)
            except OSError:
                continue
            found = os.fstat(fd)
            if stat.S_ISREG(found.st_mode) and int(found.st_mtime) >= int(facts.st_mtime):
                return fd, coding
            os.close(fd)
        return None

    def is_worth_it(self, request: Request, target: str, facts: os.stat_result) -> bool:
        """For HTTP/2: whether that file is to be compressed for that client."""
        fits = LEAST <= facts.st_size <= MOST and TEXT.search(type_of(target)) is not None
        return fits and "gzip" in accepted(request)

    def _compress_file(self, target: str) -> tuple[list[tuple[str, str]], bytes] | None:
        fd = open_below(self._core, target)
        if fd is None:
            return None
        try:
            facts = os.fstat(fd)
            if not stat.S_ISREG(facts.st_mode):
                return None
            data = os.pread(fd, facts.st_size + 1, 0)
            body = compress(data)
            after = os.fstat(fd)
            is_same = (after.st_mtime_ns, after.st_size) == (facts.st_mtime_ns, len(data))
            kept = self._core._keep_made(target, "", body, fd) if is_same else None
            return _fields(kept, kept[2] if kept is not None else type_of(target)), body
        finally:
            os.close(fd)


def compress(data: bytes) -> bytes:
    """As a file of gzip."""
    if len(data) <= AT_ONCE:
        return zlib.compress(data, LEVEL, GZIP)
    return run_blocking(zlib.compress, data, LEVEL, GZIP)


def _fields(kept: tuple[str, str, str] | None, kind: str) -> list[tuple[str, str]]:
    fields = [("Content-Type", kind), ("Content-Encoding", "gzip"), VARY]
    if kept is not None:
        tag, modified, _ = kept
        fields += [("ETag", f'{tag[:-1]}-gzip"'), ("Last-Modified", modified)]
    return fields


def _answer(request: Request, fields: list[tuple[str, str]], body: bytes) -> None:
    answer_whole(request, 200, fields, body)
