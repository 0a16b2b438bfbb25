"""Functions, cells, code and modules: their reducers and builders.

A function is saved by name if possible, with the digest of its code; else by value.  By value its
cells are separate objects, so that variables shared by a closure and a frame stay shared, and a
recursive function refers to itself through its cell, which is created empty and filled later.  The
globals of an importable module are those of the module in the thawing process; of other modules
(`__main__`) the globals that the code uses are saved, once for each freeze.  Where the same program
runs, `__main__` is its own module again, and what was saved only adds names that it lacks: so a
script that thaws finds its own lists and its own functions.  It is the same program if its file has
the same path, or (without a file: a notebook, `-c`) if it is the same process.  Code by value is
marshalled: the envelope guarantees that the same CPython minor version reads it.

Modules that cannot be imported and a few odd types are left to cloudpickle.  Its reducers of cells
and functions are not used: they give every closure cells of its own.
"""

from __future__ import annotations

import builtins
import importlib
import marshal
import os
import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from cloudpickle import cloudpickle

from loomlet.errors import CodeChanged, ThawError
from loomlet.snapshot import _code as codes
from loomlet.snapshot import _importable
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._progress import CURRENT, NUMBERED, NUMBERS, Namespace, Saving

__all__ = [
    "bound_method",
    "code_by_name",
    "code_by_value",
    "fill_cell",
    "fill_function",
    "function_by_name",
    "function_by_value",
    "new_cell",
    "new_namespace",
    "reduce_builtin",
    "reduce_cell",
    "reduce_code",
    "reduce_function",
    "reduce_method",
    "reduce_module",
    "reduce_namespace",
    "same_object",
    "word",
]

PLAIN = ("cloudpickle.", "loomlet.snapshot.", "copyreg")
"""Modules whose functions build objects while bytes are loaded; they are saved by name alone."""
CARRIED = ("__package__", "__path__", "__file__")
_LAZY = sys.version_info >= (3, 14)
_empty = object()


@named_in_bytes
def function_by_name(module: str, path: str, digest: bytes) -> FunctionType:
    """The function of that name, or the one that the user's code_map gives instead."""
    loading = CURRENT.get()
    if loading is not None and loading.code_map is not None:
        mapped = loading.mapped(module, path)
        if mapped is not None:
            loading.note(mapped, digest, module, path)
            return mapped
    loaded = sys.modules.get(module)
    found = None if loaded is None else loaded.__dict__.get(path)
    if type(found) is FunctionType:
        known = codes.DIGESTS.get(id(found.__code__))
        if known is not None and known[1] == digest and known[0]() is found.__code__:
            return found
    return _checked(module, path, digest)


def _checked(module: str, path: str, digest: bytes) -> FunctionType:
    found = _importable.importable(module, path)
    if not isinstance(found, FunctionType):
        raise ThawError(f"{module}.{path} was a function when it was frozen, now it is {found!r}")
    if codes.digest(found.__code__) != digest and not _is_other_version(
        found, digest, module, path
    ):
        raise _changed(module, path)
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "loomlet"


def _is_other_version(function: FunctionType, digest: bytes, module: str, path: str) -> bool:
    """Whether this is a function of loomlet itself, whose code may differ between versions: a
    tasklet may hold it, and a frame resumes in it if the layout is the same."""
    if not _is_ours(module):
        return False
    loading = CURRENT.get()
    if loading is not None:
        loading.note(function, digest, module, path)
        return True
    return codes.same_layout(codes.digest(function.__code__), digest)


def _changed(module: str, path: str) -> CodeChanged:
    return CodeChanged(
        f"{module}.{path}: its code has changed since the tasklet was frozen; "
        "thaw with the old code, or give code_map=",
        module,
        path,
    )


@named_in_bytes
def code_by_name(module: str, path: str, *nested: Any) -> CodeType:
    """The code of that name compiled inside an importable function."""
    qualname, index, digest = nested
    loading = CURRENT.get()
    mapped = None if loading is None else loading.mapped(module, qualname)
    if mapped is not None:
        if not codes.same_layout(codes.digest(mapped.__code__), digest):
            raise _changed(module, qualname)
        return mapped.__code__
    outer = _importable.importable(module, path)
    code = outer.__code__ if isinstance(outer, FunctionType) else None
    found = None if code is None else codes.nested(code, qualname, index)
    if found is None or not _same_code(codes.digest(found), digest, module):
        raise _changed(module, qualname)
    return found


def _same_code(found: bytes, digest: bytes, module: str) -> bool:
    """Whether the digests agree; of loomlet's own code only the layout, as names may change."""
    return found == digest or (_is_ours(module) and codes.same_layout(found, digest))


@named_in_bytes
def code_by_value(data: bytes) -> CodeType:
    """Marshalled code."""
    found = marshal.loads(data)
    if not isinstance(found, CodeType):
        raise ThawError("expected marshalled code")
    return found


def reduce_code(saving: Saving, code: CodeType) -> Any:
    """By its path if its module is known, else by value."""
    if saving.shared is not None:
        return shared(saving, code)
    found = _importable.nested_code(saving.modules.get(id(code)), code)
    return (code_by_value, (marshal.dumps(code),)) if found is None else (code_by_name, found)


@named_in_bytes
def new_cell() -> CellType:
    """An empty cell."""
    return CellType()


@named_in_bytes
def fill_cell(cell: CellType, value: Any) -> None:
    """The second step."""
    cell.cell_contents = value


def reduce_cell(saving: Saving, cell: CellType) -> Any:
    """An empty cell, then its content, so cycles are possible."""
    try:
        value = cell.cell_contents
    except ValueError:
        return new_cell, ()
    return new_cell, (), value, None, None, fill_cell


@named_in_bytes
def new_namespace(
    name: str | None, more: dict[str, Any] | None = None, process: bytes | None = None
) -> dict[str, Any]:
    """New globals, with the name of their module; or those of the running program, if it is the
    same."""
    main = _main_globals()
    if name == "__main__" and (process == _PROCESS or _same_file(main, more or {})):
        return main
    return {"__name__": name, "__builtins__": builtins, **(more or {})}


_PROCESS = os.urandom(8)
"""What tells this process from others; a fork is the same program."""


def _main_globals() -> dict[str, Any]:
    main = sys.modules.get("__main__")
    return {} if main is None else main.__dict__


def _same_file(one: dict[str, Any], other: dict[str, Any]) -> bool:
    files = (one.get("__file__"), other.get("__file__"))
    known = [os.path.abspath(file) for file in files if file is not None]
    return len(known) == len(files) and len(set(known)) == 1


def reduce_namespace(saving: Saving, namespace: Namespace) -> Any:
    """An empty namespace: the functions that use a name bring it along."""
    values = namespace.globals
    if saving.shared is not None:
        return shared(saving, values)
    name = values.get("__name__")
    more = {word: values[word] for word in CARRIED if values.get(word) is not None}
    if name == "__main__" and "__file__" not in more and values is _main_globals():
        return new_namespace, (name, more, _PROCESS)
    return new_namespace, (name, more) if more else (name,)


@named_in_bytes
def function_by_value(
    code: CodeType, space: str | dict[str, Any], closure: tuple[CellType, ...] | None = None
) -> FunctionType:
    """A function of these parts; `space` is the name of a module, or the globals."""
    if isinstance(space, str):
        space = (sys.modules.get(space) or importlib.import_module(space)).__dict__
    return FunctionType(code, space, None, None, closure)


@named_in_bytes
def fill_function(function: FunctionType, state: tuple[Any, ...]) -> None:
    """The second step: everything that FunctionType() does not set."""
    values, modules, attributes, own = state
    space = function.__globals__
    space.update(values if space is not _main_globals() else _missing_in(space, values))
    for name in modules:
        importlib.import_module(name)
    function.__dict__.update(own)
    for name, value in attributes.items():
        setattr(function, name, value)


def _missing_in(space: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in space}


def reduce_function(saving: Saving, function: FunctionType) -> Any:
    """By name if possible, else by value."""
    if saving.shared is not None and function.__closure__ is None and function is not same_object:
        return shared(saving, function)
    found = _importable.function(function)
    if found is not None:
        if found[0].startswith(PLAIN):
            return _builder(function, found)
        return function_by_name, found
    return _by_value(saving, function)


def _builder(function: FunctionType, found: tuple[str, str, bytes]) -> Any:
    number = NUMBERS.get(function)
    if number is not None:
        return word, (number,)
    return (
        NotImplemented if found[1] == function.__qualname__ else (_importable.importable, found[:2])
    )


def reduce_builtin(saving: Saving, function: Any) -> Any:
    """A builder by its number, another builtin as pickle does it."""
    number = NUMBERS.get(function)
    return NotImplemented if number is None else (word, (number,))


@named_in_bytes
def word(number: int) -> Callable[..., Any]:
    """A builder by its number."""
    return NUMBERED[number]


def _by_value(saving: Saving, function: FunctionType) -> Any:
    values: dict[str, Any] = {}
    modules: list[str] = []
    space: Any
    found = _importable.other_process(function.__globals__.get("__name__"))
    if saving.shared is not None:
        space = saving.namespace(function.__globals__)
    elif found is not None and found.__dict__ is function.__globals__:
        space = found.__name__
    else:
        space = saving.namespace(function.__globals__)
        values, modules = _needed(space, function)
    code = function.__code__
    saving.modules[id(code)] = space if isinstance(space, str) else None
    args = (code, space) if function.__closure__ is None else (code, space, function.__closure__)
    attributes = _attributes(function)
    if not (values or modules or attributes or function.__dict__):
        return function_by_value, args
    state = (values, modules, attributes, function.__dict__)
    return function_by_value, args, state, None, None, fill_function


def _needed(space: Namespace, function: FunctionType) -> tuple[dict[str, Any], list[str]]:
    """The globals that the code uses and that have not been saved yet, and their submodules."""
    wanted = list(cloudpickle._extract_code_globals(function.__code__))
    found = {
        name: space.globals[name]
        for name in wanted
        if name in space.globals and name not in space.saved
    }
    space.saved.update(found)
    tops = [value for value in found.values() if isinstance(value, ModuleType)]
    submodules = cloudpickle._find_imported_submodules(function.__code__, tops) if tops else []
    return found, [module.__name__ for module in submodules]


def _attributes(function: FunctionType) -> dict[str, Any]:
    """The attributes that differ from those of a new function of this code."""
    code = function.__code__
    first = code.co_consts[0] if code.co_consts else None
    usual = {
        "__name__": code.co_name,
        "__qualname__": code.co_qualname,
        "__module__": function.__globals__.get("__name__"),
        "__doc__": first if isinstance(first, str) else None,
        "__defaults__": None,
        "__kwdefaults__": None,
        "__type_params__": (),
    }
    if _LAZY:
        usual["__annotate__"] = None
    if not _LAZY or function.__annotate__ is None:  # type: ignore[attr-defined]
        usual["__annotations__"] = {}
    changed: dict[str, Any] = {}
    for name, value in usual.items():
        found = getattr(function, name, value)
        if found is not value and found != value:
            changed[name] = found
    if changed.get("__doc__", _empty) is None and not _has_docstring(code):
        del changed["__doc__"]
    return changed


def _has_docstring(code: CodeType) -> bool:
    return FunctionType(code, {}, None, None, _no_cells(code)).__doc__ is not None


def _no_cells(code: CodeType) -> tuple[CellType, ...] | None:
    return tuple(CellType() for _ in code.co_freevars) or None


@named_in_bytes
def bound_method(function: Any, owner: Any) -> MethodType:
    """A method of an object."""
    return MethodType(function, owner)


def reduce_method(saving: Saving, method: MethodType) -> Any:
    """As pickle does it if its name leads back to the function, else by its parts."""
    function, owner = method.__func__, method.__self__
    name = getattr(function, "__name__", "")
    if getattr(type(owner), name, None) is function and name.isidentifier():
        return getattr, (owner, name)
    return bound_method, (function, owner)


def reduce_module(saving: Saving, module: ModuleType) -> Any:
    """By name if it can be imported, else as cloudpickle does it."""
    if saving.shared is not None:
        return shared(saving, module)
    if _importable.other_process(module.__name__) is module:
        return importlib.import_module, (module.__name__,)
    return cloudpickle._module_reduce(module)


@named_in_bytes
def same_object(index: int) -> Any:
    """An object that a clone shares with its original; only clone() can look it up."""
    loading = CURRENT.get()
    if loading is None or index not in range(len(loading.shared)):
        raise ThawError("these bytes belong to a clone")
    return loading.shared[index]


def shared(saving: Saving, value: Any) -> Any:
    """An index in the list of objects that a clone and its original share."""
    assert saving.shared is not None
    saving.shared.append(value)
    return same_object, (len(saving.shared) - 1,)
