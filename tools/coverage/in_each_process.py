"""Measures each Python process of the run, from its import of loomlet on.

The environment's .pth file imports this.  Lines are counted by sys.monitoring, which leaves frames
as they are: with a trace function every switch would be hard, and other C code would be measured
than users run.  For the same reason the core is loaded first: its checks of the interpreter at
import must not run under monitoring.

PathFinder is asked through AtImport, which is no finder of sys.meta_path: pytest puts its own one
in front of all others and imports loomlet itself, because loomlet has a plugin.

A process that leaves by os._exit() saves what it has.  Other interpreters of a process are not
measured.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

CORE = "loomlet._core"
DATA, PROCESS = "LOOMLET_COVERAGE_DATA", "LOOMLET_COVERAGE_PROCESS"


class AtImport:
    """Stands before PathFinder: begins when it is loomlet's turn, and finds the loaded core."""

    def __init__(self) -> None:
        self.core: ModuleType | None = None
        self.real = vars(PathFinder)["find_spec"]
        self.find = PathFinder.find_spec
        PathFinder.find_spec = self.find_spec

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Of the package first, of its core later."""
        if name == "loomlet" and self.core is None:
            self.core = load_core()
            leave_well(self.core, measure(os.environ[DATA]))
        elif name == CORE and self.core is not None:
            PathFinder.find_spec = self.real
            return spec_from_file_location(name, self.core.__file__, loader=Loaded(self.core))
        return self.find(name, path, target)


class Loaded:
    """The loader of a module that was loaded before."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The one that is there."""
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


def load_core() -> ModuleType:
    """The native core, which nothing has imported yet."""
    folders = (Path(entry) / "loomlet" for entry in sys.path)
    file = next(file for folder in folders for file in folder.glob("_core.*.so"))
    spec = spec_from_file_location(CORE, file)
    core = module_from_spec(spec)
    sys.modules[CORE] = core
    spec.loader.exec_module(core)
    del sys.modules[CORE]
    return core


def measure(data: str) -> object:
    """Counts the lines of the package from here on."""
    os.environ["COVERAGE_CORE"] = "sysmon"
    import coverage

    measured = coverage.Coverage(
        data_file=data, data_suffix=True, source_pkgs=["loomlet"], omit=["*/loomlet/bench/*"]
    )
    measured._warn_no_data = measured._warn_unimported_source = False
    measured._warn_preimported_source = False
    atexit.register(save, measured)
    measured.start()
    return measured


def save(measured: object) -> None:
    """A process without descriptors or memory left saves nothing, silently."""
    with contextlib.suppress(Exception):
        measured.stop()
        measured.save()


def leave_well(core: ModuleType, measured: object) -> None:
    """os._exit() runs no handler that would save the counters."""
    import ctypes

    leave, write = os._exit, ctypes.CDLL(core.__file__).loomlet_coverage_write

    def save_and_leave(status: int) -> None:
        try:
            save(measured)
            write()
        finally:
            leave(status)

    os._exit = save_and_leave


if DATA in os.environ and os.environ.get(PROCESS) != str(os.getpid()):
    os.environ[PROCESS] = str(os.getpid())
    AtImport()
