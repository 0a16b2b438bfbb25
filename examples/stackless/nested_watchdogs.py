"""Watchdogs inside watchdogs: fair shares for tasklets that never yield, and separate errors.

run(timeout) lets the tasklets of the thread run until none is left, and returns the one that has
run for too long without yielding.  Its caller decides what happens to that tasklet: back into the
queue, or killed.  A tick is a safepoint of the interpreter: about one for each pass of a
loop and each call.

A tasklet may call run() itself.  It is the watchdog for as long as it waits: exceptions of
tasklets are raised there, in the last caller of run(), and not in the main program.

Shows: run(timeout), insert() and kill() of what it returns, nested run(), atomic().
Run: python examples/stackless/nested_watchdogs.py
"""

import loomlet.compat.stackless as stackless


def count_up(name, end, results):
    """A selfish tasklet: it never calls schedule()."""
    n = 0
    while n < end:
        n += 1
    results.append(f"{name} counted to {n}")


def spin_for_ever():
    while True:
        pass


def careful(results):
    """Two steps that must not be interrupted in between."""
    with stackless.atomic():
        results.append("careful: first step")
        for _ in range(50_000):
            pass
        results.append("careful: second step")


def fair(timeout, patience):
    """Runs all tasklets in slices; kills those that need more than `patience` of them."""
    slices, killed = {}, 0
    while (task := stackless.run(timeout)) is not None:
        slices[task] = slices.get(task, 0) + 1
        if slices[task] > patience:
            task.kill()
            killed += 1
        else:
            task.insert()
    return killed


def fail(text):
    raise ValueError(text)


def guarded(name, results, inside, *args):
    """A watchdog for its own little world."""
    stackless.tasklet(inside)(*args)
    try:
        stackless.run()
    except ValueError as error:
        results.append(f"the {name} watchdog caught: {error}")
    results.append(f"the {name} watchdog continues")


def main():
    results = []
    for name, end in (("long", 30_000), ("short", 3_000), ("middle", 15_000)):
        stackless.tasklet(count_up)(name, end, results)
    stackless.tasklet(spin_for_ever)()
    killed = fair(timeout=1000, patience=100)
    print(*results, sep="\n")
    print(f"{killed} tasklet had to be killed")

    results = []
    stackless.tasklet(careful)(results)
    fair(timeout=1000, patience=100)
    print(*results, sep="\n")

    results = []
    inner = ("inner", results, fail, "a mistake")
    stackless.tasklet(guarded)("outer", results, guarded, *inner)
    stackless.run()
    print(*results, sep="\n")


if __name__ == "__main__":
    main()
