"""The self-test at import is itself tested: by building cores that are wrong on purpose.

Each case changes one line of a copy of the sources, as a micro release that moved a
field or handled operands in a new way would, builds it, and imports it in a process of
its own.  A moved field is an ImportError that names it; a wrong rule turns soft
switching off with a warning, and everything works.  Never a crash.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import MAGIC_NUMBER

import pytest

from loomlet import _core

ROOT = pathlib.Path(__file__).parents[2]
CORE = ROOT / "src" / "core"
MINOR = f"py3{sys.version_info.minor}.h"
MAGIC = int.from_bytes(MAGIC_NUMBER[:2], "little")
FLAGS = [
    "-O0", "-w", "-std=gnu11", "-fPIC", "-fno-strict-aliasing", "-fvisibility=hidden",
    "-ftls-model=initial-exec", f"-DLOOMLET_BYTECODE_MAGIC={MAGIC}",
]  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler: cc"),
]

TRY = """
import warnings
warnings.simplefilter("error", ResourceWarning)
import loomlet
from loomlet import _core
ch = loomlet.Channel()
task = loomlet.spawn(ch.receive)
loomlet.schedule()
ch.send(41)
print("soft", _core.soft(), task.result())
"""


def compile_room(copy, out, room):
    """Objects of one room of a copy of the sources, with its sub-rooms."""
    include = ["-I", str(copy), "-I", sysconfig.get_path("include")]
    objects = []
    for source in sorted((copy / room).rglob("*.[cS]")):
        target = out / f"{'_'.join(source.relative_to(copy).with_suffix('').parts)}.o"
        command = ["cc", *FLAGS, *include, "-c", str(source), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True)
        objects.append(target)
    return objects


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Objects of all rooms but the one of CPython's internals, built once."""
    out = tmp_path_factory.mktemp("others")
    rooms = [path.name for path in CORE.iterdir() if path.is_dir() and path.name != "cpython"]
    return [target for room in rooms for target in compile_room(CORE, out, room)]


def included(name):
    """A file of the room and all headers of the room that it includes."""
    text = (CORE / "cpython" / name).read_text()
    found = re.findall(r'#include "cpython/(py\w+\.h)"', text)
    return {name}.union(*map(included, found))


def build(tmp_path, others, file, pattern, replacement):
    """A package whose core has one line of the room changed."""
    copy = tmp_path / "core"
    shutil.copytree(CORE, copy)
    broken = 0
    for name in included(file):
        path = copy / "cpython" / name
        text, count = re.subn(pattern, replacement, path.read_text(), count=1)
        path.write_text(text)
        broken += count
    assert broken == 1, f"the line to be broken is gone from {file} and what it includes"
    package = tmp_path / "loomlet"
    shutil.copytree(
        ROOT / "src" / "loomlet", package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    objects = compile_room(copy, tmp_path, "cpython")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    command = [
        "cc",
        "-shared",
        *map(str, [*objects, *others]),
        "-o",
        str(package / f"_core{suffix}"),
    ]
    subprocess.run(command, check=True, capture_output=True)


def run(tmp_path):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("LOOMLET_")}
    return subprocess.run(
        [sys.executable, "-c", TRY],
        env={**clean, "PYTHONPATH": str(tmp_path), "LD_PRELOAD": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


MOVED = {
    "recursion_limit": (
        MINOR,
        r"(thread_py_limit\(PyThreadState \*ts\)\n\{\n    return )",
        r"\1 1 + ",
    ),
    "instr_ptr": (MINOR, r"(frame_ip\(const c_frame \*f\)\n\{\n    return )", r"\1 1 + "),
    "f_executable": (MINOR, r"(\*frame_code\(const c_frame \*f\)\n\{\n    return )", r"\1 1 + "),
    "context": (MINOR, r"(context_size\(PyObject \*context\)\n\{\n    return )", r"\1 1 + "),
}


@pytest.mark.parametrize("field", MOVED)
def test_a_moved_field_is_an_import_error(field, tmp_path, others):
    """The error names the field and says to rebuild."""
    build(tmp_path, others, *MOVED[field])
    done = run(tmp_path)
    assert done.returncode == 1, done
    assert "ImportError" in done.stderr and "rebuild loomlet" in done.stderr
    assert field in done.stderr


WRONG = {
    "reference count": ("resume.c", r"    slot_close\(\*at\);", "    (void)at;"),
    "result": (
        "resume.c",
        r"        push_value\(f, value\);",
        "        push_value(f, Py_NewRef(Py_None));",
    ),
}


@pytest.mark.skipif(not _core.SOFT_SUPPORTED, reason="no soft switching on this interpreter")
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_rule_turns_soft_switching_off(what, tmp_path, others):
    """A warning says what was wrong, and the program works, hard."""
    build(tmp_path, others, *WRONG[what])
    done = run(tmp_path)
    assert done.returncode == 0, done
    assert done.stdout.split() == ["soft", "False", "41"]
    assert "RuntimeWarning" in done.stderr and what in done.stderr
