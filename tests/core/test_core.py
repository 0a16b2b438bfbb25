"""The C tests of the rooms without Python, each in a process of its own.

Built four ways by tests/core/CMakeLists.txt: plain, with the address and undefined-behaviour
sanitizers, with the thread sanitizer (which cannot follow stack switches: those tests are left out
of the build), and for aarch64, run under qemu-user.  A build that this machine cannot make or run
is skipped with the reason; the plain one never is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import helpers_c_programs
import pytest

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "core-tests"
CROSS = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-aarch64"
UNFIT_FOR_EMULATION = {
    "a_forked_child_can_take_stacks": "takes a quarter of a minute under emulation",
    "without_address_space_there_is_no_stack": "the emulator does not hold the guest to its limit",
    "a_small_address_space_has_idents_too": "the same",
    "without_address_space_chunks_come_from_the_c_library": "the same",
}

# The thread sanitizer is not notified of switches; a model of a protocol is one thread, and long.
MODELS = ("handoff.c", *sorted(path.name for path in HERE.glob("sync_*.c")))
LEFT_OUT = {("tsan", "switch.c")} | {(way, file) for way in ("tsan", "aarch64") for file in MODELS}

# The longest of those models: the others show what the address sanitizer could find in them.
LONG_MODELS = (
    "a_tasklet_may_be_kept_apart_beside_others",
    "threads_may_run_beside_each_other",
    "a_lock_is_handed_over_in_the_order_of_arrival",
    "who_waits_for_a_queue_learns_that_it_is_shut",
    "items_and_room_are_handed_over_when_the_last_item_is_the_first",
    "readers_and_writers_are_let_in_between_threads",
    "a_notification_is_handed_over_between_threads",
)

# The thread sanitizer needs its memory at fixed addresses, which random layouts may occupy.
FIXED_ADDRESSES = ("setarch", "-R")


@dataclass(frozen=True)
class Way:
    """One way to build and run: options of CMake, and what comes before the program."""

    name: str
    options: tuple[str, ...] = ()
    wrapper: tuple[str, ...] = ()


WAYS = {
    "plain": Way("plain"),
    "asan": Way("asan", ("-DLOOMLET_SANITIZE=address,undefined",)),
    "tsan": Way("tsan", ("-DLOOMLET_SANITIZE=thread",), FIXED_ADDRESSES),
    "aarch64": Way(
        "aarch64",
        (
            "-DCMAKE_SYSTEM_NAME=Linux",
            "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
            f"-DCMAKE_C_COMPILER={CROSS}",
            "-DCMAKE_EXE_LINKER_FLAGS=-static",
        ),
        (EMULATOR,),
    ),
}


def names(file: Path) -> list[str]:
    """The tests of one C file."""
    return re.findall(r"^TEST\((\w+)\)", file.read_text(), re.MULTILINE)


def cases() -> list[tuple[str, str]]:
    """(way, test) for all that can be built that way."""
    found = []
    for way in WAYS:
        for file in sorted(HERE.glob("*.c")):
            if (way, file.name) not in LEFT_OUT:
                found += [
                    (way, name) for name in names(file) if way != "asan" or name not in LONG_MODELS
                ]
    return found


def tool(name: str) -> str | None:
    """A program beside this Python, where the environment has it, or on PATH."""
    return shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@cache
def addresses_can_be_fixed() -> bool:
    """Whether setarch is there and allowed."""
    return (
        bool(shutil.which("setarch"))
        and call("setarch", "--addr-no-randomize", "true").returncode == 0
    )


def call(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a program with its output together, for at most ten minutes."""
    if command[:2] == FIXED_ADDRESSES and not addresses_can_be_fixed():
        command = command[2:]
    return helpers_c_programs.call(*command, timeout=600)


def sanitizer_works(way: Way) -> bool:
    """Whether the compiler can build and run an empty program that way."""
    kind = way.options[0].partition("=")[2]
    out = BUILD / f"try-{way.name}"
    BUILD.mkdir(parents=True, exist_ok=True)
    source = out.with_suffix(".c")
    source.write_text("int main(void) { return 0; }\n")
    built = call(helpers_c_programs.compiler(), f"-fsanitize={kind}", str(source), "-o", str(out))
    return built.returncode == 0 and call(*way.wrapper, str(out)).returncode == 0


def lack(way: Way) -> str | None:
    """Why this machine cannot build or run it that way."""
    if way.name == "aarch64" and not shutil.which(CROSS):
        return f"no {CROSS}: apt-get install gcc-aarch64-linux-gnu qemu-user"
    if way.name in ("asan", "tsan") and not sanitizer_works(way):
        return f"programs built with {way.options[0].partition('=')[2]} do not work here"
    return None


def build(way: Way) -> Path:
    """The test program, built; AssertionError with the compiler's words."""
    cmake = tool("cmake")
    assert cmake, "the C tests are built with cmake: pip install cmake, or make build"
    folder = BUILD / way.name
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"] if tool("ninja") else []
    done = call(cmake, "-S", str(HERE), "-B", str(folder), *generator, *way.options)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        done = call(cmake, "-S", str(HERE), "-B", str(folder), *generator, *way.options)
    assert done.returncode == 0, done.stdout
    done = call(cmake, "--build", str(folder))
    assert done.returncode == 0, done.stdout
    return folder / "core_tests"


@pytest.fixture(scope="session")
def program() -> Callable[[str], Path]:
    """The test program of a way, built once; skips where the machine cannot."""
    built: dict[str, Path | str] = {}

    def get(name: str) -> Path:
        if name not in built:
            built[name] = lack(WAYS[name]) or build(WAYS[name])
        found = built[name]
        if isinstance(found, str):
            pytest.skip(found)
        return found

    return get


@pytest.mark.parametrize("way, name", cases())
def test_core(way: str, name: str, program: Callable[[str], Path]) -> None:
    """One C test, one way."""
    path = program(way)
    if way == "aarch64" and not shutil.which(EMULATOR):
        pytest.skip(f"assembled and linked, but no {EMULATOR} to run it: apt-get install qemu-user")
    if way == "aarch64" and name in UNFIT_FOR_EMULATION:
        pytest.skip(UNFIT_FOR_EMULATION[name])
    done = call(*WAYS[way].wrapper, str(path), name)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == f"ok {name}"


def test_every_c_test_is_known(program: Callable[[str], Path]) -> None:
    """The names read from the sources are those that the program has, and each exists once."""
    listed = call(str(program("plain")), "--list").stdout.split()
    assert sorted(listed) == sorted(name for way, name in cases() if way == "plain")
    assert len(set(listed)) == len(listed)


def test_a_broken_test_is_reported(program: Callable[[str], Path]) -> None:
    """The program's status is not 0 for a name that does not exist."""
    assert call(str(program("plain")), "no_such_test").returncode == 1
