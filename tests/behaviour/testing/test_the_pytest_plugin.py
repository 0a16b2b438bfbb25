"""The pytest plugin: no tasklet dies unseen, and --loomlet runs tests in tasklets."""

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def suite(tmp_path):
    """Runs pytest on a file of tests, in a folder of its own; gives what it prints."""

    def run(text, *options, conftest="", ini=""):
        (tmp_path / "test_it.py").write_text(textwrap.dedent(text))
        (tmp_path / "conftest.py").write_text(textwrap.dedent(conftest))
        (tmp_path / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
        line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *options]
        kind = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        env = {**os.environ, "PYTEST_ADDOPTS": "", "COLUMNS": "200"}
        return subprocess.run(line, cwd=tmp_path, env=env, timeout=120, check=False, **kind).stdout

    return run


DIES = """
import loomlet

def fail():
    raise KeyError("lost")

def test_dies():
    loomlet.spawn(fail)
    loomlet.schedule()

def test_behind_it():
    pass
"""


def test_a_tasklet_that_dies_unseen(suite):
    """Its test fails, with its traceback; the next one does not."""
    said = suite(DIES)
    assert "FAILED test_it.py::test_dies" in said
    assert "ExceptionGroup: tasklets have died unseen; join() them" in said
    assert 'raise KeyError("lost")' in said
    assert "PASSED test_it.py::test_behind_it" in said


def test_one_that_is_joined_later(suite):
    said = suite("""
        import loomlet, pytest

        def test_joined():
            task = loomlet.spawn(int, "x")
            loomlet.schedule()
            with pytest.raises(ValueError):
                task.join()
    """)
    assert "1 passed" in said


def test_a_test_with_an_error_handler_of_its_own(suite):
    said = suite("""
        import loomlet

        def test_it_sees_it():
            seen = []
            before = loomlet.set_error_handler(lambda task, error: seen.append(error))
            try:
                loomlet.spawn(int, "x")
                loomlet.schedule()
            finally:
                loomlet.set_error_handler(before)
            assert len(seen) == 1
    """)
    assert "1 passed" in said


def test_a_program_with_an_error_handler(suite):
    """What conftest.py sets stays."""
    said = suite(
        DIES,
        conftest="""
        import loomlet
        loomlet.set_error_handler(lambda task, error: print("mine", error))
        """,
    )
    assert "2 passed" in said
    assert "mine 'lost'" in said


def test_one_that_dies_while_a_fixture_ends(suite):
    """The phase in which it died has failed: the teardown."""
    said = suite("""
        import loomlet, pytest

        @pytest.fixture
        def server():
            yield
            loomlet.spawn(int, "x")
            loomlet.schedule()

        def test_with_server(server):
            pass
    """)
    assert "1 passed, 1 error" in said
    assert "ERROR test_it.py::test_with_server" in said
    assert "ExceptionGroup: tasklets have died unseen; join() them" in said


def test_a_test_that_fails_itself(suite):
    """Its own failure is what is shown; the other one is on its stderr."""
    said = suite("""
        import loomlet

        def test_both():
            loomlet.spawn(int, "x")
            loomlet.schedule()
            assert False, "its own"
    """)
    assert "its own" in said
    assert "ended with an exception" in said
    assert "1 failed" in said


@pytest.mark.parametrize(
    ("options", "ini"), [([], "loomlet_unseen = false"), (["-p", "no:loomlet"], "")]
)
def test_it_can_be_left_out(suite, options, ini):
    assert "2 passed" in suite(DIES, *options, ini=ini)


IN_TASKLETS = """
import time, unittest, loomlet, pytest

@pytest.fixture(scope="session")
def ticks():
    found = []
    def tick():
        while True:
            time.sleep(0.001)
            found.append(loomlet.now())
    task = loomlet.spawn(tick)
    yield found
    task.kill()

def test_it_is_a_tasklet(ticks):
    assert not loomlet.current().is_main

def test_sleeping_lets_others_run(ticks):
    before = len(ticks)
    time.sleep(0.05)
    assert len(ticks) > before

def test_computing_lets_others_run(ticks):
    before = len(ticks)
    end = time.monotonic() + 0.5
    while len(ticks) == before and time.monotonic() < end:
        pass
    assert len(ticks) > before

class Old(unittest.TestCase):
    def test_of_unittest(self):
        self.assertFalse(loomlet.current().is_main)

def test_that_is_skipped():
    pytest.skip("now")

def test_that_fails():
    word = "found"
    assert word == "expected"
"""


def test_tests_in_tasklets(suite):
    """The whole session is in run(): what a fixture spawns runs on from test to test."""
    said = suite(IN_TASKLETS, "--loomlet")
    assert "1 failed, 4 passed, 1 skipped" in said
    assert "SKIPPED [1] test_it.py" in said
    assert "assert 'found' == 'expected'" in said
    assert "_pytest_plugin.py" not in said


def test_without_the_option_tests_are_not_in_tasklets(suite):
    said = suite("""
        import loomlet

        def test_it_is_main():
            assert loomlet.current().is_main
    """)
    assert "1 passed" in said
