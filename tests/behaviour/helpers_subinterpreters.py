"""Other interpreters of the process, for programs of tests."""

from __future__ import annotations

import importlib.util

import pytest

NAMES = ("_interpreters", "_xxsubinterpreters")

# visit(text, *kind) runs a text in another interpreter, of that kind if there are kinds.
VISIT = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def visit(text, *kind):
    if hasattr(interpreters, "exec"):
        other = interpreters.create(*kind)
        failed = interpreters.exec(other, text)
    else:
        other = interpreters.create(isolated="isolated" in kind)
        failed = interpreters.run_string(other, text)
    assert failed is None, failed
    interpreters.destroy(other)
"""

needs_interpreters = pytest.mark.skipif(
    not any(map(importlib.util.find_spec, NAMES)), reason="this Python has no sub-interpreters"
)
