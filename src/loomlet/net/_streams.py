"""Stream and Listener: the native types, and what is asked of a socket now and then.

Sending, receiving and accepting are single calls of the native core, inherited as they are: a
wrapper in Python would cost more than the system call.  Who waits for what, and what several
threads may do, is told in src/core/io/io.h.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from loomlet import _core

__all__ = ["Listener", "Stream"]


def _ask(fd: int, question: Callable[[socket.socket], Any]) -> Any:
    """Asks the socket module about a descriptor that stays ours."""
    with socket.socket(fileno=os.dup(fd)) as borrowed:
        return question(borrowed)


class Stream(_core.Stream):
    """Stream(fd): bytes both ways over a connected socket, a pipe or a terminal.

    It takes the descriptor over; `Stream(sock.detach())` makes one of a socket.  Close it with
    close() or `with`: one that is dropped is closed with a ResourceWarning.
    """

    __slots__ = ()

    @property
    def local(self) -> Any:
        """The address of this end, as the socket module has it."""
        return _ask(self.fileno(), socket.socket.getsockname)

    @property
    def peer(self) -> Any:
        """The address of the other end."""
        return _ask(self.fileno(), socket.socket.getpeername)


class Listener(_core.Listener):
    """Listener(fd): connections to a listening socket, which it takes over.

    accept() waits for one; `for stream in listener` ends when it is closed.
    """

    __slots__ = ()

    def __new__(cls, fd: int, /) -> Listener:
        return super().__new__(cls, fd, Stream)

    @property
    def local(self) -> Any:
        """The address that it listens at; after listen() with port 0 the true one."""
        return _ask(self.fileno(), socket.socket.getsockname)

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Stream]: ...
        def __next__(self) -> Stream: ...
        def accept(self) -> Stream: ...
