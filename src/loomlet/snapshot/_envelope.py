"""The envelope of frozen bytes: which CPython can read them, and whether they are intact.

    LMLT  version  flags  minor  magic  check  payload

`flags` says whether the interpreter is free-threaded and whether the bytes are signed; `minor` and
`magic` are those of the CPython that froze.  `check` is the CRC-32 of all the rest, or its
HMAC-SHA256 under the user's key.  Bytes are checked before any of the payload is read.  The CRC
finds accidents only; nothing but a key proves who made the bytes, so a costlier hash without a key
was rejected.  So was compression: most payloads are short, and programs that store many can
compress them better together.  Any thread.
"""

from __future__ import annotations

import hmac
import importlib.util
import struct
import sys
from zlib import crc32

from loomlet.errors import ThawError

__all__ = ["open_sealed", "seal"]

NAME = b"LMLT"
VERSION = 1
SIGNED = 1
FREE_THREADED = 2
HEAD = struct.Struct("<4sBBBH")
PLAIN_CHECK = 4
SIGNED_CHECK = 32
PLAIN_START = HEAD.size + PLAIN_CHECK

_OPCODES = int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")
_BUILD = FREE_THREADED if "t" in sys.abiflags else 0
_MINOR = sys.version_info[1]
_PLAIN = HEAD.pack(NAME, VERSION, _BUILD, _MINOR, _OPCODES)
_PLAIN_CRC = crc32(_PLAIN)
_SIGNED = HEAD.pack(NAME, VERSION, _BUILD | SIGNED, _MINOR, _OPCODES)


def _check(head: bytes, payload: bytes, key: bytes | None) -> bytes:
    if key is None:
        return crc32(payload, _PLAIN_CRC).to_bytes(PLAIN_CHECK, "little")
    return hmac.digest(key, head + payload, "sha256")


def _as_bytes(data: object) -> bytes:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected frozen bytes, found {type(data).__name__}")
    return bytes(data)


def _key(key: object) -> bytes:
    if not isinstance(key, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected a key of bytes or None, found {type(key).__name__}")
    if len(key) == 0:
        raise ValueError("expected a key that is not empty")
    return bytes(key)


def seal(payload: bytes, key: bytes | None) -> bytes:
    """The payload with its head and check."""
    if key is None:
        return _PLAIN + _check(_PLAIN, payload, None) + payload
    return _SIGNED + _check(_SIGNED, payload, _key(key)) + payload


def open_sealed(data: bytes, key: bytes | None) -> bytes:
    """The payload; ThawError if the bytes are not ours, not intact, or not signed correctly."""
    if key is None and type(data) is bytes and data.startswith(_PLAIN):
        payload = data[PLAIN_START:]
        if crc32(payload, _PLAIN_CRC) == int.from_bytes(data[HEAD.size : PLAIN_START], "little"):
            return payload
        raise ThawError("the bytes were changed or cut short since they were frozen")
    return _open_other(_as_bytes(data), key)


def _open_other(data: bytes, key: bytes | None) -> bytes:
    if key is None:
        if not data.startswith(_PLAIN):
            _refuse_others(data, False)
        return open_sealed(data, None)
    key = _key(key)
    if not data.startswith(_SIGNED):
        _refuse_others(data, True)
    start = HEAD.size + SIGNED_CHECK
    payload = data[start:]
    if not hmac.compare_digest(_check(_SIGNED, payload, key), data[HEAD.size : start]):
        raise ThawError("the key is wrong, or the bytes were changed or cut short")
    return payload


def _refuse_others(data: bytes, signed: bool) -> None:
    if len(data) < HEAD.size or not data.startswith(NAME):
        raise ThawError(f"expected bytes made by loomlet.freeze(), found {data[:8]!r}…")
    _, version, flags, minor, opcodes = HEAD.unpack_from(data)
    if version != VERSION:
        raise ThawError(f"these bytes have format {version}; this loomlet reads format {VERSION}")
    if flags & ~(SIGNED | FREE_THREADED):
        raise ThawError("the bytes were changed since they were frozen: unknown flags")
    if minor != _MINOR or opcodes != _OPCODES or (flags & FREE_THREADED) != _BUILD:
        kind = " free-threaded" if flags & FREE_THREADED else ""
        mine = " free-threaded" if _BUILD else ""
        raise ThawError(
            f"frozen by CPython 3.{minor}{kind} (bytecode {opcodes}), this is 3.{_MINOR}{mine} "
            f"(bytecode {_OPCODES}); thaw with the same minor version"
        )
    if flags & SIGNED and not signed:
        raise ThawError("these bytes are signed; give the key= they were frozen with")
    raise ThawError("a key was given, but these bytes are not signed")
