"""The door of a process: a private UNIX socket at which `python -m loomlet dump PID` asks.

It is opened by the first loomlet.run(), or by serve(), not by the import.  The file lies in the
folder `loomlet-UID` of $XDG_RUNTIME_DIR, else of $TMPDIR or /tmp, which belongs to the user alone,
and is called like the process's number.  It is removed at the end of the interpreter; a process
that ends otherwise leaves it behind, and the next one that opens its door clears away what nobody
holds any more.  The child of a fork opens one of its own.  Where there can be none (the folder is
somebody else's, no descriptor, no thread) the program goes on without; serve() tells.

LOOMLET_DUMP=0: run() opens none.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import stat
import threading

from loomlet import _core

__all__ = ["at_run", "folders", "serve", "withdraw"]

_lock = threading.Lock()
_open: str | None = None
_tried = os.environ.get("LOOMLET_DUMP") == "0"


def folders(uid: int) -> list[str]:
    """Where a user's doors may be, the likeliest first."""
    bases = [os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp"]
    return [f"{base}/loomlet-{uid}" for base in bases if base and os.path.isdir(base)]


def serve() -> str:
    """Opens the door of this process, if it is not open; gives the path of its socket.

    Any thread.  OSError when there can be none.
    """
    global _open, _tried
    with _lock:
        _tried = True
        if _open is None:
            _open = _open_one()
        return _open


def withdraw() -> None:
    """Closes the door and removes its socket; nothing happens when it is not open.  Any thread."""
    global _open
    with _lock:
        path, _open = _open, None
        if path is not None:
            _core._debug_socket_close()
            _remove(path)


def at_run() -> None:
    """Opens the door at the first run() of the process, if that is wanted and possible."""
    if not _tried:
        with contextlib.suppress(OSError, MemoryError):
            serve()


def _open_one() -> str:
    error: OSError = FileNotFoundError("expected XDG_RUNTIME_DIR, TMPDIR or /tmp to be a folder")
    for folder in folders(os.geteuid()):
        path = f"{folder}/{os.getpid()}"
        try:
            _make_private(folder)
            _clear(folder)
            _remove(path)  # of a process that had our number
            _core._debug_socket_open(path)
        except OSError as failure:
            error = failure
            continue
        return path
    raise error


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _make_private(folder: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(f"expected {folder} to be a folder of this user alone; remove it")


def _clear(folder: str) -> None:
    """Removes the sockets that nobody holds any more.

    A door is a stream: a datagram socket cannot knock there, and is told so, without disturbing
    anybody, if the socket still exists.
    """
    names = [name for name in os.listdir(folder) if name != str(os.getpid())]
    if not names:
        return
    import socket

    for name in names:
        path = f"{folder}/{name}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asker:
            try:
                asker.connect(path)
            except ConnectionRefusedError:
                _remove(path)
            except OSError:
                pass


def _before_fork() -> None:
    _lock.acquire()


def _after_fork_in_parent() -> None:
    _lock.release()


def _after_fork_in_child() -> None:
    global _open, _tried
    _lock.release()
    if _core._debug_socket_after_fork():
        _open = None
        _tried = False
        at_run()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
atexit.register(withdraw)
