"""The functions that a shared library imports: the undefined names of its dynamic symbol table.

Only that table is read, of 64-bit files of this machine's byte order; an interpreter on such a
machine can load no others.  A file of another format, or a damaged one, has no names.

Rejected: a library that parses complete ELF files, for one list of names.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

__all__ = ["wanted"]

ORDER = "<" if sys.byteorder == "little" else ">"
HEADER = struct.Struct(ORDER + "16sHHIQQQIHHHHHH")
SECTION = struct.Struct(ORDER + "IIQQQQIIQQ")
SYMBOL = struct.Struct(ORDER + "IBBHQQ")
MAGIC, WIDE, DYNAMIC_SYMBOLS = b"\x7fELF", 2, 11


def wanted(path: Path) -> frozenset[str]:
    """The names that a library imports when it is loaded."""
    try:
        return _undefined(path.read_bytes())
    except (OSError, struct.error, IndexError, UnicodeDecodeError, ValueError):
        return frozenset()


def _undefined(data: bytes) -> frozenset[str]:
    header = HEADER.unpack_from(data)
    if not header[0].startswith(MAGIC) or header[0][4] != WIDE:
        return frozenset()
    start, size, count = header[6], header[11], header[12]
    sections = [SECTION.unpack_from(data, start + size * number) for number in range(count)]
    found: set[str] = set()
    for section in sections:
        if section[1] == DYNAMIC_SYMBOLS:
            found.update(_names(data, section[4], section[5], sections[section[6]][4]))
    return frozenset(found)


def _names(data: bytes, start: int, size: int, texts: int) -> list[str]:
    """The names of the symbols that are in no section of this file."""
    found = []
    for at in range(start, start + size, SYMBOL.size):
        name, _, _, section, _, _ = SYMBOL.unpack_from(data, at)
        if name and section == 0:
            end = data.index(b"\0", texts + name)
            found.append(data[texts + name : end].decode())
    return found
