"""The client of a debug socket: finds it, asks for a dump, explains why a dump is missing."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from loomlet._debug.exceptions import KeptException, read
from loomlet._debug.model import Dump
from loomlet._debug.parser import FORMAT, Reader
from loomlet._debug.server import folders
from loomlet.errors import LoomletError

PATIENCE = 30
SOCKETS = Path("/proc/net/unix")
NO_SOCKET = (
    "process {pid} has no debug socket; a process opens one at its first loomlet.run() or "
    "loomlet.observe.serve(), unless LOOMLET_DUMP=0 is set"
)


class DumpError(LoomletError, OSError):
    """A process that cannot be reached, or that did not answer."""


def dump(pid: int) -> Dump:
    """What the tasklets of a process do at this moment; the program keeps running.

    The process belongs to the same user; it may be the calling one.  Dump.whole is False if the
    process ended before the answer was complete.  DumpError if there is no such process, if it has
    no debug socket, belongs to another user, or could not be copied; ValueError for an answer that
    is not a dump.
    """
    with _connect(pid) as connection:
        try:
            connection.sendall(b"dump\n")
            lines = _lines(connection)
            first = next(lines, None)
            reader = Reader()
            if first is None:
                raise DumpError(f"process {pid} ended before it answered")
            if first != FORMAT:
                raise DumpError(f"expected a dump from process {pid}, found {first[:80]!r}")
            reader.take(lines)
        except OSError as error:
            raise _failure(pid, error) from error
    if reader.refused:
        text = os.strerror(reader.refused)
        raise DumpError(f"process {pid} could not be copied: {text}")
    return reader.dump


def exceptions(pid: int) -> list[KeptException]:
    """What doctor() finds in a process of the same user; DumpError as of dump().

    The process answers between two instructions of its Python code, so it does not while it is
    stuck in C code that keeps the GIL.
    """
    with _connect(pid) as connection:
        try:
            connection.sendall(b"exceptions\n")
            lines = list(_lines(connection))
        except OSError as error:
            raise _failure(pid, error) from error
    if not lines:
        raise DumpError(
            f"process {pid} did not answer: it is about to end, answers another one at this "
            "moment, or is of an older loomlet"
        )
    return read(lines)


def _connect(pid: int) -> socket.socket:
    error: OSError = FileNotFoundError()
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.settimeout(PATIENCE)
        for path in _paths(pid):
            try:
                connection.connect(path)
            except OSError as failure:
                error = failure
                continue
            stack.pop_all()
            return connection
    raise _failure(pid, error)


def _paths(pid: int) -> Iterator[str]:
    """Where its socket may be: in our own folders, or where the system lists one of that name."""
    uid = _owner(pid)
    for folder in folders(uid):
        yield f"{folder}/{pid}"
    ending = re.compile(rf" (/\S*/loomlet-{uid}/{pid})$")
    try:
        listed = SOCKETS.read_text(errors="replace").splitlines()
    except OSError:
        return
    for line in listed:
        found = ending.search(line)
        if found:
            yield found[1]


def _owner(pid: int) -> int:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}").stat().st_uid
    except PermissionError:
        return Path(f"/proc/{pid}").stat().st_uid
    except (OSError, OverflowError):
        raise DumpError(f"there is no process {pid}") from None


def _failure(pid: int, error: OSError) -> DumpError:
    if isinstance(error, DumpError):
        return error
    if isinstance(error, PermissionError):
        return DumpError(f"process {pid} belongs to another user; run this as that user or as root")
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return DumpError(NO_SOCKET.format(pid=pid))
    return DumpError(f"process {pid} did not answer: {error or type(error).__name__}")


def _lines(connection: socket.socket) -> Iterator[str]:
    """Complete lines without their line ends; an incomplete last line is dropped."""
    rest = b""
    while data := _receive(connection):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")


def _receive(connection: socket.socket) -> bytes:
    """No bytes at the end, also when the process was killed."""
    try:
        return connection.recv(1 << 20)
    except ConnectionResetError:
        return b""
