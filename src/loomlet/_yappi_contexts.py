"""The profiler yappi, which keeps one stack of calls for each context: each tasklet is one.

For yappi a context is a thread of the system, unless it is given functions that say which one it is
in, and by what name.  Without them the calls of all tasklets of a thread come into one stack, and
their times are wrong without a word.  Ours are put in as soon as yappi is imported, in place of the
default; a program that sets functions or a backend of its own replaces them.
"""

from __future__ import annotations

from typing import Any

from loomlet import _after_import, _core

__all__ = ["keep"]

_asked: list[bool] = []


def keep() -> None:
    """From now on, or from the import of yappi on, its contexts are tasklets.  Any thread."""
    if not _asked:
        _asked.append(True)
        _after_import.call("yappi", _put_into)


def _put_into(yappi: Any) -> None:
    default = getattr(yappi, "_ctx_name_callback", lambda: None)  # names threads by their classes

    def name() -> str | None:
        return _core._tasklet_name() if _core._context_number() & 1 else default()

    yappi.set_context_id_callback(_core._context_number)
    yappi.set_context_name_callback(name)
