"""What must not stand in any file of the project.

No leftover marks, no path of the machine it was written on, no host but those of public
documentation: the project speaks only of itself.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tree

LEFTOVERS = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X)\b")
MACHINE_PATHS = re.compile(r"(?:(?<![\w.~$}/])|(?<=-[IL]))/(root|work|home)(/|\b(?![\w-]))")
HOSTS = re.compile(r"\b(?:https?|ftp|ssh|git)://([^\s/\"'`)>\]]+)")
REGISTRIES = re.compile(
    r"\b(pypi|test\.pypi|pythonhosted|debian|ubuntu|npmjs|golang|crates|anaconda|launchpad)"
    r"\.(org|com|io|net)\b"
)
DOCUMENTATION = {"docs.python.org", "peps.python.org", "www.w3.org"}
NUMBERS = re.compile(r"\bissues? #?\d+\b", re.IGNORECASE)


def texts() -> list[Path]:
    """Every file that is text."""
    return [path for path in tree.tracked() if b"\0" not in path.read_bytes()]


@pytest.mark.parametrize("path", texts(), ids=tree.name_of)
def test_only_fitting_words(path: Path) -> None:
    """Each rule of the list above, by line."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{tree.name_of(path)}:{number}"
        assert not LEFTOVERS.search(line), f"{where}: a leftover mark"
        assert not MACHINE_PATHS.search(line), f"{where}: a path of some machine"
        assert not NUMBERS.search(line), f"{where}: a number that says nothing to a reader"
        if path.name != Path(__file__).name:
            assert not REGISTRIES.search(line), f"{where}: the host of a registry"
        for host in HOSTS.findall(line):
            assert plain(host), f"{where}: a host that is not public documentation: {host}"


def plain(host: str) -> bool:
    """Documentation, or a name reserved for examples and this machine."""
    name = host.rpartition("@")[2].partition(":")[0]
    return name in DOCUMENTATION or name.endswith((".example", ".invalid", ".test", "localhost"))


@pytest.mark.parametrize(
    "line",
    ["see |root/x", 'open("|work/main/a")', "-I|home/someone", "TO~DO later", "X~XX", "issue~ 12"],
)
def test_the_rules_see_what_they_forbid(line: str) -> None:
    """A rule that matches nothing would pass everything."""
    forbidden = line.replace("|", "/").replace("~", "")
    assert any(rule.search(forbidden) for rule in (LEFTOVERS, MACHINE_PATHS, NUMBERS))


@pytest.mark.parametrize(
    "line", ["a/root", "$HOME/work/x", "the root of the tree", "/homes", "n/work", "TODOS"]
)
def test_the_rules_let_others_pass(line: str) -> None:
    """Ordinary words and relative paths are neither marks nor machine paths."""
    assert not MACHINE_PATHS.search(line)
    assert not LEFTOVERS.search(line)
