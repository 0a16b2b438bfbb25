"""Which names of loomlet stand in frozen bytes and in pickles."""

from __future__ import annotations

import importlib
import pickletools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loomlet.snapshot import _pickler
from loomlet.snapshot._envelope import HEAD, PLAIN_CHECK, SIGNED, SIGNED_CHECK

MODULE = re.compile(r"loomlet(\.\w+)*")
GETS = {"BINGET", "LONG_BINGET", "GET"}
PUTS = {"BINPUT", "LONG_BINPUT", "PUT"}


def payload(file: Path) -> tuple[bytes, int]:
    """The opcodes in a file, and how many places of the memo are taken before the first one."""
    data = file.read_bytes()
    if file.suffix != ".frozen":
        return data, 0
    flags = HEAD.unpack_from(data)[2]
    start = HEAD.size + (SIGNED_CHECK if flags & SIGNED else PLAIN_CHECK)
    return data[start:], len(_pickler.VOCABULARY)


def values(file: Path) -> Iterator[Any]:
    """What is pushed, in order: strings as they are, others as None; `GLOBAL` as a pair."""
    data, taken = payload(file)
    memo: dict[int, Any] = dict.fromkeys(range(taken))
    last: Any = None
    for code, argument, _ in pickletools.genops(data):
        if code.name == "MEMOIZE":
            memo[len(memo)] = last
            continue
        if code.name in PUTS:
            memo[int(argument)] = last
            continue
        if code.name in GETS:
            last = memo[int(argument)]
        elif code.name == "GLOBAL":
            last = tuple(argument.split(" "))
        else:
            last = argument if "UNICODE" in code.name else None
        if code.name not in ("FRAME", "PROTO"):
            yield last


def in_file(file: Path) -> set[str]:
    """ "module name" for each name, "module" for one that stands alone."""
    found = set()
    module = None
    for value in values(file):
        if isinstance(value, tuple):
            if MODULE.fullmatch(value[0]):
                found.add(" ".join(value))
            module = None
        elif module is not None:
            named = isinstance(value, str) and not value.endswith("__")
            found.add(f"{module} {value}" if named else module)
            module = None
        elif isinstance(value, str) and MODULE.fullmatch(value):
            module = value
    return found


def found(name: str) -> Any:
    """What a name stands for in this process."""
    module, _, path = name.partition(" ")
    value: Any = importlib.import_module(module)
    for part in path.split(".") if path else ():
        if part != "<locals>":
            value = getattr(value, part)
    return value
