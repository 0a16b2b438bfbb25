"""Words that must not occur in any file of the project.

No leftover marks, no path of the machine it was written on, no host but those of public
documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import helpers_tree as tree

LEFTOVERS = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X)\b")
MACHINE_PATHS = re.compile(r"(?:(?<![\w.~$}/])|(?<=-[IL]))/(root|work|home)(/|\b(?![\w-]))")
HOSTS = re.compile(r"\b(?:https?|ftp|ssh|git)://([^\s/\"'`)>\]]+)")
REGISTRIES = re.compile(
    r"\b(pypi|test\.pypi|pythonhosted|debian|ubuntu|npmjs|golang|crates|anaconda|launchpad)"
    r"\.(org|com|io|net)\b"
)
DOCUMENTATION = {"docs.python.org", "peps.python.org", "www.w3.org"}
NUMBERS = re.compile(r"\bissues? #?\d+\b", re.IGNORECASE)


def faults(path: Path, line: str) -> Iterator[str]:
    """What a line says that it must not."""
    if LEFTOVERS.search(line):
        yield "a leftover mark"
    if MACHINE_PATHS.search(line):
        yield "a path of some machine"
    if NUMBERS.search(line):
        yield "a number that says nothing to a reader"
    if REGISTRIES.search(line) and path.name != Path(__file__).name:
        yield "the host of a registry"
    for host in HOSTS.findall(line):
        if not plain(host):
            yield f"a host that is not public documentation: {host}"


def test_only_fitting_words() -> None:
    """Each rule of the list above, by line."""
    tree.assert_none(
        [
            f"{tree.name_of(path)}:{number}: {fault}"
            for path in tree.texts()
            for number, line in enumerate(tree.text_of(path).splitlines(), 1)
            for fault in faults(path, line)
        ],
        "words that must not occur in the project",
    )


def plain(host: str) -> bool:
    """Documentation, or a name reserved for examples and this machine."""
    name = host.rpartition("@")[2].partition(":")[0]
    reserved = (".example", ".invalid", ".test", "localhost", "example.org")
    return name in DOCUMENTATION or "." not in name or name.endswith(reserved)


def test_the_rules_see_what_they_forbid() -> None:
    """A rule that matches nothing would pass everything."""
    lines = ["see |root/x", 'open("|work/main/a")', "-I|home/someone", "TO~DO later", "X~XX"]
    for line in [*lines, "issue~ 12", "http:|/somewhere.com", "see py~pi.org"]:
        assert list(faults(tree.ROOT, line.replace("|", "/").replace("~", ""))), line


def test_the_rules_let_others_pass() -> None:
    """Ordinary words, relative paths and public documentation are none of these."""
    lines = ["a/root", "$HOME/work/x", "the root of the tree", "/homes", "n/work", "TODOS"]
    for line in [*lines, "https://docs.python.org/3/", "http://user@localhost:80/"]:
        assert not list(faults(tree.ROOT, line)), line


HEXADECIMAL = re.compile(rb"[0-9a-fA-F]{32,}")
BYTES_OF_MACHINE_PATHS = re.compile(rb"/(?:work|root)/")
# What released versions have written must stay loadable as it is.
OLD_BYTES = re.compile(r"tests/snapshots/0\.1\.0/[^/]+/handles\.frozen")


def holds_machine_path(data: bytes) -> bool:
    """Whether bytes hold a path of some machine, as they are or in hexadecimal digits."""
    digits = [found[: len(found) // 2 * 2] for found in HEXADECIMAL.findall(data)]
    decoded = [bytes.fromhex(found.decode()) for found in digits]
    return any(BYTES_OF_MACHINE_PATHS.search(one) for one in (data, *decoded))


def test_kept_bytes_hold_no_machine_path() -> None:
    """Pickles, frozen tasklets and the inputs of fuzzers, which the rules for lines cannot read."""
    texts = {path for path in tree.texts() if path.suffix in (".py", ".md")}
    tree.assert_none(
        [
            name
            for path in tree.tracked()
            if path not in texts and not OLD_BYTES.fullmatch(name := tree.name_of(path))
            if holds_machine_path(path.read_bytes())
        ],
        "files that hold a path of some machine",
    )


def test_kept_bytes_are_decoded() -> None:
    """A path is found behind a length byte, and in hexadecimal digits."""
    path = "|root/|work/programs/frozen.py".replace("|", "/").encode()
    for data in (b"\x8cV" + path, b"0 " + path.hex().encode(), path.hex().upper().encode()):
        assert holds_machine_path(data)
    assert not holds_machine_path(b"/xxxx/frozen.py".hex().encode())


NAMED = re.compile(
    r"`((?:base|plat|heap|cpython|sched|chan|sync|debug|io|patch|bind|snapshot)/[\w/.]+)`"
)


def test_files_that_the_documents_name_exist() -> None:
    """`room/file.c` in a document stands for a file below src/core or src/loomlet."""
    roots = (tree.CORE, tree.PACKAGE)
    tree.assert_none(
        [
            f"{tree.name_of(path)}: {name}"
            for path in tree.texts()
            if path.suffix == ".md"
            for name in sorted(set(NAMED.findall(tree.text_of(path))))
            if not any((root / name).exists() for root in roots)
        ],
        "files that documents name and that are gone",
    )
