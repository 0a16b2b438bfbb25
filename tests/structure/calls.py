"""Which C file calls which, read from the sources; `python tests/structure/calls.py` shows it.

A unit is a C file with the header of the same name beside it: inline code in `scope.h` is
code of `scope.c`.  A header without such a file (`internal.h`) is a unit of its own.  An arrow
leads from a unit to the one that defines a function, or a macro that names a function, which the
first one calls or passes on as a pointer.  Prototypes are not arrows.  Where several files define a
function, one per version of Python, there is an arrow to each.

    python tests/structure/calls.py [--arrows] [ROOT]

A circle is a set of units each of which reaches all others.  With --arrows the calls inside each
circle are printed too.  ROOT is another checkout.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import helpers_tree as tree

Graph = dict[str, dict[str, set[str]]]
PROTOTYPE = re.compile(r"^\w[\w\s*]*?\b\w+\([^;{}]*\)\s*;", re.MULTILINE)
MACRO = re.compile(r"^\s*#\s*define\s+(\w+)((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE)
WORD = re.compile(r"\b[a-zA-Z_]\w*")
BODY = re.compile(r"^\{$.*?^\}", re.MULTILINE | re.DOTALL)


def unit_of(path: Path, core: Path) -> str:
    """The C file, for its header too; or the header alone, as a path in the core."""
    file = path.with_suffix(".c")
    return (file if file.exists() else path).relative_to(core).as_posix()


def sources(core: Path) -> list[Path]:
    """The C files and headers below a folder."""
    return sorted(core.rglob("*.[ch]"))


def named_in(path: Path) -> Iterator[str]:
    """The identifiers in code: of a header, those of its inline functions and macros."""
    text = tree.code_of(path)
    parts = [PROTOTYPE.sub("", text)]
    if path.suffix == ".h":
        parts = [found[0] for found in BODY.finditer(text)]
        parts += [found[2] for found in MACRO.finditer(text)]
    for part in parts:
        yield from WORD.findall(part)


def definitions(core: Path) -> dict[str, set[str]]:
    """Each function or macro of that kind that other files can name, with its units."""
    found = defaultdict(set)
    for path in sources(core):
        for function in tree.c_functions(path):
            if path.suffix == ".h" or not function.static:
                found[function.name].add(unit_of(path, core))
    functions = set(found)
    for path in sources(core):
        for macro in MACRO.finditer(tree.code_of(path)) if path.suffix == ".h" else ():
            if functions & set(WORD.findall(macro[2])):
                found[macro[1]].add(unit_of(path, core))
    return found


@cache
def graph(core: Path = tree.CORE) -> Graph:
    """For each unit the units that it calls, with the functions named."""
    defined, arrows = definitions(core), Graph()
    for path in sources(core):
        unit = unit_of(path, core)
        own = {function.name for function in tree.c_functions(path)}
        calls = arrows.setdefault(unit, {})
        for name in set(named_in(path)) - own:
            for other in defined.get(name, set()) - {unit}:
                calls.setdefault(other, set()).add(name)
    return arrows


def circles(arrows: Graph) -> list[tuple[str, ...]]:
    """The strongly connected components of more than one unit, the largest first (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(unit: str) -> None:
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        for other in sorted(arrows[unit]):
            if other not in index:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in stack:
                low[unit] = min(low[unit], index[other])
        if low[unit] == index[unit]:
            at = stack.index(unit)
            found.append(tuple(sorted(stack[at:])))
            del stack[at:]

    for unit in sorted(arrows):
        if unit not in index:
            visit(unit)
    return sorted((c for c in found if len(c) > 1), key=lambda c: (-len(c), c))


def main(*arguments: str) -> None:
    """Prints the circles of a checkout."""
    roots = [name for name in arguments if not name.startswith("-")]
    arrows = graph((Path(roots[0]).resolve() if roots else tree.ROOT) / "src" / "core")
    found = circles(arrows)
    for circle in found:
        print(f"{len(circle):3}  {' '.join(circle)}")
        for unit in circle if "--arrows" in arguments else ():
            for other in circle:
                if other in arrows[unit]:
                    print(f"       {unit} -> {other}: {' '.join(sorted(arrows[unit][other]))}")
    sizes = Counter(map(len, found))
    table = ", ".join(f"{count} of {size}" for size, count in sorted(sizes.items(), reverse=True))
    print(f"{len(found)} circles in {len(arrows)} units: {table or 'none'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
