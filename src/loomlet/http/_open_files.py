"""Opening files of a server's folders, by the engine's own door (_open_below).

When descriptors or memory run out, files that exist cannot be opened.  The client is then asked to
retry (503), instead of being told that there is no such file (404).
"""

from __future__ import annotations

import errno
from typing import Any

from loomlet.http._errors import HTTPError

__all__ = ["is_shortage", "open_below"]


def is_shortage(error: OSError) -> bool:
    """Whether the file may exist, and could not be opened for lack of descriptors or memory."""
    return error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def open_below(core: Any, target: str) -> int | None:
    """Opens that file or folder of a server.

    Returns its descriptor, or None if it does not exist or must not be read.  Raises HTTPError(503)
    when descriptors or memory have run out.
    """
    try:
        fd: int = core._open_below(target)
    except OSError as error:
        if is_shortage(error):
            raise HTTPError(503, headers=[("Retry-After", "1")]) from error
        return None
    return fd
