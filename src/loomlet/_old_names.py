"""Modules that were called something else when bytes that may still exist were made.

Frozen bytes and ordinary pickles name functions and classes as "module.name".  So a module that
such bytes can name stays importable under each name that it has had: importing an old name gives
the module of today.  What a module calls its functions is not translated: those that bytes name
keep their names (loomlet.snapshot._builders, tests/snapshots/names.txt).

The mechanism is a finder at the end of sys.meta_path.  It is asked only when nothing else has found
a module, and knows the names below and no others; a program that loads no old bytes imports nothing
through it.  Rejected: entries in sys.modules, which would load every module with loomlet, and show
each of them twice to all that search there; an unpickler with a find_class() of its own, which
pickle.loads() does not use.  Any thread.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from loomlet._alias import alias

__all__ = ["MOVED", "install"]

MOVED = {
    "loomlet.aio.calls": "loomlet.aio._bridge",
    "loomlet.aio.hosts": "loomlet.aio._loop_runner",
    "loomlet.aio.loops": "loomlet.aio._event_loop",
    "loomlet.net.addresses": "loomlet.net._addresses",
    "loomlet.net.dialing": "loomlet.net._connecting",
    "loomlet.net.streams": "loomlet.net._streams",
    "loomlet.net.tls": "loomlet.net._tls",
    "loomlet.observe.asking": "loomlet._debug.client",
    "loomlet.observe.model": "loomlet._debug.model",
    "loomlet.runtime": "loomlet._runtime",
    "loomlet.scopes": "loomlet._scopes",
    "loomlet.serving": "loomlet._debug.server",
    "loomlet.snapshot.combinatorics": "loomlet.snapshot._itertools_state",
    "loomlet.snapshot.functions": "loomlet.snapshot._functions",
    "loomlet.snapshot.generators": "loomlet.snapshot._generators",
    "loomlet.snapshot.iterators": "loomlet.snapshot._iterators",
    "loomlet.snapshot.names": "loomlet.snapshot._importable",
    "loomlet.snapshot.ordinary": "loomlet.snapshot._copyreg_support",
    "loomlet.snapshot.partners": "loomlet.snapshot._linked",
    "loomlet.snapshot.reduced": "loomlet.snapshot._stackless_pickle",
    "loomlet.snapshot.tasklets": "loomlet.snapshot._tasklets",
    "loomlet.snapshot.tracebacks": "loomlet.snapshot._tracebacks",
    "loomlet.stall": "loomlet._debug.stalls",
    "loomlet.testing.blocked": "loomlet.testing._sequencing",
    "loomlet.testing.clock": "loomlet.testing._clock",
    "loomlet.testing.leaks": "loomlet.testing._leaks",
    "loomlet.testing.order": "loomlet.testing._run_order",
}
"""The old name of each module, and today's."""


class _Finder:
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return alias(name, MOVED[name]) if name in MOVED else None


def install() -> None:
    """From now on old names can be imported.  Once, at the import of loomlet."""
    sys.meta_path.append(_Finder())
