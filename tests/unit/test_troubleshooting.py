"""The page that explains messages quotes messages that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "troubleshoot-by-message.md"
SHORTEST = 6
"""Characters of a fragment that says something."""


def fragments() -> list[str]:
    """The parts of each quoted message that do not vary: between dots, names and numbers."""
    found = []
    for line in PAGE.read_text().splitlines():
        quoted = re.match(r"\| `([^`]+)`", line)
        if quoted:
            parts = re.split(r"…|\bf(?:-3)?\b|'x'|file:line|\d+\.\d s", quoted[1])
            found += [part.strip(" :,") for part in parts]
    return [part for part in found if len(part) >= SHORTEST]


def texts() -> str:
    """Every text in our sources, Python and C, each adjacent pair joined."""
    found = []
    for path in (ROOT / "src" / "loomlet").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    each.value if isinstance(each, ast.Constant) else "\0" for each in node.values
                ]
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    for path in (ROOT / "src" / "core").rglob("*.c"):
        found.append(re.sub(r'"\s*"', "", path.read_text()))
    return "\n".join(found)


def test_there_are_messages() -> None:
    """The pattern above finds them."""
    assert len(fragments()) > 20


@pytest.mark.parametrize("fragment", fragments())
def test_the_message_exists(fragment: str) -> None:
    """In these words."""
    assert fragment in texts()
