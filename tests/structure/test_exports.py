"""What users and type checkers see is pinned: the public names, and the stub of the C module.

A public name is added or taken away on purpose, here and in the reference, or not at all.  The stub
is held against the built module in both directions, parameter by parameter where the module shows
them; the module exports nothing to the dynamic linker but its entry point.
"""

from __future__ import annotations

import ast
import inspect
import shutil
import subprocess
import sysconfig
from functools import cache
from typing import Any

import helpers_tree as tree
import pytest

import loomlet
from loomlet import _core

PUBLIC = [
    "Barrier",
    "CancelScope",
    "Cancelled",
    "Channel",
    "ChannelClosed",
    "CodeChanged",
    "Condition",
    "DeadTasklet",
    "Deadlock",
    "Event",
    "FreezeError",
    "FreezeWarning",
    "Lock",
    "LoomletError",
    "ScopeError",
    "Semaphore",
    "Sender",
    "Stall",
    "StallWarning",
    "SwitchTrapped",
    "TaskGroup",
    "TaskStatus",
    "Tasklet",
    "TaskletError",
    "TaskletExit",
    "TaskletKilled",
    "ThawError",
    "Ticker",
    "WrongThread",
    "after",
    "checkpoint",
    "clone",
    "current",
    "fail_after",
    "freeze",
    "gather",
    "map",
    "move_on_after",
    "nopreempt",
    "now",
    "on_stall",
    "pinned",
    "race",
    "run",
    "run_blocking",
    "schedule",
    "select",
    "set_error_handler",
    "sleep",
    "spawn",
    "spawn_threadsafe",
    "thaw",
    "ticker",
    "timeout",
    "why_not_freezable",
]
STUBS = sorted(tree.PACKAGE.glob("_core*.pyi"))
# Dunder methods say how an object takes part in the language: these have a meaning in loomlet.
DUNDERS = {"__iter__", "__next__", "__len__", "__bool__", "__enter__", "__exit__", "__call__"}
BY_NAME = {
    *("n", "timeout", "blocking", "thread_id", "file", "offset", "count"),
    *("item", "block", "immediate"),
}
Members = dict[str, ast.stmt]


def helper_type(node: ast.stmt) -> bool:
    """A class or alias that only the stub knows."""
    alias = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
    return alias or (isinstance(node, ast.ClassDef) and node.name.startswith("_"))


def members(body: list[ast.stmt]) -> Members:
    """What a piece of the stub declares, but for its imports, type variables and helper types."""
    found: Members = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return {name: node for name, node in found.items() if not helper_type(node)}


@cache
def stub() -> Members:
    """The whole stub."""
    return members([node for stub in STUBS for node in ast.parse(stub.read_text()).body])


def stub_class(name: str) -> ast.ClassDef:
    """One class of the stub."""
    found = stub()[name]
    assert isinstance(found, ast.ClassDef)
    return found


CLASSES = sorted(name for name, node in stub().items() if isinstance(node, ast.ClassDef))


def test_public_names_are_the_documented_ones() -> None:
    """`loomlet.__all__` is exactly the list above, sorted, and every name is there."""
    assert loomlet.__all__ == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(loomlet, name) is not None


def test_public_names_have_docstrings() -> None:
    """help() says something about each."""
    for name in PUBLIC:
        assert inspect.getdoc(getattr(loomlet, name)), name


def test_stub_and_module_have_the_same_names() -> None:
    """Both ways, private names too."""
    built = {name for name in vars(_core) if not name.startswith("__")}
    assert stub().keys() == built


def test_stub_and_class_have_the_same_members() -> None:
    """Both ways; of the dunder methods those with a meaning in loomlet."""
    wrong = []
    for name in CLASSES:
        built = {m for m in vars(getattr(_core, name)) if not m.startswith("__") or m in DUNDERS}
        declared = members(stub_class(name).body).keys() - {"__new__"}
        wrong += [f"{name}.{member}" for member in sorted(built ^ declared)]
    tree.assert_none(wrong, "members that only the stub has, or only the module")


def final(kind: type[Any]) -> bool:
    """Whether a type refuses a subclass."""
    try:
        type("Derived", (kind,), {})
    except TypeError:
        return True
    return False


def test_final_classes_cannot_be_derived_from() -> None:
    """The stub says @final exactly where the type refuses a subclass."""
    wrong = []
    for name in CLASSES:
        marks = [ast.unparse(mark) for mark in stub_class(name).decorator_list]
        if final(getattr(_core, name)) != ("final" in marks):
            wrong.append(name)
    tree.assert_none(wrong, "final in the stub or in the module, but not in both")


def is_method(node: ast.stmt) -> bool:
    """A function of the stub that is not a property."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return all(ast.unparse(mark) != "property" for mark in node.decorator_list)


def test_attributes_can_be_set_as_the_stub_says() -> None:
    """A property of the stub is read-only, another attribute is not, methods are callable."""
    wrong = []
    for name in CLASSES:
        for member, node in members(stub_class(name).body).items():
            built = inspect.getattr_static(getattr(_core, name), member)
            if callable(built) != is_method(node):
                wrong.append(f"{name}.{member}")
    tree.assert_none(wrong, "methods in the stub or in the module, but not in both")


def shown(node: ast.FunctionDef, bound: bool) -> list[tuple[str, str]]:
    """(name, default) of the parameters in the stub, without the object itself."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [""] * (len(plain) - len(arguments.defaults))
    defaults += [ast.unparse(value) for value in arguments.defaults]
    found = list(zip([a.arg for a in plain], defaults, strict=True))[bound:]
    found += [(f"*{a.arg}", "") for a in [arguments.vararg] if a]
    for keyword, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((keyword.arg, "" if value is None else ast.unparse(value)))
    return found + [(f"**{a.arg}", "") for a in [arguments.kwarg] if a]


def shows_parameters(built: Any) -> bool:
    """Whether a function of the module shows its parameters; Python functions always do."""
    return inspect.isfunction(built) or built.__text_signature__ is not None


def default(parameter: inspect.Parameter) -> str:
    """As it stands in a stub; "" for none."""
    if parameter.default is ...:
        return "..."
    return "" if parameter.default is parameter.empty else repr(parameter.default)


def built_parameters(built: Any, bound: bool) -> list[tuple[str, str]] | None:
    """The same as the built module shows it; None where it does not."""
    if not shows_parameters(built):
        return None
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = list(inspect.signature(built).parameters.values())
    return [(stars.get(p.kind, "") + p.name, default(p)) for p in parameters[bound:]]


@cache
def callables() -> dict[str, tuple[ast.FunctionDef, Any, bool]]:
    """Each function and method: its stub, the built one, and whether it has a self."""
    found: dict[str, tuple[ast.FunctionDef, Any, bool]] = {}
    for name, node in stub().items():
        if isinstance(node, ast.FunctionDef):
            found[name] = node, getattr(_core, name), False
        elif isinstance(node, ast.ClassDef):
            for member, inner in members(node.body).items():
                built = inspect.getattr_static(getattr(_core, name), member)
                if isinstance(inner, ast.FunctionDef) and callable(built) and member[:2] != "__":
                    found[f"{name}.{member}"] = inner, built, True
    return found


def agrees(name: str, found: list[tuple[str, str]] | None, expected: list[tuple[str, str]]) -> bool:
    """Names, order and defaults; private ones may hide names, but not their number."""
    if name.rpartition(".")[2].startswith("_"):
        return found is None or len(found) == len(expected)
    return found == expected


def test_parameters_are_those_of_the_stub() -> None:
    """Public functions show their parameters."""
    wrong = []
    for name, (node, built, bound) in sorted(callables().items()):
        found, expected = built_parameters(built, bound), shown(node, bound)
        if not agrees(name, found, expected):
            wrong.append(f"{name}: expected {expected}, found {found}")
    tree.assert_none(wrong, "a docstring's first line must show the parameters, $self and / too")


def by_name(built: Any, bound: bool) -> list[str]:
    """The parameters that a function says can be given by name."""
    parameters = list(inspect.signature(built).parameters.values())[bound:]
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]


def test_what_takes_no_keyword_says_so() -> None:
    """A parameter that the signature offers by name can be given by name."""
    wrong = []
    for name, (_, built, bound) in sorted(callables().items()):
        private = name.rpartition(".")[2].startswith("_")
        if shows_parameters(built) and not private and not name.startswith("Stackless"):
            wrong += [f"{name}({one})" for one in by_name(built, bound) if one not in BY_NAME]
    tree.assert_none(wrong, "parameters that are offered by name")


def test_the_module_shows_the_linker_only_its_entry() -> None:
    """No name of loomlet can clash with a name of another library."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm on this machine")
    command = [nm, "--dynamic", "--defined-only", str(_core.__file__)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    assert {name for name in names if not name.startswith(("__", "_init", "_fini"))} == {
        "PyInit__core"
    }


def test_the_module_is_built_for_this_interpreter() -> None:
    """The file's suffix names the version, so that another one cannot load it."""
    assert str(_core.__file__).endswith(str(sysconfig.get_config_var("EXT_SUFFIX")))
