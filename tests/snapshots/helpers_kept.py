"""The bytes that are kept, by the name of their file, and what makes them."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cloudpickle
import old_functions
import old_pickles
import old_tasklets
import old_values
from helpers_programs import FROZEN, PICKLED, Program, end_all

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import Channel

HERE = Path(__file__).parent
BUILD = f"cpython-3.{sys.version_info[1]}{'t' if 't' in sys.abiflags else ''}"
MODULES = (old_functions, old_pickles, old_tasklets, old_values)
PICKLERS: dict[str, Callable[[Any, int], bytes]] = {
    "c": pickle.dumps,
    "python": pickle._dumps,  # type: ignore[attr-defined]
    "cloudpickle": cloudpickle.dumps,
}


def frozen_function(name: str) -> bytes:
    """One of old_functions in its first wait."""
    task = loomlet.spawn(getattr(old_functions, name), Channel())
    loomlet.schedule()
    return loomlet.freeze(task)


def frozen(program: Program) -> bytes:
    """A program's tasklets as bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", loomlet.FreezeWarning)
        tasklets = program.start()
        data = loomlet.freeze(tasklets, **program.options)
    end_all()
    return data


def pickled(program: Program, style: str) -> bytes:
    """What a program gives, by the pickler and the protocol of a style such as "c-4"."""
    name, protocol = style.split("-")
    try:
        started = program.start()
        return PICKLERS[name](started, int(protocol))
    finally:
        stackless.pickle_flags(0)
        end_all()


def styles(program: Program) -> tuple[str, ...]:
    """In which ways a program is pickled."""
    return ("c-4", *program.options.get("styles", ()))


def everything() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The name of each file, and what makes its bytes."""
    for name in old_functions.EXPECTED:
        yield f"{name}.frozen", lambda name=name: frozen_function(name)
    for name, program in FROZEN.items():
        yield f"{name}.frozen", lambda program=program: frozen(program)
    for name, program in PICKLED.items():
        for style in styles(program):
            yield f"{name}.{style}.pickle", lambda p=program, s=style: pickled(p, s)


def keep() -> None:
    """Writes the files that are missing."""
    folder = HERE / version("loomlet") / BUILD
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in everything():
        file = folder / name
        if not file.exists():
            file.write_bytes(make())
