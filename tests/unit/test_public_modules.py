"""Public parts are recognisable, by the names of modules and by the __module__ of objects."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
import typing
from typing import Any

import pytest

import loomlet

PUBLIC = (
    "loomlet",
    "loomlet.aio",
    "loomlet.blocking",
    "loomlet.compat",
    "loomlet.compat.greenlet",
    "loomlet.compat.stackless",
    "loomlet.errors",
    "loomlet.heap",
    "loomlet.gil",
    "loomlet.http",
    "loomlet.net",
    "loomlet.observe",
    "loomlet.patch",
    "loomlet.snapshot",
    "loomlet.sync",
    "loomlet.testing",
)
TOOLS = (
    *("loomlet.__main__", "loomlet.bench", "loomlet.doctor", "loomlet.serve"),
    "loomlet.http.gunicorn",
)
"""Commands and what others load, which are not imported: their modules have plain names."""


def public_objects() -> dict[str, Any]:
    """The names in __all__ of the public modules, but for those with another library's rules."""
    found = {}
    for name in PUBLIC:
        module = importlib.import_module(name)
        if not name.startswith("loomlet.compat."):
            found |= {f"{name}.{part}": getattr(module, part) for part in module.__all__}
    return found


OBJECTS = public_objects()


def test_every_other_module_carries_an_underscore() -> None:
    """In its name, or in that of its package."""
    names = [info.name for info in pkgutil.walk_packages(loomlet.__path__, "loomlet.")]
    plain = [
        name
        for name in names
        if "._" not in name.removeprefix("loomlet") and not name.startswith(TOOLS)
    ]
    assert sorted(["loomlet", *plain]) == sorted(PUBLIC)


def test_the_import_loads_nothing_large() -> None:
    """Each of these takes a megabyte or more, in every worker of a server."""
    program = "import sys; before = {*sys.modules}; import loomlet; print(*{*sys.modules} - before)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"asyncio", "inspect", "logging", "re", "traceback"} & {*done.stdout.split()}


def test_parts_are_found_without_an_import_of_their_own() -> None:
    parts = [name for name in PUBLIC if name.count(".") == 1]
    program = f"import loomlet\nfor part in {parts}: print(eval(part).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout.split() == parts
    assert {part.removeprefix("loomlet.") for part in parts} <= {*dir(loomlet)}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_public_object_names_a_public_module(name: str) -> None:
    """Where it can be imported from; what is of the core names the core, what is of queue that."""
    value = OBJECTS[name]
    assert value.__module__ in (*PUBLIC, "loomlet._core", "queue", "_queue")
    assert getattr(importlib.import_module(value.__module__), value.__name__) is value


@pytest.mark.parametrize("name", [n for n, value in OBJECTS.items() if inspect.isclass(value)])
def test_the_annotations_of_a_public_class_are_found(name: str) -> None:
    """Though they are looked up in the public module."""
    typing.get_type_hints(OBJECTS[name])
