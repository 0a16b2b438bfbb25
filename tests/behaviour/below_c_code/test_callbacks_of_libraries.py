"""Below the C code of libraries that keep no such order, waits and time slices work as ever."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import re
import sqlite3
import sys
import sysconfig
import time
from collections.abc import Callable
from typing import Any

import pytest

import loomlet

Calls = Callable[[Callable[[int], int]], object]


def by_sorted(f: Callable[[int], int]) -> object:
    """A key function of the interpreter's own."""
    return sorted(range(4), key=f)


def by_reduce(f: Callable[[int], int]) -> object:
    """functools in C."""
    return functools.reduce(lambda a, b: a + f(b), range(4), 0)


def by_re(f: Callable[[int], int]) -> object:
    """The regular expressions' own C code."""
    return re.sub("[0-9]", lambda found: str(f(int(found[0]))), "0123")


def by_json(f: Callable[[int], int]) -> object:
    """The C scanner calls object_hook."""
    return json.loads('[{"n": 1}, {"n": 2}]', object_hook=lambda found: f(found["n"]))


def by_sqlite(f: Callable[[int], int]) -> object:
    """A function in SQL."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("f", 1, f)
        return connection.execute("select f(1) + f(2)").fetchone()


def by_ctypes(f: Callable[[int], int]) -> object:
    """The C library's qsort(), through libffi."""
    compares = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int)
    )
    numbers = (ctypes.c_int * 4)(3, 1, 2, 0)
    ctypes.CDLL(None).qsort(
        numbers, 4, ctypes.sizeof(ctypes.c_int), compares(lambda a, b: f(a[0]) - f(b[0]))
    )
    return list(numbers)


def by_numpy(f: Callable[[int], int]) -> object:
    """A ufunc of a Python function."""
    numpy = library("numpy")
    return numpy.frompyfunc(f, 1, 1)(numpy.arange(4)).tolist()


def by_pandas(f: Callable[[int], int]) -> object:
    """Series.map()."""
    pandas = library("pandas")
    return pandas.Series(range(4)).map(f).tolist()


def by_pydantic(f: Callable[[int], int]) -> object:
    """A validator, called from Rust."""
    pydantic = library("pydantic")
    validate = pydantic.AfterValidator(f)
    from typing import Annotated

    return pydantic.TypeAdapter(list[Annotated[int, validate]]).validate_python([1, 2, 3])


def by_lxml(f: Callable[[int], int]) -> object:
    """A function in XPath, which Cython calls."""
    etree = library("lxml.etree")
    extensions = {(None, "f"): lambda context, number: float(f(int(number)))}
    return etree.XPath("f(1) + f(2)", extensions=extensions)(etree.XML("<a/>"))


def by_pillow(f: Callable[[int], int]) -> object:
    """A file object that the decoder reads."""
    image = library("PIL.Image")
    import io

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            f(1)
            return super().read(size)

    made = io.BytesIO()
    image.new("RGB", (8, 8)).save(made, "PNG")
    return image.open(Slow(made.getvalue())).tobytes()


def by_cryptography(f: Callable[[int], int]) -> object:
    """An object whose memory a digest in Rust asks for."""
    hashes = library("cryptography.hazmat.primitives.hashes")

    class Slow:
        def __buffer__(self, flags: int) -> memoryview:
            return memoryview(b"%d" % f(1))

    if sys.version_info < (3, 12):
        pytest.skip("objects of Python code have no memory to give before 3.12")
    digest = hashes.Hash(hashes.SHA256())
    digest.update(Slow())
    return digest.finalize()


def library(name: str) -> Any:
    """A module that is installed, or its test is skipped; so it is where it would turn the GIL on.

    Without the GIL most compiled libraries do, and the tests that follow are to run without it.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("it may turn the GIL on")
    return pytest.importorskip(name)


PURE = [by_sorted, by_reduce, by_re, by_json, by_sqlite, by_ctypes]
LIBRARIES = [by_numpy, by_pandas, by_pydantic, by_lxml, by_pillow, by_cryptography]


def check_waits(calls: Calls) -> None:
    """A hundred at once, each waiting in its callbacks."""

    def wait(n: int) -> int:
        loomlet.sleep(0.0001 * (n % 3))
        return n

    expected = calls(lambda n: n)

    def main() -> None:
        tasklets = [loomlet.spawn(calls, wait) for _ in range(100)]
        assert all(each.result() == expected for each in tasklets)

    loomlet.run(main, slice=0.001)


def check_slices(calls: Calls) -> None:
    """The callback waits in a loop for what only another tasklet does."""
    done: list[bool] = []
    calls(lambda n: n)

    def spin(n: int) -> int:
        end = time.monotonic() + 60
        while not done:
            assert time.monotonic() < end
        return n

    def main() -> None:
        first = loomlet.spawn(calls, spin)
        loomlet.schedule()
        loomlet.spawn(done.append, True)
        first.result()

    loomlet.run(main, slice=0.001)


@pytest.mark.parametrize("calls", PURE + LIBRARIES)
def test_waits(calls) -> None:
    """In all of them."""
    check_waits(calls)


@pytest.mark.parametrize("calls", PURE + LIBRARIES)
def test_slices(calls) -> None:
    """In all of them."""
    check_slices(calls)


@pytest.mark.parametrize("kind", ["call", "call_acquired"])
@pytest.mark.parametrize("built", ["with_cython", "with_nanobind"])
def test_builders_of_extensions(built, kind, request) -> None:
    """Cython and nanobind keep nothing per thread in the order of calls."""
    module: Any = request.getfixturevalue(built)
    call = getattr(module, kind)
    check_waits(lambda f: call(f, 3))
    check_slices(lambda f: call(f, 3))
