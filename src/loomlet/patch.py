"""The standard library for tasklets: its blocking calls let other tasklets run.

install() makes `time.sleep`, stock sockets, `select`, TLS connections, lookups of names, waits for
child processes, queues, descriptors and files that are no files of a disk cooperative, and with
them all that stands on them, for code that knows nothing of loomlet.

Theory.  No class and no name is replaced: what is exchanged are the C functions behind the
methods of the interpreter's own types.  So it does not matter who imported what before, and what
somebody keeps (`from time import sleep`, a bound method, a socket that exists) is patched like all
else.  A replacement that is called where no other tasklet could run, or in a thread without
tasklets, is the original.

One library is told, because it waits in C code of its own but has others to choose from: psycopg,
by its variable PSYCOPG_WAIT_FUNC if it is still to be imported, else by the name it calls.

Rejected: replacing modules and classes, as gevent and eventlet do, which misses what was imported
before and makes types differ from those of other libraries.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from loomlet import _core, _log_records
from loomlet._pseudo_threads import Sentinel

__all__ = ["install", "installed", "uninstall"]


def install(*, threads: bool = False) -> None:
    """Makes the blocking calls of the standard library cooperative inside tasklets.

    For the whole process, in every thread that has tasklets, whatever was imported before or
    is imported later.  Once is enough; again does nothing.  Raises RuntimeError when the running
    interpreter is not laid out as expected; then nothing has changed.  Any thread.

    `threads`: threads that are started inside `loomlet.run()` are tasklets of the thread that
    starts them: threading.Thread, Timer, ThreadPoolExecutor, _thread.  Once asked for, that stays
    until uninstall().
    """
    if not _core._patch(True):
        _tell_psycopg()
        _log_records.add_tasklets()
    if threads:
        _core._patch_threads(Sentinel)


def uninstall() -> None:
    """Gives every function of the standard library back what it was.

    Once undoes any number of install().  Tasklets that wait in a patched call go on as they would
    have.  Any thread.
    """
    _core._patch_threads(None)
    if _core._patch(False):
        _tell_psycopg_no_more()
        _log_records.remove_tasklets()


def installed() -> bool:
    """Whether the calls are cooperative now.  Any thread."""
    return _core._patch(None)


_WAIT = "PSYCOPG_WAIT_FUNC"
_COOPERATIVE = "wait_selector"
_psycopg_waited: list[Any] = []  # what it called before; empty: it was not told


def _tell_psycopg() -> None:
    """From now on psycopg waits in Python; a choice of the user's stays."""
    if _WAIT in os.environ:
        return
    os.environ[_WAIT] = _COOPERATIVE
    _psycopg_waited.append(None)
    waiting: Any = sys.modules.get("psycopg.waiting")
    if waiting is not None:
        _psycopg_waited[0] = waiting.wait
        waiting.wait = getattr(waiting, "wait_poll", waiting.wait_selector)


def _tell_psycopg_no_more() -> None:
    if not _psycopg_waited:
        return
    os.environ.pop(_WAIT, None)
    waited = _psycopg_waited.pop()
    if waited is not None:
        waiting: Any = sys.modules["psycopg.waiting"]
        waiting.wait = waited
