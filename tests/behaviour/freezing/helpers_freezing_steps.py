"""One step of a frozen chain: thaw it, give it its next value, freeze it again.

Run as a program it does one step for each chain that it is given on stdin, and prints
the outcomes on stdout: so every step is done by a process that has never seen the chain before.
"""

from __future__ import annotations

import pickle
import sys

import helpers_chains

import loomlet
from loomlet import Channel


def begin(name):
    """A tasklet that runs a chain and waits for its first value."""
    task = loomlet.spawn(helpers_chains.chains()[name], Channel())
    run_to_a_wait(task)
    return task


def go_on(task, value):
    """Gives a blocked tasklet its value and lets it run to its next wait or its end."""
    task.waiting_for.send(value)
    run_to_a_wait(task)


def run_to_a_wait(task):
    """Lets it run until it waits or ends, however often it is preempted on its way."""
    while task.state == "runnable":
        loomlet.schedule()


def thawed_step(data, value):
    """(frozen again, None), or (None, result) at the end."""
    task = loomlet.thaw(data)
    go_on(task, value)
    if task.state == "blocked":
        return loomlet.freeze(task), None
    return None, task.result()


def main():
    """A step of each."""
    work, value = pickle.load(sys.stdin.buffer)
    done = {}
    for name, data in work.items():
        try:
            done[name] = thawed_step(data, value)
        except Exception as error:
            done[name] = None, f"{type(error).__name__}: {error}"
    pickle.dump(done, sys.stdout.buffer)


if __name__ == "__main__":
    main()
