"""Tasklets that never began, that survive the end, or that failed unseen are named at the end."""

import contextlib
import re
import subprocess
import sys
import textwrap

import pytest

import loomlet
from loomlet import Channel, TaskletExit, spawn


def test_a_tasklet_that_never_began(mode):
    """Its name and the line that spawned it; what main returned is returned."""
    log = []

    def work():
        log.append("ran")

    def main():
        spawn(work)
        return "result"

    line = main.__code__.co_firstlineno + 1
    with pytest.warns(RuntimeWarning, match="ended before these tasklets began") as caught:
        assert loomlet.run(main) == "result"
    text = str(caught[0].message)
    assert re.search(rf"\bwork-\d+ \(spawned at {re.escape(__file__)}:{line} in \S*main\)", text)
    assert caught[0].filename == __file__
    assert log == []


def test_many_are_counted(mode):
    """Five names are enough."""
    with pytest.warns(RuntimeWarning, match=r"and 7 more; join\(\) them"):
        loomlet.run(lambda: [spawn(int) for _ in range(12)])


def test_one_that_was_stopped_on_purpose_is_not_named(mode):
    """A tasklet that was removed from the queue, and one that has begun."""

    def main():
        kept = spawn(int).remove()
        spawn(loomlet.sleep, 60)
        loomlet.schedule()
        return kept

    loomlet.run(main)


def test_a_thread_that_never_began_is_not_named(python):
    """A program with threads ends as under plain Python."""
    done = python("""
        import loomlet
        from loomlet import patch

        patch.install(threads=True)

        def main():
            import _thread
            _thread.start_new_thread(print, ("late",))
            return "result"

        print(loomlet.run(main))
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("result\n")


def test_an_exception_of_main_is_enough(mode):
    """It says why the others had no time."""

    def main():
        spawn(int)
        raise KeyError("main")

    with pytest.raises(KeyError):
        loomlet.run(main)


def test_a_tasklet_that_survives_every_kill(mode):
    """It is named with its place."""
    ends, tasks = [], []

    def stubborn():
        while not ends:
            with contextlib.suppress(TaskletExit):
                loomlet.sleep(99)

    def main():
        tasks.append(spawn(stubborn))
        loomlet.schedule()
        return "result"

    with pytest.warns(RuntimeWarning, match=r"survived every kill .*stubborn-\d+: sleep") as seen:
        assert loomlet.run(main) == "result"
    assert f"{__file__}:" in str(seen[0].message)
    ends.append(True)
    tasks[0].kill()


def test_a_program_without_run(python):
    """spawn() alone: the warning comes at the exit."""
    done = python("""
        import warnings
        warnings.simplefilter("default")
        import loomlet

        def work():
            print("ran")

        loomlet.spawn(work)
    """)
    assert (done.returncode, done.stdout) == (0, "")
    assert "RuntimeWarning: the program has ended before these tasklets began: work-" in done.stderr
    assert "(spawned at <string>:9 in <module>); use run(main)" in done.stderr


# ---- failures


def fail(text):
    raise ValueError(text)


def test_the_report_says_where_it_was_spawned(python):
    """Which of a hundred tasklets of that function it is."""
    done = python("""
        import loomlet

        def fail():
            raise ValueError

        def main():
            loomlet.spawn(fail)
            loomlet.schedule()

        loomlet.run(main)
    """)
    assert "loomlet: tasklet fail-2, spawned at <string>:8 in main, ended with an" in done.stderr
    assert done.returncode == 0


def test_strict_raises_what_nothing_joined(failures, mode):
    """All together, when main has returned; they have been reported before."""

    def main():
        joined = spawn(fail, "joined later")
        spawn(fail, "first")
        loomlet.schedule()
        spawn(fail, "second")
        loomlet.schedule()
        with pytest.raises(ValueError, match="joined later"):
            joined.join()
        return "result"

    with pytest.raises(ExceptionGroup, match="nothing joined") as info:
        loomlet.run(main, strict=True)
    assert [str(error) for error in info.value.exceptions] == ["first", "second"]
    for error in info.value.exceptions:
        assert re.search(r"tasklet fail-\d+, spawned at .*:\d+ in \S*main", error.__notes__[0])
    assert [str(error) for _, error in failures] == ["joined later", "first", "second"]
    failures.clear()


def test_strict_counts_failures_at_the_end(failures, mode):
    """A `finally` block that fails when run() ends its tasklet."""

    def work():
        try:
            Channel().receive()
        finally:
            fail("at the end")

    def main():
        spawn(work)
        loomlet.schedule()

    with pytest.raises(ExceptionGroup) as info:
        loomlet.run(main, strict=True)
    assert [str(error) for error in info.value.exceptions] == ["at the end"]
    failures.clear()


def test_strict_is_for_one_run(failures, mode):
    """The next run() has nothing to do with it; an exception of main is raised as ever."""

    def main(error=None):
        spawn(fail, "in a tasklet")
        loomlet.schedule()
        if error is not None:
            raise error
        return "result"

    with pytest.raises(KeyError):
        loomlet.run(main, KeyError(), strict=True)
    assert loomlet.run(main) == "result"
    assert loomlet.run(lambda: "result", strict=True) == "result"
    assert len(failures) == 2
    failures.clear()


STRICT = """
    import sys, loomlet

    def fail():
        raise ValueError("in a tasklet")

    task = loomlet.spawn(fail)
    loomlet.schedule()
    if "join" in sys.argv:
        try:
            task.join()
        except ValueError:
            pass
    if "exit" in sys.argv:
        sys.exit(7)
    print("ended")
"""


@pytest.mark.parametrize(
    ("options", "words", "status"),
    [
        ([], [], 0),
        (["--strict"], [], 1),
        (["--strict"], ["join"], 0),
        (["--strict"], ["exit"], 7),
    ],
)
def test_strict_on_the_command_line(python, tmp_path, options, words, status):
    """The status of the program, unless that would hide a failure."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(STRICT))
    command = [sys.executable, "-m", "loomlet", "run", *options, str(script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status
    assert "ValueError: in a tasklet" in done.stderr
    strict = "loomlet run --strict: tasklets have failed that nothing joined: 1" in done.stderr
    assert strict == (options != [] and words != ["join"])
