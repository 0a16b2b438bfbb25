"""serve(): a tasklet for each connection.

A server ends as everything does: its scope is cancelled, or the listener is closed.  What a handler
raises ends its connection alone, and goes to the error handler: a server does not stop because one
client was unexpected.  When the system gives no more descriptors, accepting pauses; connections
wait in the backlog meanwhile.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from loomlet import _core
from loomlet._scopes import TaskGroup, TaskStatus
from loomlet.net._addresses import Address
from loomlet.net._connecting import listen
from loomlet.net._streams import Listener

if TYPE_CHECKING:
    import ssl

    from loomlet.net._tls import TLSListener

__all__ = ["serve"]

EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
PAUSE = 0.1
"""Seconds without accepting after such an error."""


def serve(
    handler: Callable[[Any], object],
    address: Address | Listener | TLSListener,
    *,
    limit: int | None = None,
    tls: ssl.SSLContext | None = None,
    task_status: TaskStatus[Any] | None = None,
) -> None:
    """Calls handler(stream) in a tasklet of its own for each connection, until it is cancelled or
    the listener is closed; then the handlers are cancelled or waited for.

    `address`: as for listen(), or a listener, which is closed at the end.  A stream is closed when
    its handler returns or raises; an exception goes to the error handler.  `limit`: so many
    connections are served at once.  `tls`: the context of a TLS server, as for listen().

    `group.start(net.serve, handler, address)` returns the listener once it listens.
    """
    where: Any = address
    listener: Any = where if hasattr(where, "accept") else listen(where, tls=tls)
    broken: OSError | None = None
    with listener, TaskGroup(limit=limit) as group:
        if task_status is not None:
            task_status.started(listener)
        try:
            _serve_each(handler, listener, group)
        except OSError as error:
            broken = error
            group.cancel()
    if broken is not None:
        raise broken


def _serve_each(handler: Callable[[Any], object], listener: Any, group: TaskGroup) -> None:
    for stream in _accepted(listener):
        try:
            group.spawn(_handle, group, handler, stream)
        except BaseException:
            stream.close()
            raise


def _accepted(listener: Any) -> Iterator[Any]:
    while True:
        try:
            yield from listener
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            _core.sleep(PAUSE)
        else:
            return


def _handle(group: TaskGroup, handler: Callable[[Any], object], stream: Any) -> None:
    with stream:
        try:
            handler(stream)
        except Exception as error:
            group._report(_core.current(), error)
