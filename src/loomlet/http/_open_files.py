"""Opening files of a server's folders, by the engine's own door (_open_below).

A file that cannot be opened because descriptors or memory are used up may well be there: who asks
for it is told to come again, not that there is no such file.
"""

from __future__ import annotations

import errno
from typing import Any

from loomlet.http._errors import HTTPError

__all__ = ["is_shortage", "open_below"]


def is_shortage(error: OSError) -> bool:
    """Whether the process or the system had no room to open the file: it may be there."""
    return error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def open_below(core: Any, target: str) -> int | None:
    """A descriptor of that file or folder of a server; None: there is none that may be opened.

    Raises HTTPError(503) when no descriptor or memory was left.
    """
    try:
        fd: int = core._open_below(target)
    except OSError as error:
        if is_shortage(error):
            raise HTTPError(503, headers=[("Retry-After", "1")]) from error
        return None
    return fd
