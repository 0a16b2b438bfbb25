"""What is thawed by the program that has frozen it uses the globals of that program."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.usefixtures("switches")

PROGRAM = """
import os, sys
import loomlet

log = ["begin"]
VERSION = {version}

def add(word):
    log.append((VERSION, word))

def work():
    add("first")
    loomlet.checkpoint_of_mine()
    add("second")

def pause():
    loomlet.schedule()

loomlet.checkpoint_of_mine = pause

def main():
    if not os.path.exists(sys.argv[1]):
        task = loomlet.spawn(work)
        loomlet.schedule()
        task.remove()
        with open(sys.argv[1], "wb") as file:
            file.write(loomlet.freeze(task))
        task.discard()
    if {thaws}:
        with open(sys.argv[1], "rb") as file:
            again = loomlet.thaw(file.read())
        again.insert().join()
    print(log)

loomlet.run(main)
"""


@pytest.fixture
def run(tmp_path):
    """Runs the program, of that version, from a file of that name."""

    def run_program(name, version, thaws=True):
        path = tmp_path / name
        path.write_text(textwrap.dedent(PROGRAM.format(version=version, thaws=thaws)))
        command = [sys.executable, path, tmp_path / "frozen"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.stderr == ""
        return done.stdout.strip()

    return run_program


def test_in_the_same_process(run):
    assert run("script.py", 1) == "['begin', (1, 'first'), (1, 'second')]"


def test_in_another_process_of_the_same_script(run):
    """It finds what that process has, and what the script says now."""
    assert run("script.py", 1, thaws=False) == "['begin', (1, 'first')]"
    assert run("script.py", 2) == "['begin', (2, 'second')]"


def test_in_another_script(run):
    """It brings copies of what it uses; that script's own are not touched."""
    assert run("script.py", 1, thaws=False) == "['begin', (1, 'first')]"
    assert run("other.py", 2) == "['begin']"


def test_without_a_file(tmp_path):
    """In the same process: the cell of a notebook, or -c."""
    program = PROGRAM.format(version=1, thaws=True)
    command = [sys.executable, "-c", program, tmp_path / "frozen"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("['begin', (1, 'first'), (1, 'second')]\n", "")
