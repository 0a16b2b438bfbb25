"""The words that the names of the project are made of.

python tests/structure/vocabulary.py            words that are in no list, with their names
python tests/structure/vocabulary.py --all      every word, with its names
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import helpers_tree as tree

LIST = Path(__file__).with_name("words.txt")
GLOSSARY = tree.ROOT / "docs" / "glossary.md"
TYPE = re.compile(
    r"^(?:typedef )?(?:struct|enum|union) (\w+)|^\} ?(?:__attribute__\(\(\w+\)\) )?(\w+);"
    r"|^typedef [^;{(]*?(\w+);|^typedef [^;{]*?\(?\*?(\w+)\)?\([^;{]*\);",
    re.M,
)
PREFIX = re.compile(r"^(?:[a-z]|bind|patch)_")


def words_of(name: str) -> list[str]:
    """The words of a name, small and without digits."""
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def names() -> Iterator[str]:
    """The names of files, types and functions that others see, without the prefix of their room."""
    for path in tree.c_files():
        yield path.stem
        if path.suffix != ".S":
            for groups in TYPE.findall(tree.code_of(path)):
                yield from (PREFIX.sub("", name) for name in groups if name)
            for function in tree.c_functions(path):
                if not function.static or path.suffix == ".h":
                    yield PREFIX.sub("", function.name)
    yield from (path.name for path in tree.folders())
    for path in tree.tracked():
        if path.is_relative_to(tree.PACKAGE) and path.suffix == ".py":
            yield from (path.stem, path.parent.name)


@cache
def used() -> dict[str, list[str]]:
    """Each word with the names that it is in."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in names():
        for word in words_of(name):
            found[word].add(name)
    return {word: sorted(where) for word, where in found.items()}


def listed() -> set[str]:
    """The words of words.txt."""
    return set(LIST.read_text().split())


def glossary() -> set[str]:
    """The words of the terms in the first column of the glossary."""
    cells = re.findall(r"^\|([^|]+)\|", GLOSSARY.read_text(), re.M)
    terms = [term for cell in cells for term in re.findall(r"\*\*([^*]+)\*\*", cell)]
    return {word for term in terms for word in words_of(term)}


if __name__ == "__main__":
    known = set() if "--all" in sys.argv else listed() | glossary()
    for word, where in sorted(used().items()):
        if word not in known:
            print(f"{word:20} {' '.join(where)[:150]}")
