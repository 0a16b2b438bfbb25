"""Builds small extension modules with a library's compiler headers, once per run of the tests."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

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
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]} cannot build it: {done.stderr[-300:]}")


def _compile(folder: Path, name: str, sources: list[str], includes: list[str]) -> Path:
    compiler = os.environ.get("CXX", "c++")
    if shutil.which(compiler) is None:
        pytest.skip("no C++ compiler")
    target = folder / (name + str(sysconfig.get_config_var("EXT_SUFFIX")))
    flags = ["-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", f"-DNAME={name}"]
    flags += ["-DNB_FREE_THREADED"] if sysconfig.get_config_var("Py_GIL_DISABLED") else []
    folders = [sysconfig.get_path("include"), *includes]
    _run(
        [compiler, *flags, *[f"-I{each}" for each in folders], *sources, "-o", str(target)], folder
    )
    return target


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_pybind11(folder: Path, name: str) -> Path:
    """An extension module `name` of the source above."""
    pybind11 = pytest.importorskip("pybind11")
    (folder / f"{name}.cpp").write_text(PYBIND11)
    return _compile(folder, name, [f"{name}.cpp"], [pybind11.get_include()])


def pybind11_module(folder: Path) -> ModuleType:
    """The module of the source above."""
    return _load(build_pybind11(folder, "with_pybind11"))


def cython_module(folder: Path) -> ModuleType:
    """The same functions by Cython."""
    pytest.importorskip("Cython")
    (folder / "with_cython.pyx").write_text(CYTHON)
    import sys

    _run([sys.executable, "-m", "cython", "-3", "--cplus", "with_cython.pyx"], folder)
    return _load(_compile(folder, "with_cython", ["with_cython.cpp"], []))


def nanobind_module(folder: Path) -> ModuleType:
    """The same functions by nanobind."""
    nanobind = pytest.importorskip("nanobind")
    (folder / "with_nanobind.cpp").write_text(NANOBIND)
    root = Path(nanobind.include_dir()).parent
    sources = ["with_nanobind.cpp", str(root / "src" / "nb_combined.cpp")]
    robin = root / "ext" / "robin_map" / "include"
    return _load(_compile(folder, "with_nanobind", sources, [str(root / "include"), str(robin)]))
