"""Builds small extension modules with the headers of libraries that bind C++ to Python.

Each module is kept in build/test-extensions, named by a hash of its source, its compiler's command
line and its library's version: so each interpreter has its own, and none is compiled twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

CACHE = Path(__file__).resolve().parents[3] / "build" / "test-extensions"
PYBIND11 = r"""
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
namespace py = pybind11;
static int call(py::object f, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += f(i).cast<int>();
    return sum;
}
static int call_released(std::function<int(int)> f, int n) {
    py::gil_scoped_release released;
    int sum = 0;
    for (int i = 0; i < n; i++) sum += f(i);
    return sum;
}
static int call_acquired(py::object f, int n) {
    int sum = 0;
    py::gil_scoped_release released;
    for (int i = 0; i < n; i++) {
        py::gil_scoped_acquire acquired;
        sum += f(i).cast<int>();
    }
    return sum;
}
static std::string call_converted(py::object f, std::string text) {
    return text + f(1).cast<std::string>() + text;
}
PYBIND11_MODULE(NAME, m, py::mod_gil_not_used()) {
    m.def("call", &call);
    m.def("call_released", &call_released);
    m.def("call_acquired", &call_acquired);
    m.def("call_converted", &call_converted);
}
"""
CYTHON = """# cython: freethreading_compatible=True
def call(f, int n):
    cdef int i, total = 0
    for i in range(n):
        total += f(i)
    return total

def call_acquired(f, int n):
    cdef int i, total = 0
    with nogil:
        for i in range(n):
            with gil:
                total += f(i)
    return total
"""
NANOBIND = """
#include <nanobind/nanobind.h>
namespace nb = nanobind;
static int call(nb::object f, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += nb::cast<int>(f(i));
    return sum;
}
static int call_acquired(nb::object f, int n) {
    int sum = 0;
    nb::gil_scoped_release released;
    for (int i = 0; i < n; i++) {
        nb::gil_scoped_acquire acquired;
        sum += nb::cast<int>(f(i));
    }
    return sum;
}
NB_MODULE(NAME, m) {
    m.def("call", &call);
    m.def("call_acquired", &call_acquired);
}
"""


def _run(command: list[str], folder: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"{command[0]} cannot build it: {done.stderr[-300:]}")


def _compiler(name: str) -> list[str]:
    flags = ["-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", f"-DNAME={name}"]
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        flags.append("-DNB_FREE_THREADED")
    return [os.environ.get("CXX", "c++"), *flags, f"-I{sysconfig.get_path('include')}"]


def _file(name: str) -> str:
    return f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"


def _compile(folder: Path, name: str, sources: list[str], includes: list[str]) -> None:
    command = _compiler(name)
    if shutil.which(command[0]) is None:
        pytest.skip("no C++ compiler")
    command += [f"-I{each}" for each in includes] + sources
    _run([*command, "-o", _file(name)], folder)


def _module(library: str, build: Callable[[Path, str], None]) -> ModuleType:
    """The module that `build(folder, name)` makes with the library, unless it is in the cache."""
    version = pytest.importorskip(library).__version__
    name = f"with_{library.lower()}"
    made_of = [version, _file(name), *_compiler(name), Path(__file__).read_text()]
    kept = CACHE / hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=CACHE))
        try:
            build(folder, name)
            with contextlib.suppress(OSError):  # another run has been faster
                folder.rename(kept)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return _load(kept / _file(name))


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _build_pybind11(folder: Path, name: str) -> None:
    import pybind11

    (folder / f"{name}.cpp").write_text(PYBIND11)
    _compile(folder, name, [f"{name}.cpp"], [pybind11.get_include()])


def _build_cython(folder: Path, name: str) -> None:
    (folder / f"{name}.pyx").write_text(CYTHON)
    _run([sys.executable, "-m", "cython", "-3", "--cplus", f"{name}.pyx"], folder)
    _compile(folder, name, [f"{name}.cpp"], [])


def _build_nanobind(folder: Path, name: str) -> None:
    import nanobind

    (folder / f"{name}.cpp").write_text(NANOBIND)
    root = Path(nanobind.include_dir()).parent
    sources = [f"{name}.cpp", str(root / "src" / "nb_combined.cpp")]
    robin = root / "ext" / "robin_map" / "include"
    _compile(folder, name, sources, [str(root / "include"), str(robin)])


def pybind11_module() -> ModuleType:
    """Functions in C++ that call a Python function, by pybind11."""
    return _module("pybind11", _build_pybind11)


def cython_module() -> ModuleType:
    """The same by Cython."""
    return _module("Cython", _build_cython)


def nanobind_module() -> ModuleType:
    """The same by nanobind."""
    return _module("nanobind", _build_nanobind)
