"""The access log: a line for each request that has been answered.

The engine hands over notes, many at once when the server is busy.  One list after the other is
written; when whoever reads the log is slower than the server, there is room for some thousands, and
what has none is counted and said.  A format has the names of
gunicorn: %(h)s address, %(l)s and %(u)s a hyphen, %(t)s time, %(r)s request line, %(m)s method,
%(U)s path, %(q)s query, %(H)s version, %(s)s status, %(b)s and %(B)s bytes of the body (%(b)s: a
hyphen for none), %(f)s Referer, %(a)s User-Agent, %(T)s seconds, %(M)s milliseconds, %(D)s
microseconds, %(L)s seconds with six digits, %(p)s number of the process.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loomlet import _core

if TYPE_CHECKING:
    from loomlet.http._forwarded import Proxies

__all__ = ["DEFAULT", "access_log", "check_format"]

DEFAULT = '%(h)s %(l)s %(u)s %(t)s "%(r)s" %(s)s %(b)s "%(f)s" "%(a)s"'

Note = tuple[str, str, str, str, int, int, float, str | None, str | None, str | None]
"""What the core says of a request (src/core/bind/http/note.c)."""

log = logging.getLogger("loomlet.http.access")


def access_log(
    core: Any, pattern: str = DEFAULT, proxies: Proxies | None = None
) -> Callable[[list[Note]], None]:
    """What writes notes of that server by the logger loomlet.http.access.  The address is what
    these proxies say.  ValueError if the format has a name that is none of the above."""
    check_format(pattern)
    turn = _core.Lock()

    def write(notes: list[Note]) -> None:
        with turn:
            lost = core._take_notes()
            now = time.strftime("[%d/%b/%Y:%H:%M:%S %z]")
            for note in notes:
                log.info("%s", pattern % _atoms(note, now, proxies))
            if lost:
                log.warning("%d requests were not logged: the log is slower than the server", lost)

    return write


def check_format(pattern: str) -> None:
    """ValueError unless it is a format, with no other names than those above."""
    try:
        pattern % _atoms(("", "", "", "", 0, 0, 0.0, None, None, None), "", None)
    except (KeyError, ValueError, TypeError) as error:
        why = f"there is no name {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"expected a format of the access log such as {DEFAULT!r}, found {pattern!r}: {why}"
        ) from None


def _atoms(note: Note, now: str, proxies: Proxies | None) -> dict[str, Any]:
    host, method, target, version, status, size, seconds, referer, agent, forwarded = note
    if proxies is not None:
        host = proxies.client_of(host, forwarded)
    path, _, query = target.partition("?")
    return {
        **{"h": host or "-", "l": "-", "u": "-", "t": now, "m": method, "U": path, "q": query},
        **{"r": f"{method} {target} HTTP/{version}", "H": f"HTTP/{version}", "s": status},
        **{"B": size, "b": size or "-", "f": referer or "-", "a": agent or "-"},
        **{"T": int(seconds), "M": int(seconds * 1e3), "D": int(seconds * 1e6)},
        **{"L": f"{seconds:.6f}", "p": f"<{os.getpid()}>"},
    }
