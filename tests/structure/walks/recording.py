"""Used by the programs of this folder: `with recording.walk():` around the call that is followed.

Run by walk.py a recorder is preloaded, which records entered functions of the core; the
functions of the package's Python files are recorded here.  Run alone, a program does its work only.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, ModuleType

PREFIX = "loomlet"


def codes_of(value: object) -> Iterator[CodeType]:
    """The code of a function or of a class's methods, with all that is defined inside."""
    for found in (value, getattr(value, "__func__", None), getattr(value, "fget", None)):
        code = getattr(found, "__code__", None)
        if isinstance(code, CodeType):
            yield from nested(code)
    if isinstance(value, type) and value.__module__.startswith(PREFIX):
        for member in vars(value).values():
            yield from codes_of(member)


def nested(code: CodeType) -> Iterator[CodeType]:
    """A code object and those among its constants."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def package_codes() -> set[CodeType]:
    """The code of all loaded modules of the package."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(PREFIX)]
    values = [value for module in modules for value in list(vars(module).values())]
    return {code for v in values if not isinstance(v, ModuleType) for code in codes_of(v)}


class Walk:
    """Notes what is entered inside the `with` block."""

    def __init__(self) -> None:
        """Watches the functions of the package, where there is a recorder."""
        self.path = os.environ.get("LOOMLET_WALK")
        if self.path is None:
            return
        self.recorder = ctypes.PyDLL(None)
        self.noted: list[ctypes.c_char_p] = []
        events = sys.monitoring.events.PY_START | sys.monitoring.events.PY_RESUME
        sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "walk")
        sys.monitoring.register_callback(
            sys.monitoring.PROFILER_ID, sys.monitoring.events.PY_START, self.started
        )
        for code in package_codes():
            sys.monitoring.set_local_events(sys.monitoring.PROFILER_ID, code, events)

    def started(self, code: CodeType, _: int) -> None:
        """Notes a function of the package with the file of its caller."""
        frame: FrameType | None = sys._getframe(1).f_back
        caller = frame.f_code.co_filename if frame is not None else ""
        text = f"{code.co_filename}\t{code.co_qualname}\t{caller}"
        self.noted.append(ctypes.c_char_p(text.encode()))
        self.recorder.walk_python(self.noted[-1])

    def __enter__(self) -> None:
        """The recorder begins."""
        if self.path is not None:
            self.recorder.walk_switch(1)

    def __exit__(self, *_: object) -> None:
        """The recorder ends, and writes what it has noted."""
        if self.path is None:
            return
        self.recorder.walk_switch(0)
        core = ctypes.PyDLL(sys.modules[f"{PREFIX}._core"].__file__)
        inside = ctypes.cast(core.PyInit__core, ctypes.c_void_p)
        self.recorder.walk_write(self.path.encode(), inside)


def walk() -> Walk:
    """The call inside the block is followed."""
    return Walk()
