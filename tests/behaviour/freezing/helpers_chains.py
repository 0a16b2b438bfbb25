"""Chains of calls that wait in the middle of every kind of construction.

Each function takes something with receive(), calls it a few times, returns plain data.  Run on a
`Direct` it never waits; however often it is frozen on its way, it must return the same.  These
modules are imported by the processes that thaw, so they need nothing of the test suite.
"""

from __future__ import annotations

import helpers_chains_of_c_callers
import helpers_chains_of_calls
import helpers_chains_of_control
import helpers_chains_of_loops
import helpers_chains_of_objects
import helpers_chains_of_steps

PARTS = (
    helpers_chains_of_c_callers,
    helpers_chains_of_calls,
    helpers_chains_of_control,
    helpers_chains_of_loops,
    helpers_chains_of_objects,
    helpers_chains_of_steps,
)
HARD = {"in_the_midst_of_sorting"}
"""Chains with C code in between, which cannot be moved or frozen."""
HELPERS = {
    "ask",
    "down",
    "logged",
    "wrapped",
    "numbers",
    "delegated",
    "answer",
    "twofold",
    "doubling",
    "bent",
    "waiting_numbers",
    "sources",
}


class Direct:
    """Gives 1, 2, 3… at once."""

    def __init__(self):
        self.given = 0

    def receive(self):
        self.given += 1
        return self.given


def chains():
    """Every chain by name."""
    found = {}
    for part in PARTS:
        for name, value in vars(part).items():
            code = getattr(value, "__code__", None)
            if code and code.co_varnames[:1] == ("ch",) and name not in HELPERS:
                found[name] = value
    return found


def direct(name):
    """What a chain returns when nothing waits."""
    return chains()[name](Direct())
