"""Stream and Listener: the native types, and addresses through the socket module.

Sending, receiving and accepting are single calls of the native core, inherited unchanged: a wrapper
in Python would cost more than the system call.  How waits work, and what several threads may do, is
described in src/core/io/io.h.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from loomlet import _core
from loomlet.net._lines import LONGEST, split_lines

__all__ = ["Listener", "Stream"]


def _ask(fd: int, question: Callable[[socket.socket], Any]) -> Any:
    """Calls a method of the socket module for a descriptor, which remains ours."""
    with socket.socket(fileno=os.dup(fd)) as borrowed:
        return question(borrowed)


class Stream(_core.Stream):
    """Stream(fd): bytes both ways over a connected socket, a pipe or a terminal.

    It takes the descriptor over; `Stream(sock.detach())` turns a socket into a stream.  Close it
    with close() or `with`: an unreferenced open stream is closed with a ResourceWarning.
    """

    __slots__ = ()

    def lines(self, max_bytes: int = LONGEST) -> Iterator[bytes]:
        """The lines that arrive, without their b"\\n" or b"\\r\\n", until nothing more comes.

        The last one may have no end.  ValueError if one is longer than `max_bytes`.
        """
        return split_lines(self, max_bytes)

    @property
    def local(self) -> Any:
        """The address of this end, as the socket module gives it."""
        return _ask(self.fileno(), socket.socket.getsockname)

    @property
    def peer(self) -> Any:
        """The address of the other end."""
        return _ask(self.fileno(), socket.socket.getpeername)


class Listener(_core.Listener):
    """Listener(fd): accepts connections to a listening socket, which it takes over.

    accept() waits for a connection; `for stream in listener` ends when the listener is closed.
    """

    __slots__ = ()

    def __new__(cls, fd: int, /) -> Listener:
        return super().__new__(cls, fd, Stream)

    @property
    def local(self) -> Any:
        """The address at which it listens; after listen() with port 0 the actual one."""
        return _ask(self.fileno(), socket.socket.getsockname)

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Stream]: ...
        def __next__(self) -> Stream: ...
        def accept(self) -> Stream: ...
