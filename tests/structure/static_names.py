"""The names of static functions: how many are one word, and how many occur in several files.

A backtrace shows no file at first sight: a name of one word says nothing there, and a name used in
several files does not say which function was meant.  `static_names.txt` lists what is left of both,
a name and the number of its files per line; the list may only shrink.

    python tests/structure/static_names.py     prints the counts and the names
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import helpers_tree as tree

LIST = Path(__file__).with_suffix(".txt")
# Files of which a build takes one: those of one minor version, and the header that picks it.
ALTERNATIVES = re.compile(r"cpython/(\w*3\d\d\w*|layout)\.[ch]")


def found() -> dict[str, set[str]]:
    """Each static function of the core, and the files that define one of that name."""
    files: dict[str, set[str]] = defaultdict(set)
    for path in tree.c_files():
        name = tree.in_core(path)
        for function in tree.c_functions(path):
            if function.static:
                where = "cpython/layout.h" if ALTERNATIVES.fullmatch(name) else name
                files[function.name].add(where)
    return dict(files)


def is_one_word(name: str) -> bool:
    """Whether a name has no underscore between words."""
    return "_" not in name.strip("_")


def poor(files: dict[str, set[str]]) -> dict[str, set[str]]:
    """The names that are one word, or stand in several files."""
    return {n: where for n, where in files.items() if is_one_word(n) or len(where) > 1}


def listed() -> dict[str, int]:
    """The exceptions: a name, and in how many files it may stand."""
    lines = [line.split() for line in LIST.read_text().splitlines() if line[:1] not in ("", "#")]
    return {name: int(count) for name, count in lines}


def main() -> None:
    """Prints the counts, and each poor name with its files."""
    files = found()
    shared = [name for name, where in files.items() if len(where) > 1]
    widely = [name for name, where in files.items() if len(where) > 2]
    words = [name for name in files if is_one_word(name)]
    for name, where in sorted(poor(files).items()):
        print(f"{name} {len(where)}  # {', '.join(sorted(where))}")
    print(f"{len(files)} names of static functions: {len(words)} of one word,")
    print(f"{len(shared)} in more than one file, {len(widely)} in more than two")


if __name__ == "__main__":
    main()
