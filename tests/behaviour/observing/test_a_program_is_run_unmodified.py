"""`python -m loomlet run script.py`: a program sees the same as under `python script.py`."""

import os
import signal
import subprocess
import sys
import time

import pytest


def test_it_is_main_with_its_own_arguments(command, script):
    """argv, __name__, __file__, sys.path, and the module `__main__` are the program's."""
    path = script(
        """
        import sys, __main__
        import loomlet
        print(sys.argv[1:], __name__, __file__ == sys.argv[0], sys.path[0])
        print(__main__.__dict__ is globals(), __spec__ is None)
        print(loomlet.current().is_main)
        """
    )
    done = command("run", path, "--slice", "x", "-h")
    words = f"['--slice', 'x', '-h'] __main__ True {os.path.realpath(path.parent)}"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{words}\nTrue True\nTrue\n"


def test_it_imports_its_neighbours(command, script):
    """Modules beside the script are found, from another folder too."""
    script("VALUE = 7", "beside.py")
    done = command("run", script("import beside; print(beside.VALUE)"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")


def test_its_blocking_calls_let_others_run(command, script):
    """The shorter sleep ends first, although the longer one began before."""
    path = script(
        """
        import time
        import loomlet

        def nap(seconds):
            time.sleep(seconds)
            print(seconds)

        naps = [loomlet.spawn(nap, seconds) for seconds in (0.3, 0.2, 0)]
        for each in naps:
            each.join()
        """
    )
    done = command("run", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n0.2\n0.3\n", "")


def test_its_main_module_lives_to_the_end(command, script):
    """Exit functions still find it, and what it defines can be pickled."""
    path = script(
        """
        import atexit, pickle

        class Thing:
            pass

        def last():
            print(type(pickle.loads(pickle.dumps(Thing()))).__module__)

        atexit.register(last)
        """
    )
    done = command("run", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "__main__\n", "")


def test_slices_are_on(command, script):
    """A tasklet that computes without end does not stop the program."""
    path = script(
        """
        import sys, loomlet
        stop = []
        def spin():
            while not stop:
                pass
        task = loomlet.spawn(spin)
        loomlet.sleep(0.01)  # real time: the slice ends by the clock
        stop.append(1)
        task.join()
        print("ended")
        """
    )
    done = command("run", "--slice", "0.002", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


@pytest.mark.parametrize(
    ("text", "status", "printed"),
    [
        ("import sys; sys.exit(5)", 5, ""),
        ("raise SystemExit('no more')", 1, "no more\n"),
        ("pass", 0, ""),
    ],
)
def test_its_exit_status_is_that_of_the_process(command, script, text, status, printed):
    """SystemExit with a number or a text, and a plain end."""
    done = command("run", script(text))
    assert (done.returncode, done.stderr) == (status, printed)


def test_its_exceptions_are_shown_without_our_frames(command, script):
    """The traceback is that of `python script.py`, to the letter."""
    path = script(
        """
        def fail():
            return 1 / 0

        fail()
        """
    )
    plain = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    done = command("run", path)
    assert "ZeroDivisionError" in plain.stderr
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)


def test_a_syntax_error_is_shown_as_usual(command, script):
    """As `python script.py` shows it."""
    path = script("def f(:\n    pass\n")
    plain = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    done = command("run", path)
    assert "SyntaxError" in done.stderr
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)


def test_its_own_excepthook_is_called(command, script):
    """What the program has put into sys.excepthook sees its exception."""
    path = script(
        """
        import sys
        sys.excepthook = lambda kind, error, tb: print(kind.__name__, tb.tb_frame.f_code.co_name)
        raise KeyError(1)
        """
    )
    done = command("run", path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "KeyError <module>\n", "")


def test_ctrl_c_ends_it_as_usual(script):
    """The process dies of SIGINT, which shells need to see."""
    path = script(
        """
        import loomlet
        print("begun", flush=True)
        loomlet.sleep(60)
        """
    )
    line = [sys.executable, "-m", "loomlet", "run", str(path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        time.sleep(0.05)  # until it sleeps; earlier would do as well
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert b"KeyboardInterrupt" in printed


def test_errors_of_scripts_that_cannot_run(command, tmp_path):
    """No such file, no such slice: one line, status 2."""
    done = command("run", tmp_path / "missing.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("loomlet run: cannot open ")
    assert "No such file" in done.stderr
    done = command("run", "--slice", "0", tmp_path / "missing.py")
    assert done.returncode == 2
    assert "expected 0.0001 seconds or more, found 0" in done.stderr


SHOW = """
    import sys, __main__
    print(__name__, __file__ == sys.argv[0], sys.argv[1:], sys.path[0])
    print(__package__, __spec__.name, __main__.__dict__ is globals())
"""


def test_a_module_is_run_as_by_python_m(command, script):
    """A module, with the current folder at the head of sys.path; all that follows is for it."""
    folder = script(SHOW, "shows.py").parent
    done = command("run", "-m", "shows", "-m", "--slice", "-h", cwd=folder)
    words = f"__main__ True ['-m', '--slice', '-h'] {os.path.realpath(folder)}"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{words}\n shows True\n"


def test_a_package_is_run_by_its_main_module(command, tmp_path):
    """With relative imports; its `__init__` is imported once."""
    package = tmp_path / "things"
    package.mkdir()
    (package / "__init__.py").write_text("print('init')")
    (package / "other.py").write_text("VALUE = 7")
    (package / "__main__.py").write_text("from .other import VALUE\nprint(__package__, VALUE)")
    done = command("run", "--slice", "0.01", "-m", "things", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "init\nthings 7\n", "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-m", "not_there"], "no module named 'not_there'"),
        (["-m", "not_there.at_all"], "No module named 'not_there'"),
        (["-m", "json.decoder.no"], "cannot find module 'json.decoder.no'"),
        (["-m", "wsgiref"], "'wsgiref' is a package and cannot be run"),
        (["-m", "sys"], "no code for module 'sys'"),
    ],
)
def test_a_module_that_cannot_be_run_is_named(command, words, expected):
    """One line, and status 1, as python gives."""
    done = command("run", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["-m"], ["-c"]])
def test_a_program_must_be_named(command, words):
    """No script, module or text is a mistake in the command line."""
    done = command("run", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected script.py, -m module or -c program" in done.stderr


def test_a_program_in_the_command_line(command, tmp_path):
    """It sees what it sees under `python -c`, and is run inside run()."""
    text = """if 1:
        import sys, __main__, loomlet
        print(sys.argv, __name__, sys.path[0] == "", hasattr(__main__, "__file__"))
        print(__spec__, loomlet.current().is_main, __main__.__dict__ is globals())
    """
    done = command("run", "-c", text, "a", "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "['-c', 'a', '-h'] __main__ True False\nNone True True\n"


def test_a_traceback_of_a_program_in_the_command_line(command):
    """That of `python -c`, which has the lines themselves from 3.13 on."""
    text = "def f():\n    raise KeyError(1)\nf()"
    done = command("run", "-c", text)
    plain = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == plain.stderr


def test_a_program_in_the_command_line_that_is_no_python(command):
    done = command("run", "-c", "print(")
    assert (done.returncode, done.stdout) == (1, "")
    assert "SyntaxError" in done.stderr
