"""The systems that can be measured: whether each is on this machine, and how its program is run.

A system answers two questions. `version()` is its version, or None where it is not installed.
`command(job)` is the argument list and the extra environment of the process that does the job; it
may first compile the program, into the bench's cache folder, and raises BenchError if that fails.

Go and Erlang get one processor each, which is what one thread of tasklets has; `go-2` shows what a
second one brings.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from ctypes.util import find_library
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any, Protocol

from loomlet.bench import machine, servers
from loomlet.bench.building import built, printed_by
from loomlet.bench.model import Job

PROGRAMS = Path(__file__).with_name("programs")
POSTGRESQL = "postgresql"
DATABASE = "LOOMLET_POSTGRESQL"  # the variable that says where its server is


class System(Protocol):
    """A system that can be measured."""

    @property
    def name(self) -> str:
        """Its name in the results, in lower case."""

    @property
    def install(self) -> str:
        """How to install it; '' for what is always there."""

    def version(self) -> str | None:
        """Its version, or None where it is not installed."""

    def command(self, job: Job) -> tuple[list[str], dict[str, str]]:
        """Argument list and extra environment of the process that does the job."""


@dataclass(frozen=True)
class Python:
    """A system whose program runs in this interpreter; without `module` the language brings it."""

    name: str
    program: str
    module: str = ""
    flavour: str = ""
    install: str = ""

    def version(self) -> str | None:
        """The installed distribution's version."""
        if not self.module:
            return sys.version.split()[0]
        if util.find_spec(self.module) is None:
            return None
        try:
            return metadata.version(self.module)
        except metadata.PackageNotFoundError:
            return "from source"

    def command(self, job: Job) -> tuple[list[str], dict[str, str]]:
        """The driver, with the program that it must load; a server is started otherwise."""
        if job.experiment == servers.NAME:
            return servers.command(job)
        known = {**job.parameters, "flavour": self.flavour}
        if job.experiment == "net":
            known["server"] = redis_server()
        if job.experiment == "net" or "client" in known:
            known["client"] = load_client()
        driver, parameters = str(PROGRAMS / "driver.py"), json.dumps(known)
        return [sys.executable, "-P", driver, job.experiment, self.program, parameters], {}


@dataclass(frozen=True)
class Allocator:
    """This interpreter with that allocator preloaded; without a library, with the C library's."""

    name: str
    library: str
    install: str
    program: str = "heap_report"

    def version(self) -> str | None:
        """The file name of the library that the loader finds, or the C library's version."""
        if not self.library:
            return " ".join(platform.libc_ver()).strip() or None
        return find_library(self.library)

    def command(self, job: Job) -> tuple[list[str], dict[str, str]]:
        """The driver, which makes sure that the library was loaded."""
        library = find_library(self.library) or "" if self.library else ""
        parameters = json.dumps({**job.parameters, "flavour": "", "library": library})
        driver = str(PROGRAMS / "driver.py")
        command = [sys.executable, "-P", driver, job.experiment, self.program, parameters]
        return command, {"LD_PRELOAD": library, "PYTHONMALLOC": "default"}


@dataclass(frozen=True)
class Go:
    """A Go program, built once per source and compiler."""

    name: str
    processors: int
    install: str

    def version(self) -> str | None:
        """What `go version` says, without its first two words."""
        words = printed_by("go", "version")
        return words.split()[2] if words else None

    def command(self, job: Job) -> tuple[list[str], dict[str, str]]:
        """The built program on `processors` processors; a server is started otherwise."""
        if job.experiment == servers.NAME:
            return servers.command(job)
        program = self.executable(f"{job.experiment}.go")
        return [program, *_words(job.parameters)], {"GOMAXPROCS": str(self.processors)}

    def executable(self, source: str) -> str:
        """The path of the built program."""
        folder = built(PROGRAMS / source, self.version() or "", self._build)
        return str(folder / Path(source).stem)

    @staticmethod
    def _build(source: Path, folder: Path) -> list[str]:
        return ["go", "build", "-o", str(folder / source.stem), str(source)]


@dataclass(frozen=True)
class Erlang:
    """An Erlang module, run by an emulator with one scheduler."""

    name: str
    install: str

    def version(self) -> str | None:
        """The OTP release, found without starting an emulator; both `erl` and `erlc` are needed."""
        if shutil.which("erl") is None or shutil.which("erlc") is None:
            return None
        ask = "io:format(erlang:system_info(otp_release)), halt()."
        release = printed_by("erl", "-noshell", "-noinput", "-eval", ask)
        return f"OTP {release}" if release else None

    def command(self, job: Job) -> tuple[list[str], dict[str, str]]:
        """The emulator, which calls the module's main()."""
        source = PROGRAMS / f"{job.experiment}.erl"
        folder = built(source, self.version() or "", self._build)
        emulator = ["erl", "+S", "1", "+P", "4194304", "-noshell", "-noinput", "-pa", str(folder)]
        return [*emulator, "-run", job.experiment, "main", *_words(job.parameters)], {}

    @staticmethod
    def _build(source: Path, folder: Path) -> list[str]:
        return ["erlc", "-o", str(folder), str(source)]


def _words(parameters: Mapping[str, Any]) -> list[str]:
    """Words, numbers and yes/no answers as the compiled programs take them, in the given order."""
    values = parameters.values()
    return [str(int(each) if isinstance(each, bool) else each) for each in values]


_PIP = "pip install {}"
_GO = "install Go 1.19 or newer and put `go` on the PATH (Debian: apt install golang-go)"
_DEBIAN = "install lib{0} (Debian: apt install {1})"
_ERLANG = "install Erlang and put `erl` and `erlc` on the PATH (Debian: apt install erlang-base)"

_ALL: tuple[System, ...] = (
    Python("loomlet", "on_loomlet", "loomlet", install=_PIP.format("loomlet")),
    Python("no-handoff", "on_loomlet", "loomlet", install=_PIP.format("loomlet")),
    Python("no-priority", "on_loomlet", "loomlet", install=_PIP.format("loomlet")),
    Python("prioritised", "on_loomlet", "loomlet", install=_PIP.format("loomlet")),
    Python("process", "on_loomlet", "loomlet", install=_PIP.format("loomlet")),
    Python("greenlet", "on_greenlet", "greenlet", install=_PIP.format("greenlet")),
    Python("tealet", "on_tealet", "tealet", install=_PIP.format("tealet")),
    Python("gevent", "on_gevent", "gevent", install=_PIP.format("gevent")),
    Python("asyncio", "on_asyncio"),
    Python("uvloop", "on_asyncio", "uvloop", "uvloop", install=_PIP.format("uvloop")),
    Python("generator", "on_generator"),
    Python("threads", "on_threads"),
    Python("interval", "on_threads"),
    Python("futex", "on_threads"),
    Python("cloudpickle", "on_pickles", "cloudpickle", "cloudpickle", _PIP.format("cloudpickle")),
    Python("dill", "on_pickles", "dill", "dill", _PIP.format("dill")),
    Allocator("glibc", "", "run on a system with the GNU C library"),
    Allocator("mimalloc", "mimalloc", _DEBIAN.format("mimalloc", "libmimalloc2.0")),
    Allocator("jemalloc", "jemalloc", _DEBIAN.format("jemalloc", "libjemalloc2")),
    Allocator(
        "tcmalloc", "tcmalloc_minimal", _DEBIAN.format("tcmalloc_minimal", "libtcmalloc-minimal4")
    ),
    Go("go", 1, _GO),
    Go("go-2", 2, _GO),
    Erlang("erlang", _ERLANG),
)


def load_client() -> list[str]:
    """The command of the program that asks the servers; a Python one where there is no Go."""
    go = Go("go", 1, _GO)
    if go.version() is None:
        return [sys.executable, "-P", str(PROGRAMS / "client.py")]
    return [go.executable("net.go"), "client"]


def lacks(needed: str) -> str:
    """How to get what a benchmark of a library, or of PostgreSQL, lacks; '' for nothing."""
    if needed == POSTGRESQL:
        return "" if os.environ.get(DATABASE) else f"set {DATABASE} to its address"
    return "" if util.find_spec(needed) else _PIP.format(needed)


def redis_server() -> str:
    """The path of redis-server: installed, or fetched by tools/servers; '' without one."""
    cache = os.environ.get("LOOMLET_SERVERS") or machine.cache_of("servers")
    got = Path(cache) / "redis" / "usr" / "bin" / "redis-server"
    return shutil.which("redis-server") or (str(got) if os.access(got, os.X_OK) else "")


def lacks_redis() -> str:
    """What a benchmark of redis lacks on this machine, and how to get it; '' for nothing."""
    server = "" if redis_server() else "install redis-server (Debian: apt install redis-server)"
    return lacks("redis") or server


SYSTEMS: Mapping[str, System] = {**servers.ALL, **{system.name: system for system in _ALL}}
"""Those that only serve HTTP come last; of one name, the entry here counts."""
