"""The standard library for tasklets: its blocking calls let other tasklets run.

install() makes `time.sleep`, builtin sockets, `select`, TLS connections, name lookups, waits for
child processes, queues, descriptors, files that are not disk files, and SQLite connections that
wait for others cooperative, and with them everything built on them, for code that knows nothing of
loomlet.

Theory.  No class and no name is replaced, only the C functions behind the methods of the
interpreter's own types.  So the order of imports does not matter, and references that a program
keeps (`from time import sleep`, a bound method, an existing socket) are patched like everything
else.  Called where no other tasklet could run, or in a thread without tasklets, a replacement calls
the original.

psycopg waits in its own C code, which none of this reaches; it gets a function of ours to wait with
(`_psycopg_wait`).

install(sync=True) is the exception: it replaces names of `threading` and `queue`, because the locks
and queues behind them are other objects, which no function of the standard ones could handle
(loomlet.sync._standard_names).

Rejected for all else: replacing modules and classes, as gevent and eventlet do.  That misses what
was imported before and makes types differ from those of other libraries.
"""

from __future__ import annotations

import sys

from loomlet import _core, _log_records, _psycopg_wait, _raise_in_thread
from loomlet._pseudo_threads import Sentinel

__all__ = ["install", "installed", "uninstall"]


def install(*, threads: bool = False, sync: bool = False) -> None:
    """Makes the blocking calls of the standard library cooperative inside tasklets.

    For the whole process, in every thread that has tasklets, whatever was imported before or is
    imported later.  A second call does nothing.  Raises RuntimeError if the memory layout of the
    running interpreter is not the expected one; then nothing has changed.  Any thread.

    `threads`: threads that are started inside `loomlet.run()` are tasklets of the thread that
    starts them: threading.Thread, Timer, ThreadPoolExecutor, _thread.  Once set, this stays until
    uninstall().

    `sync`: in every module, the names of `threading` and `queue` mean our locks, conditions,
    events, semaphores, barriers and queues, by which OS threads hand over faster, too.  Objects
    that already exist stay as they are.  Stays until uninstall().
    """
    if not _core._patch(True):
        _psycopg_wait.install()
        _log_records.add_tasklets()
    if threads:
        _core._patch_threads(Sentinel)
        _raise_in_thread.replace()
    if sync:
        from loomlet.sync import _standard_names

        _standard_names.replace()


def uninstall() -> None:
    """Restores every function of the standard library.

    One call undoes any number of install().  Tasklets that wait in a patched call are not affected.
    Any thread.
    """
    _core._patch_threads(None)
    names = sys.modules.get("loomlet.sync._standard_names")
    if names is not None:
        names.restore()
    if _core._patch(False):
        _psycopg_wait.uninstall()
        _log_records.remove_tasklets()


def installed() -> bool:
    """Whether the calls are cooperative now.  Any thread."""
    return _core._patch(None)
