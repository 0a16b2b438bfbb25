"""The debug socket: a private UNIX socket, at which other processes ask this one.

`python -m loomlet dump PID` and `python -m loomlet doctor exceptions PID` do.

The first loomlet.run() opens it, or serve(); the import does not.  The file is called by the
process number and lies in the folder `loomlet-UID` of $XDG_RUNTIME_DIR, else of $TMPDIR or /tmp;
only the user can read that folder.  The file is removed when the interpreter ends.  A process that
ends otherwise leaves it there, and the next process that opens a debug socket removes such stale
files.  The child of a fork opens a socket of its own, unless a thread other than main has forked:
that child ends with its thread, which must be its only one.  If no socket can be opened (the folder
belongs to another user, there is no descriptor or no thread left), the program runs without one;
serve() raises the error.

LOOMLET_DUMP=0: run() opens no socket.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import stat
import threading

from loomlet import _core, _program_end

__all__ = ["at_run", "folders", "serve", "withdraw"]

_lock = threading.Lock()
_open: str | None = None
_tried = os.environ.get("LOOMLET_DUMP") == "0"


def folders(uid: int) -> list[str]:
    """The folders in which a user's debug sockets may be, the likeliest first."""
    bases = [os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp"]
    return [f"{base}/loomlet-{uid}" for base in bases if base and os.path.isdir(base)]


def serve() -> str:
    """Opens the debug socket of this process if it is not open; returns its path.

    Any thread.  OSError if it cannot be opened.
    """
    global _open, _tried
    with _lock:
        _tried = True
        if _open is None:
            _open = _open_socket()
        return _open


def withdraw() -> None:
    """Closes and removes the debug socket, if it is open.  Any thread."""
    global _open
    with _lock:
        path, _open = _open, None
        if path is not None:
            _core._debug_socket_close()
            _remove(path)


def at_run() -> None:
    """Opens the debug socket at the first run() of the process, unless LOOMLET_DUMP=0."""
    if not _tried:
        with contextlib.suppress(OSError, MemoryError):
            serve()


def _open_socket() -> str:
    error: OSError = FileNotFoundError("expected XDG_RUNTIME_DIR, TMPDIR or /tmp to be a folder")
    for folder in folders(os.geteuid()):
        path = f"{folder}/{os.getpid()}"
        try:
            _core._answer_questions(_begin_answer)
            _make_private(folder)
            _clear(folder)
            _remove(path)  # left by a process with the same number
            _core._debug_socket_open(path)
        except OSError as failure:
            error = failure
            continue
        return path
    raise error


def _begin_answer(fd: int) -> None:
    """Called with a connection by a thread of the core, whose stack is too small for more."""
    _thread.start_new_thread(_answer, (fd,))


def _answer(fd: int) -> None:
    from loomlet._debug import exceptions

    exceptions.answer(fd)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _make_private(folder: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder of this user alone; remove it")


def _clear(folder: str) -> None:
    """Removes the sockets of processes that have ended.

    A debug socket is a stream socket: connecting a datagram socket to a live one fails with
    EPROTOTYPE, and its process notices nothing.
    """
    names = [name for name in os.listdir(folder) if name != str(os.getpid())]
    if not names:
        return
    import socket

    for name in names:
        path = f"{folder}/{name}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                _remove(path)
            except OSError:
                pass


_forks_in_main = False


def _before_fork() -> None:
    global _forks_in_main
    _lock.acquire()
    _forks_in_main = threading.get_native_id() == os.getpid()


def _after_fork_in_parent() -> None:
    _lock.release()


def _after_fork_in_child() -> None:
    global _open, _tried
    _lock.release()
    if _core._debug_socket_after_fork():
        _open = None
        _tried = False
        if _forks_in_main or _core._is_run_lost():
            at_run()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
_program_end.at_exit(withdraw)
