"""run(timeout) of the Stackless API counts safepoints: interruptions repeat exactly."""

PROGRAM = """
    import loomlet.compat.stackless as stackless

    log = []

    def loop(name):
        for k in range(100):
            log.append(f"{name}{k}")
            sorted(range(3), key=lambda v: -v)

    for name in "abc":
        stackless.tasklet(loop)(name)
    while (task := stackless.run(17)) is not None:
        log.append("interrupted")
        task.insert()
    print(" ".join(log))
"""

MILLION = """
    import loomlet.compat.stackless as stackless

    def loop():
        while True:
            pass

    task = stackless.tasklet(loop)()
    for _ in range(20000):
        assert stackless.run(3) is task
        task.insert()
    task.kill()
    print("done")
"""


def test_two_processes_agree(python):
    """All steps and interruptions come in the same order; every step comes once."""
    first, second = python(PROGRAM), python(PROGRAM)
    assert (first.stderr, first.returncode) == ("", 0)
    assert first.stdout == second.stdout
    steps = first.stdout.split()
    assert steps.count("interrupted") > 10
    for name in "abc":
        assert [s for s in steps if s[0] == name] == [f"{name}{k}" for k in range(100)]


def test_again_and_again(python):
    """An interrupted tasklet can be inserted and continues, any number of times."""
    done = python(MILLION)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
