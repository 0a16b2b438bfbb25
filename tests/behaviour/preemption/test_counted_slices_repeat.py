"""Counted in safepoints, an interruption falls on the same place in every run of a program."""

PROGRAM = """
    import loomlet
    from loomlet import _core

    log = []

    def loop(name):
        for k in range(40):
            log.append(f"{name}{k}")
            sorted(range(3), key=lambda v: -v)

    def main():
        _core._slice_budget(13)
        for task in [loomlet.spawn(loop, name) for name in "abc"]:
            task.join()

    loomlet.run(main, slice=None)
    print(" ".join(log))
"""


def test_two_processes_agree(python):
    """The order of all steps is the same, and it is not the one without slices."""
    first, second = python(PROGRAM), python(PROGRAM)
    assert (first.stderr, first.returncode) == ("", 0)
    assert first.stdout == second.stdout
    steps = first.stdout.split()
    assert len(steps) == 120
    assert steps[:40] != [f"a{k}" for k in range(40)]
