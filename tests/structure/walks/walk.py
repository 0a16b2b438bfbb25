"""Follows a call of the user through the files of loomlet, from the call to its return.

    python tests/structure/walks/walk.py [--trip] [--root ROOT] [PROGRAM ...]

PROGRAM is one of this folder, without its suffix; all of them if none is given.  ROOT is another
checkout.  For each is counted, by the tables of levels in ROOT's tests/structure/test_layers.py:

files   that are entered; a C file counts with the header of its name
climbs  calls that enter a file of a higher level than the caller's; each function once.  Calls by
        the interpreter do not count, nor does the first call on another C stack
rises   how often a file is entered that is higher than the one entered just before: how often the
        road comes back up to go down again

--trip prints each step.  The core is compiled once more without optimisation or inlining and with
a call at the entry of each function, so that small functions in headers are seen too.  Only the
calling thread is followed.  Needs gcc, addr2line and Python 3.12.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import MAGIC_NUMBER
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CACHE = ROOT / "build" / "walks"
# Functions that are forced inline would not be seen, and their calls would be their caller's.
FLAGS = [
    "-std=gnu11", "-O0", "-gdwarf-4", "-fPIC", "-w", "-fno-strict-aliasing", "-fcf-protection=none",
    "-ftls-model=initial-exec", "-fvisibility=hidden", "-fno-plt", "-fno-inline",
    "-Dalways_inline=noinline", "-finstrument-functions",
    f"-DLOOMLET_BYTECODE_MAGIC={int.from_bytes(MAGIC_NUMBER[:2], 'little')}",
]  # fmt: skip
NOT_INSTRUMENTED = "-finstrument-functions-exclude-file-list=/include/python,/lib/gcc,/usr/include"


def lacking() -> str | None:
    """What a walk needs and this machine lacks."""
    missing = [tool for tool in ("gcc", "addr2line") if shutil.which(tool) is None]
    if sys.version_info < (3, 12):
        missing.append("Python 3.12")
    header = Path(sysconfig.get_path("include"), "internal", "pycore_frame.h")
    missing += [] if header.is_file() else [str(header)]
    return f"a walk needs {', '.join(missing)}" if missing else None


@dataclass(frozen=True)
class Step:
    """A function that is entered: its file and name, and the file of its caller."""

    file: str
    name: str
    caller: str | None


# ---- building ------------------------------------------------------------------------------------


@cache
def stamp(root: Path) -> str:
    """One word for the sources of a core and the interpreter."""
    text = hashlib.sha256(repr((sys.version, FLAGS, str(root))).encode())
    for path in sorted([*(root / "src" / "core").rglob("*.[chS]"), HERE / "recorder.c"]):
        text.update(path.read_bytes())
    return text.hexdigest()[:16]


def compile_all(sources: Iterable[Path], flags: list[str], folder: Path) -> list[str]:
    """The object files."""

    def compile_one(item: tuple[int, Path]) -> str:
        target = str(folder / f"{item[0]}.o")
        subprocess.run(["gcc", *flags, "-c", str(item[1]), "-o", target], check=True)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, enumerate(sources)))


def built(root: Path) -> Path:
    """A folder with the package, whose core is recorded, and the recorder."""
    made = CACHE / stamp(root)
    if made.is_dir():
        return made
    CACHE.mkdir(parents=True, exist_ok=True)
    core, include = root / "src" / "core", sysconfig.get_path("include")
    flags = [*FLAGS, NOT_INSTRUMENTED, f"-I{core}", f"-I{include}"]
    machine = "x86_64" if os.uname().machine == "x86_64" else "aarch64"
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        folder = Path(scratch)
        objects = compile_all(sorted(core.rglob("*.c")), flags, folder)
        objects += compile_all(core.rglob(f"*{machine}.S"), flags, folder / "..")
        shutil.copytree(root / "src" / "loomlet", folder / "out" / "loomlet")
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        target = folder / "out" / "loomlet" / f"_core{suffix}"
        subprocess.run(["gcc", "-shared", *objects, "-o", str(target)], check=True)
        recorder = ["gcc", "-shared", "-fPIC", "-O1", str(HERE / "recorder.c"), "-o"]
        subprocess.run([*recorder, str(folder / "out" / "recorder.so")], check=True)
        (folder / "out").rename(made)
    return made


# ---- walking -------------------------------------------------------------------------------------


def recorded(program: str, package: Path) -> list[list[str]]:
    """What the recorder writes when a program is run with that package."""
    with tempfile.NamedTemporaryFile() as out:
        environment = {
            **os.environ,
            "LOOMLET_WALK": out.name,
            "LD_PRELOAD": str(package / "recorder.so"),
            "PYTHONPATH": str(package),
        }
        subprocess.run(
            [sys.executable, str(HERE / f"{program}.py")], env=environment, check=True, timeout=60
        )
        return [line.split("\t") for line in Path(out.name).read_text().splitlines()]


def places(package: Path, offsets: set[str], root: Path) -> dict[str, tuple[str, str]]:
    """Function and file (from the root of its checkout) of each offset in the core."""
    core = next((package / "loomlet").glob("_core*.so"))
    order = sorted(offsets)
    text = "\n".join(order)
    command = ["addr2line", "-f", "-e", str(core)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return {
        offset: (lines[2 * i], inside(lines[2 * i + 1].split(":")[0], root))
        for i, offset in enumerate(order)
    }


def inside(path: str, root: Path) -> str:
    """The path of a source as it is written in the core or the package; '' for others."""
    for start in (f"{root}/src/core/", f"{CACHE}/{stamp(root)}/"):
        if path.startswith(start):
            return path.removeprefix(start)
    return ""


def before(offset: str) -> str:
    """The call whose return address that is."""
    return f"{int(offset, 16) - 1:x}" if offset != "0" else offset


def steps(program: str, root: Path) -> Iterator[Step]:
    """The trip of a program's call; all of the core's functions and the package's."""
    package = built(root)
    lines = recorded(program, package)
    entries = [line for line in lines if line[0] == "c"]
    known = places(package, {o for e in entries for o in (e[1], before(e[2]))}, root)
    for line in lines:
        if line[0] == "python":
            yield Step(inside(line[1], root), line[2], inside(line[3], root) or None)
        else:
            name, file = known[line[1]]
            caller = known[before(line[2])][1] if line[2] != "0" else None
            if file.endswith((".c", ".h")):
                yield Step(unit(file, root), name, unit(caller, root) if caller else None)


def unit(file: str, root: Path) -> str:
    """A header is its C file's."""
    source = f"{file[:-1]}c" if file.endswith(".h") else file
    return source if (root / "src" / "core" / source).exists() else file


# ---- levels --------------------------------------------------------------------------------------


def tables(root: Path) -> dict[str, Any]:
    """The tables of levels in a checkout's test_layers.py, and the C files with own headers."""
    text = (root / "tests" / "structure" / "test_layers.py").read_text()
    core = root / "src" / "core"
    shared = [path for path in core.glob("*/*.c") if path.with_suffix(".h").is_file()]
    found: dict[str, Any] = {"SHARED": {path.relative_to(core).as_posix() for path in shared}}
    for node in ast.parse(text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id.endswith("_LEVELS"):
            found[target.id] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
    return found


def position(name: str, levels: Iterable[Iterable[str]]) -> int:
    """The level whose row has that name; above all levels without such a row."""
    rows = list(levels)
    return next((i for i, row in enumerate(rows) if name in row), len(rows))


def level(file: str, found: dict[str, Any]) -> tuple[int, ...]:
    """How high a file stands: C below Python, then by room, then by sub-room."""
    if file.endswith(".py"):
        dotted = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        top = ".".join(dotted.split(".")[:2])
        rows = found["PYTHON_LEVELS"]
        return 1, min(position(top, rows), position(f"{top}.", rows))
    room, *sub, _ = file.split("/")
    within = found.get("SUB_LEVELS", {}).get(room, ())
    shared = not sub and (file.endswith(".h") or file in found.get("SHARED", ()))
    inner = -1 if shared and within else position(sub[0] if sub else ".", within)
    return 0, position(room, found["C_LEVELS"]), inner


def climbs(trip: Iterable[Step], found: dict[str, Any]) -> list[Step]:
    """The calls that enter a higher room or level than their caller's, each once."""
    calls = [step for step in trip if step.caller and not step.caller.endswith(".S")]
    up = [step for step in calls if level(step.file, found) > level(str(step.caller), found)]
    return list(dict.fromkeys(up))


def rises(trip: Sequence[Step], found: dict[str, Any]) -> int:
    """How often a step enters a higher level than the one before it."""
    levels = [level(step.file, found) for step in trip]
    return sum(after > before for before, after in pairwise(levels))


def summary(program: str, trip: Sequence[Step], found: dict[str, Any]) -> str:
    """One line: the figures of a trip, the files by room."""
    files = dict.fromkeys(step.file for step in trip)
    rooms = Counter("Python" if file.endswith(".py") else file.split("/")[0] for file in files)
    by_room = ", ".join(f"{room} {count}" for room, count in rooms.items())
    figures = f"{len(climbs(trip, found))} climbs, {rises(trip, found)} rises, {len(trip)} calls"
    return f"{program}: {len(files)} files, {figures} ({by_room})"


def programs() -> list[str]:
    """Those of this folder."""
    own = {"walk", "recording"}
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in own)


def main() -> None:
    """Prints a line for each program, and its climbs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="*", choices=[*programs(), []])
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--trip", action="store_true")
    asked = parser.parse_args()
    if (why := lacking()) is not None:
        sys.exit(f"not run: {why}")
    root = asked.root.resolve()
    found = tables(root)
    for program in asked.program or programs():
        trip = list(steps(program, root))
        print(summary(program, trip, found))
        for step in trip if asked.trip else ():
            print(f"    {step.caller or '-'} -> {step.file}: {step.name}")
        for step in climbs(trip, found):
            print(f"    climb: {step.caller} -> {step.file}: {step.name}")


if __name__ == "__main__":
    main()
