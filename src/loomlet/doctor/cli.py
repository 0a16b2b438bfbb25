"""The command line: `python -m loomlet doctor [WHAT ...]`.

The named modules are imported first; of a script, which is not run, the modules that it imports
anywhere in its text.  The findings are about these modules and what they bring along.

`python -m loomlet doctor exceptions PID` looks at a running process instead: kept.py.

The exit status is 0 if nothing was found, 1 if there are findings, 2 for a wrong command line or a
module that cannot be imported.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import platform
import sys
import tokenize
from collections.abc import Iterable, Iterator

from loomlet.doctor import findings, kept, tables

Commands = argparse._SubParsersAction  # the type that add_subparsers() gives has no public name

FOUND, NOT_UNDERSTOOD = 1, 2
DESCRIPTION = """\
Find what loomlet.patch does not reach in a program: whether it can be installed on this
interpreter, which tools watch the process (debugger, profiler), which imported modules are known
to wait in their own C code, which are made by pybind11, and which loaded libraries call system
functions that wait.  The last is a hint, not a proof.  `doctor exceptions PID` lists the exceptions
that a running process keeps alive, and who holds them."""


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Adds the command `doctor` to the command line of loomlet."""
    parser = commands.add_parser(
        "doctor", help="what loomlet.patch does not reach", description=DESCRIPTION
    )
    words = (
        "a module to import, or script.py, whose imports are imported; it is not run; or "
        "`exceptions PID`"
    )
    parser.add_argument("what", metavar="WHAT", nargs="*", help=words)
    parser.set_defaults(run=examine)


def examine(options: argparse.Namespace) -> int:
    """Prints the findings; returns the exit status."""
    if options.what[:1] == ["exceptions"]:
        return kept.show(options.what[1:])
    tools = findings.tools()
    before, mapped = set(sys.modules), findings.loaded()
    failed = [problem for name in options.what for problem in _import_all(name)]
    for problem in failed:
        print(f"loomlet doctor: {problem}", file=sys.stderr)
    imported = sys.modules.keys() - before
    modules = findings.modules(imported)
    libraries = findings.libraries(findings.loaded() - mapped)
    refused = findings.refusal()  # last, because installing imports modules too
    _print_parts(refused)
    _show_advice("Tools that watch this process", tools)
    _show_advice("Modules that wait in C", modules)
    _show_advice("Modules made by pybind11", findings.made_by_pybind11(imported))
    if single := findings.of_one_thread(imported):
        _show_advice("Modules to call inside pinned(), with handoff", single)
    if found := findings.taken_care_of(imported):
        _show_advice("Modules that the patch takes care of", found)
    rows = [(str(one.path), " ".join(one.calls)) for one in libraries]
    tables.show("Libraries that call functions that wait (a hint)", rows)
    if failed:
        return NOT_UNDERSTOOD
    harmful = any(one.harmful for one in tools)
    return FOUND if refused or modules or libraries or harmful else 0


def _import_all(name: str) -> Iterator[str]:
    """Imports a module, or the modules that a script imports; yields the problems."""
    try:
        names = _imports(name) if name.endswith(".py") else [name]
    except (OSError, SyntaxError, ValueError) as error:
        yield f"cannot read {name}: {error}"
        return
    for module in names:
        try:
            importlib.import_module(module)
        except Exception as error:  # a module may raise anything while it is imported
            yield f"cannot import {module}: {type(error).__name__}: {error}"


def _imports(script: str) -> list[str]:
    """The modules that a script imports."""
    with tokenize.open(script) as file:
        tree = ast.parse(file.read(), script)
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module] = None
    return list(found)


def _show_advice(title: str, found: Iterable[findings.Module | findings.Tool]) -> None:
    tables.show(title, [(one.name, one.advice) for one in found])


def _print_parts(refused: str | None) -> None:
    version = f"{platform.python_implementation()} {platform.python_version()}"
    if refused:
        print(f"loomlet.patch cannot be installed on {version}: {refused}")
        return
    print(f"loomlet.patch can be installed on {version}:")
    for part in findings.PARTS:
        print(f"  {part}")
