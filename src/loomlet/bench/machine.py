"""What the results say about the machine and the interpreter, and where the bench keeps its files.

Linux only, as the library is: memory figures come from /proc.
"""

from __future__ import annotations

import os
import platform
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def python() -> str:
    """The interpreter in words: implementation, version and whether it has a GIL."""
    words = [platform.python_implementation(), platform.python_version()]
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        words.append("free-threaded")
    return " ".join(words)


def describe(versions: Mapping[str, str]) -> dict[str, Any]:
    """The machine, and the versions of the systems measured on it."""
    return {
        "cpu": _field(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory": _kilobytes("MemTotal") * 1024,
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "versions": dict(versions),
    }


def free_memory() -> int:
    """Bytes that programs could have without swapping."""
    return _kilobytes("MemAvailable") * 1024


def cache() -> Path:
    """The folder of the latest results and of the peers' built programs, made if need be.

    `LOOMLET_BENCH_DIR` names another one.
    """
    folder = Path(os.environ.get("LOOMLET_BENCH_DIR") or cache_of("bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cache_of(what: str) -> Path:
    """Where things of that kind are kept for this user, unless a variable names another folder."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "loomlet" / what


def _kilobytes(name: str) -> int:
    return int((_field(Path("/proc/meminfo"), name) or "0 kB").split()[0])


def _field(path: Path, name: str) -> str:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
