"""`python -m loomlet doctor`: what the patch does not reach in a program."""

import contextlib
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loomlet import _core
from loomlet.doctor import elf, findings


@pytest.fixture
def doctor(tmp_path):
    """Runs the command where modules beside it are found."""

    def run(*words):
        command = [sys.executable, "-m", "loomlet", "doctor", *words]
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)

    return run


def test_nothing_is_found(doctor):
    """All parts can be installed, and no blocking module was imported."""
    done = doctor("queue")
    assert (done.returncode, done.stderr) == (0, "")
    assert "can be installed on CPython" in done.stdout
    assert all(f"  {part}\n" in done.stdout for part in findings.PARTS)
    assert "Modules that wait in C: none" in done.stdout
    assert "(a hint): none" in done.stdout


def test_a_known_module_comes_with_advice(doctor):
    """By its own name, however it was imported."""
    pytest.importorskip("sqlite3", reason="this interpreter has no sqlite3")
    done = doctor("sqlite3")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"  _sqlite3  {findings.KNOWN['_sqlite3']}\n" in done.stdout


def test_on_a_terminal_the_advice_is_a_table(tmp_path):
    """It wraps beside the name; output that is redirected stays as above."""
    pytest.importorskip("sqlite3", reason="this interpreter has no sqlite3")
    pytest.importorskip("rich")
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "loomlet", "doctor", "sqlite3"]
    done = subprocess.run(
        command, stdout=terminal, check=False, env={**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    )
    os.close(terminal)
    with open(screen, encoding="utf-8") as file:
        lines = [line.rstrip() for line in read_all(file)]
    named = next(at for at, line in enumerate(lines) if line.startswith("  _sqlite3 "))
    width = lines[named].index(findings.KNOWN["_sqlite3"].split()[0])
    assert lines[named + 1].startswith(" " * width)
    assert max(map(len, lines[named:])) <= 60
    assert "Modules made by pybind11: none" in lines
    assert done.returncode == 1


def read_all(file):
    """The lines of a terminal that nobody writes to any more; its end is an error on Linux."""
    lines = []
    with contextlib.suppress(OSError):
        lines.extend(iter(file.readline, ""))
    return lines


def test_a_module_that_the_patch_takes_care_of_is_named(doctor):
    """Its libraries are still listed, below that."""
    pytest.importorskip("psycopg")
    printed = doctor("psycopg").stdout
    named = printed.index(f"  psycopg  {findings.TAKEN_CARE_OF['psycopg']}\n")
    assert named < printed.index("Libraries that call functions that wait")
    assert "psycopg" not in doctor("queue").stdout


def test_a_module_that_counts_on_one_thread_is_named(doctor, tmp_path):
    """With what to do about it; that alone is no failure."""
    (tmp_path / "wx.py").write_text("")
    done = doctor("wx")
    assert done.returncode == 0
    assert "Modules to call inside pinned(), with handoff:\n  wx  windows belong" in done.stdout


def test_a_script_is_not_run(doctor, tmp_path):
    """What it imports is, anywhere in its text."""
    (tmp_path / "beside.py").write_text("print('imported')")
    script = tmp_path / "script.py"
    script.write_text("print('run')\ndef later():\n    import beside\n    from beside import x\n")
    done = doctor(str(script))
    assert done.returncode == 0
    assert done.stdout.startswith("imported\n")
    assert "run\n" not in done.stdout.splitlines(keepends=True)


def test_what_cannot_be_imported_is_named(doctor, tmp_path):
    """The rest is still listed."""
    (tmp_path / "broken.py").write_text("1/0")
    (tmp_path / "wrong.py").write_text("not a program")
    done = doctor("broken", "missing", str(tmp_path / "wrong.py"), str(tmp_path / "none.py"))
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 4
    assert lines[0] == "loomlet doctor: cannot import broken: ZeroDivisionError: division by zero"
    assert lines[1].startswith("loomlet doctor: cannot import missing: ModuleNotFoundError")
    assert all(line.startswith("loomlet doctor: cannot read ") for line in lines[2:])
    assert "can be installed" in done.stdout


def test_a_refusal_is_shown_with_its_reason(doctor, tmp_path):
    """A function that other code has replaced."""
    (tmp_path / "replaces.py").write_text("import time\ntime.sleep = print\n")
    done = doctor("replaces")
    assert (done.returncode, done.stderr) == (1, "")
    assert "loomlet.patch cannot be installed on CPython" in done.stdout
    assert "cannot replace <built-in function print>" in done.stdout


def test_a_library_that_waits_is_listed(doctor, tmp_path):
    """With the functions that it calls."""
    socket = pytest.importorskip("_socket")
    if not getattr(socket, "__file__", None):
        pytest.skip("_socket is part of this interpreter's program: there is no library to look at")
    copied = tmp_path / "library.so"
    shutil.copy(socket.__file__, copied)
    (tmp_path / "loads.py").write_text(f"import ctypes\nctypes.CDLL({str(copied)!r})\n")
    done = doctor("loads")
    assert (done.returncode, done.stderr) == (1, "")
    line = next(line for line in done.stdout.splitlines() if str(copied) in line)
    assert {"accept4", "connect", "recv", "sendto"} <= set(line.split())


def test_the_names_that_a_library_wants(tmp_path):
    """Of a library: what it takes from the C library; of anything else: nothing."""
    library = Path(str(_core.__file__))
    assert {"poll", "recv", "PyErr_SetString"} <= elf.wanted(library)
    assert "PyInit__core" not in elf.wanted(library)
    data = library.read_bytes()
    damaged = tmp_path / "damaged"
    for text in (b"", b"\x7fELF", b"no library", data[:200], data[: len(data) // 2]):
        damaged.write_bytes(text)
        assert elf.wanted(damaged) == frozenset()
    assert elf.wanted(tmp_path / "none") == frozenset()


def test_help_explains(doctor):
    """What the lists mean."""
    done = doctor("--help")
    assert done.returncode == 0
    assert "a hint, not a proof" in " ".join(done.stdout.split())


def test_tools_are_named():
    """What watches the process, and what that means for tasklets."""

    def found(program, *options):
        text = f"import sys, loomlet\n{program}\nfrom loomlet.doctor import findings\n"
        text += "print(*(tool.name for tool in findings.tools()), sep=',')"
        command = [sys.executable, *options, "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert found("") == ""
    assert found("sys.settrace(lambda *args: None)") == "sys.settrace"
    assert found("import cProfile\ncProfile.Profile().enable()").split(",")[0] == "cProfile"
    assert found("sys.modules['pydevd'] = sys") == "pydevd"


def run_under_perf(*words):
    """What a program does under -X perf; the file that this writes is removed."""
    command = [sys.executable, "-W", "ignore", "-X", "perf", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output, _ = process.communicate(timeout=60)
        Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)
    return process.returncode, output


@pytest.mark.skipif(sys.version_info < (3, 12), reason="-X perf came with 3.12")
def test_the_trampoline_of_perf_is_harmful():
    """Every tasklet is hard then, which the doctor says."""
    if run_under_perf("-c", "import sys; print(sys.is_stack_trampoline_active())")[1] != "True\n":
        pytest.skip("this interpreter has no support for perf")
    status, output = run_under_perf("-m", "loomlet", "doctor")
    assert status == 1
    assert f"  perf  {findings.PERF.advice}\n" in output
    program = (
        "import loomlet; ch = loomlet.Channel(); "
        "tasks = [loomlet.spawn(lambda: ch.receive()) for _ in range(3)]; loomlet.schedule(); "
        "print(loomlet._core.stats()['soft'], [task.state for task in tasks])"
    )
    status, output = run_under_perf("-c", program)
    assert output == f"0 {['blocked'] * 3}\n"
