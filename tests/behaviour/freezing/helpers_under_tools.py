"""Every chain once: begun, frozen, thawed and continued, step by step, while a tool is active.

    python helpers_under_tools.py [settrace | setprofile]

Prints the outcome of each chain on stdout, as JSON: "right", "wrong: …" with what it returned, or
"refused: …" with the error of freeze().  A coverage tool is put around the whole program instead.
"""

from __future__ import annotations

import json
import sys

import helpers_chains
import helpers_freezing_steps

import loomlet


def tracer(frame, event, arg):
    """A trace function that stays in each frame."""
    return tracer


def profiler(frame, event, arg):
    """A profile function."""


def gone_through(name):
    """Frozen before each step; a chain that freeze() refuses has no result."""
    task, value = helpers_freezing_steps.begin(name), 0
    try:
        while task.state == "blocked":
            data = loomlet.freeze(task)
            task.throw(loomlet.TaskletExit)
            task, value = loomlet.thaw(data), value + 1
            helpers_freezing_steps.go_on(task, value)
    except loomlet.FreezeError as error:
        task.kill()
        return f"refused: {error}"
    result, expected = repr(task.result()), repr(helpers_chains.direct(name))
    return "right" if result == expected else f"wrong: {result} for {expected}"


def main():
    """All of them."""
    if sys.argv[1:] == ["settrace"]:
        sys.settrace(tracer)
    elif sys.argv[1:] == ["setprofile"]:
        sys.setprofile(profiler)
    found = {}
    for name in sorted(helpers_chains.chains().keys() - helpers_chains.HARD):
        try:
            found[name] = gone_through(name)
        except Exception as error:
            found[name] = f"wrong: {type(error).__name__}: {error}"
    sys.settrace(None)
    sys.setprofile(None)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    loomlet.run(main)
