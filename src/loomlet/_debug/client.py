"""Asking a process: finding its socket, and understanding why there is none."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from loomlet._debug.model import Dump
from loomlet._debug.parser import FORMAT, Reader
from loomlet._debug.server import folders
from loomlet.errors import LoomletError

PATIENCE = 30
SOCKETS = Path("/proc/net/unix")
NO_DOOR = (
    "expected a process that answers for loomlet, found none at {pid}; it answers from its first "
    "loomlet.run() or loomlet.observe.serve() on, unless LOOMLET_DUMP=0 was set"
)


class DumpError(LoomletError, OSError):
    """A process that cannot be asked, or did not answer."""


def dump(pid: int) -> Dump:
    """What the tasklets of a process do at this moment; the program goes on meanwhile.

    Asks a process of the same user, also the calling one.  What is missing because the process
    ended meanwhile shows in Dump.whole.  DumpError when there is no such process, when it does not
    answer for loomlet, belongs to somebody else, or could not be copied; ValueError for an answer
    that is no dump.
    """
    with _knock(pid) as asker:
        try:
            asker.sendall(b"dump\n")
            lines = _lines(asker)
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
        raise DumpError(f"process {pid} could not be copied to be looked at: {text}")
    return reader.dump


def _knock(pid: int) -> socket.socket:
    asker = socket.socket(socket.AF_UNIX)
    asker.settimeout(PATIENCE)
    error: OSError = FileNotFoundError()
    for path in _doors(pid):
        try:
            asker.connect(path)
        except OSError as failure:
            error = failure
            continue
        return asker
    asker.close()
    raise _failure(pid, error)


def _doors(pid: int) -> Iterator[str]:
    """Where its socket may be: where ours would, or where the system knows one of that name."""
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
        raise DumpError(f"expected the number of a process, found {pid}: there is none") from None


def _failure(pid: int, error: OSError) -> DumpError:
    if isinstance(error, DumpError):
        return error
    if isinstance(error, PermissionError):
        return DumpError(f"process {pid} belongs to another user; ask as that user, or as root")
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return DumpError(NO_DOOR.format(pid=pid))
    return DumpError(f"process {pid} did not answer: {error or type(error).__name__}")


def _lines(asker: socket.socket) -> Iterator[str]:
    """Whole lines without their ends; what comes behind the last end is dropped."""
    rest = b""
    while data := _receive(asker):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")


def _receive(asker: socket.socket) -> bytes:
    """Nothing at the end, also when the process was killed."""
    try:
        return asker.recv(1 << 20)
    except ConnectionResetError:
        return b""
