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


def compile_source(source, target, copy=CORE):
    """An object of one source, with the headers of `copy`."""
    include = ["-I", str(copy), "-I", sysconfig.get_path("include")]
    command = ["cc", *FLAGS, *include, "-c", str(source), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """The object of each source, by its path below src/core; built once."""
    out = tmp_path_factory.mktemp("objects")
    sources = sorted(CORE.rglob("*.[cS]"))
    return {
        source.relative_to(CORE): compile_source(source, out / f"{number}.o")
        for number, source in enumerate(sources)
    }


def included(name):
    """A file of the room and all headers of the room that it includes."""
    text = (CORE / "cpython" / name).read_text()
    return {name}.union(*map(included, set(re.findall(r'#include "cpython/(\w+\.h)"', text))))


def change(copy, file, pattern, replacement):
    """Changes the line, in the file or in a header of the room that it includes; returns where."""
    changed = []
    for name in sorted(included(file)):
        path = copy / "cpython" / name
        text, count = re.subn(pattern, replacement, path.read_text(), count=1)
        path.write_text(text)
        changed += [name] * count
    assert len(changed) == 1, f"the line to be broken is gone from {file} and what it includes"
    return changed[0]


def build(tmp_path, objects, file, pattern, replacement):
    """A package whose core has one line of the room changed; only what has that is compiled."""
    copy = tmp_path / "core"
    shutil.copytree(CORE, copy)
    changed = change(copy, file, pattern, replacement)
    package = tmp_path / "loomlet"
    shutil.copytree(
        ROOT / "src" / "loomlet", package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    others = dict(objects)
    for source in sorted((copy / "cpython").rglob("*.[cS]")):
        if changed in included(source.name):
            target = tmp_path / f"{source.stem}.o"
            others[source.relative_to(copy)] = compile_source(source, target, copy)
    module = package / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = ["cc", "-shared", *map(str, others.values()), "-o", str(module)]
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
def test_a_moved_field_is_an_import_error(field, tmp_path, objects):
    """The error names the field and says to rebuild."""
    build(tmp_path, objects, *MOVED[field])
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
def test_a_wrong_rule_turns_soft_switching_off(what, tmp_path, objects):
    """A warning says what was wrong, and the program works, hard."""
    build(tmp_path, objects, *WRONG[what])
    done = run(tmp_path)
    assert done.returncode == 0, done
    assert done.stdout.split() == ["soft", "False", "41"]
    assert "RuntimeWarning" in done.stderr and what in done.stderr
