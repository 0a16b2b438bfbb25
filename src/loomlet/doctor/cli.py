"""The command line: `python -m loomlet doctor [WHAT ...]`.

What is named is imported first: a module by its name, and of a script, which is not run, the
modules that it imports anywhere in its text.  What is found is what comes with them.

The exit status is 0 when nothing was found, 1 when there is something to look at, 2 for a command
line that is not understood or what cannot be imported.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import platform
import sys
import tokenize
from collections.abc import Iterator

from loomlet.doctor import findings

Commands = argparse._SubParsersAction  # the type that add_subparsers() gives has no public name

FOUND, NOT_UNDERSTOOD = 1, 2
DESCRIPTION = """\
Tell what loomlet.patch does not reach in a program: whether it can be installed on this
interpreter, which imported modules are known to wait in C code of their own, and which loaded
libraries call functions of the system that wait.  The last is a hint, not a proof."""


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command `doctor` to the command line of loomlet."""
    parser = commands.add_parser(
        "doctor", help="what loomlet.patch does not reach", description=DESCRIPTION
    )
    words = "a module, which is imported, or script.py, whose imports are; nothing of it is run"
    parser.add_argument("what", metavar="WHAT", nargs="*", help=words)
    parser.set_defaults(run=examine)


def examine(options: argparse.Namespace) -> int:
    """Print what was found; gives the exit status."""
    before, mapped = set(sys.modules), findings.loaded()
    failed = [problem for name in options.what for problem in _import_all(name)]
    for problem in failed:
        print(f"loomlet doctor: {problem}", file=sys.stderr)
    modules = findings.modules(sys.modules.keys() - before)
    libraries = findings.libraries(findings.loaded() - mapped)
    refused = findings.refusal()  # last, because installing imports modules too
    _print_parts(refused)
    _print_rows("Modules that wait in C", [(one.name, one.advice) for one in modules])
    rows = [(str(one.path), " ".join(one.calls)) for one in libraries]
    _print_rows("Libraries that call what waits (a hint)", rows)
    if failed:
        return NOT_UNDERSTOOD
    return FOUND if refused or modules or libraries else 0


def _import_all(name: str) -> Iterator[str]:
    """Imports a module, or what a script imports; what went wrong."""
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
    """The modules that a script names."""
    with tokenize.open(script) as file:
        tree = ast.parse(file.read(), script)
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module] = None
    return list(found)


def _print_parts(refused: str | None) -> None:
    version = f"{platform.python_implementation()} {platform.python_version()}"
    if refused:
        print(f"loomlet.patch cannot be installed on {version}: {refused}")
        return
    print(f"loomlet.patch can be installed on {version}:")
    for part in findings.PARTS:
        print(f"  {part}")


def _print_rows(title: str, rows: list[tuple[str, str]]) -> None:
    print(f"\n{title}: {'' if rows else 'none'}".rstrip())
    width = max((len(row[0]) for row in rows), default=0)
    for first, second in rows:
        print(f"  {first:{width}}  {second}")
