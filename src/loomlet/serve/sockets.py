"""Listening sockets.  The parent opens them and keeps them open, so that no worker's end loses a
connection that the system has accepted.

On the internet each worker has one of its own (SO_REUSEPORT): the system spreads connections over
them, and a worker that takes the place of another one takes its socket, with what waits in it.  A
path of the file system and an inherited descriptor are one socket for all.

A service manager that opens the sockets says so in the environment, as systemd does: LISTEN_FDS is
how many there are, from descriptor 3 on, and LISTEN_PID for whom.  They are taken unless --uds or
--fd says otherwise; each has its own workers.  A socket that somebody else keeps open outlives this
server, so the next one takes over what is queued on it.

None of them may block: that is a property of the socket, not of a descriptor, so a process that
made it block again (a copy that is opened with Python's default does) would stop the workers that
accept from it.
"""

from __future__ import annotations

import errno
import os
import socket
import stat

from loomlet.serve.settings import Settings

__all__ = ["find_activated", "open_sockets", "where"]

FIRST_ACTIVATED = 3


def find_activated() -> list[int]:
    """The descriptors of listening sockets that a service manager has left to this process.

    Says it once: the variables are removed, so that no other program takes them for its own.
    """
    given = {name: os.environ.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS")}
    os.environ.pop("LISTEN_FDNAMES", None)
    if given["LISTEN_PID"] != str(os.getpid()) or not given["LISTEN_FDS"].isdecimal():
        return []
    return [FIRST_ACTIVATED + at for at in range(int(given["LISTEN_FDS"]))]


def open_sockets(settings: Settings) -> list[socket.socket]:
    """One for each worker; OSError if that is not possible."""
    sockets = _open_all(settings)
    for each in sockets:
        each.setblocking(False)
    return sockets


def _open_all(settings: Settings) -> list[socket.socket]:
    if settings.fds:
        inherited = [_inherit(fd, settings.backlog) for fd in settings.fds]
        return [each.dup() for each in inherited for _ in range(settings.workers)]
    if settings.uds is not None:
        local = _open_local(settings.uds, settings.backlog)
        return [local.dup() for _ in range(settings.workers)]
    first = _open(settings.host, settings.port, settings)
    port = first.getsockname()[1]
    return [first, *(_open(settings.host, port, settings) for _ in range(settings.workers - 1))]


def _open(host: str, port: int, settings: Settings) -> socket.socket:
    return socket.create_server(
        (host, port),
        family=socket.AF_INET6 if ":" in host else socket.AF_INET,
        backlog=settings.backlog,
        reuse_port=settings.workers > 1,
    )


def _inherit(fd: int, backlog: int) -> socket.socket:
    inherited = socket.socket(fileno=fd)
    if inherited.type != socket.SOCK_STREAM:
        raise OSError(errno.EPROTOTYPE, "expected a stream socket there")
    if not inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        inherited.listen(backlog)
    return inherited


def _open_local(path: str, backlog: int) -> socket.socket:
    """What another process has left there is removed, if it is a socket."""
    try:
        if stat.S_ISSOCK(os.stat(path).st_mode):
            os.unlink(path)
    except FileNotFoundError:
        pass
    made = socket.socket(socket.AF_UNIX)
    made.bind(path)
    made.listen(backlog)
    return made


def where(sockets: list[socket.socket], *, secure: bool) -> str:
    """What a user types to reach them."""
    return ", ".join(dict.fromkeys(_where(each, secure) for each in sockets))


def _where(sock: socket.socket, secure: bool) -> str:
    name = sock.getsockname()
    if sock.family == socket.AF_UNIX:
        return f"unix:{name}"
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"http{'s' if secure else ''}://{host}:{name[1]}/"
