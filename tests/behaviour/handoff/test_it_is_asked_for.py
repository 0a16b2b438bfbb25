"""handoff= of run(), LOOMLET_HANDOFF and --handoff."""

import pytest

import loomlet
from loomlet import _core

SITS = """
    import ctypes, os, sys, loomlet
    sys.settrace(None)
    reader, writer = os.pipe()
    libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(1)
    count = [0]

    def tick():
        while True:
            count[0] += 1
            loomlet.sleep(0.001)

    def main():
        loomlet.spawn(tick)
        loomlet.schedule()
        before = count[0]
        libc.usleep(300_000)  # the monitor needs its turn on a busy machine
        many = 5  # once it may run behind the call, when the slice is over
        print("others ran" if count[0] > before + many else "others waited")
"""


INSTALL = "loomlet.patch.install()"


@pytest.mark.parametrize(
    ("before", "how", "environment", "ran"),
    [
        ("", "", "", False),
        (INSTALL, "", "", _core._has_gil()),
        (INSTALL, "", "0", False),
        (INSTALL, ", slice=None", "", False),
        ("", "", "0", False),
        ("", "", "1", True),
        ("", ", handoff=True", "0", True),
        (INSTALL, ", handoff=False", "1", False),
    ],
)
def test_who_says_so(python, before, how, environment, ran):
    """run() itself, else the environment, else whether the patch is installed."""
    text = f"{SITS}\n    import loomlet.patch\n    {before}\n    loomlet.run(main{how})"
    done = python(text, LOOMLET_HANDOFF=environment)
    assert done.stdout == ("others ran\n" if ran else "others waited\n"), done.stderr


def test_by_the_command_line(python, tmp_path, monkeypatch):
    """For an unmodified program, which is patched."""
    monkeypatch.delenv("LOOMLET_HANDOFF")
    script = tmp_path / "program.py"
    script.write_text("import loomlet\n" + __import__("textwrap").dedent(SITS) + "\nmain()\n")
    for options, printed in (
        ([], "others ran" if _core._has_gil() else "others waited"),
        (["--handoff"], "others ran"),
        (["--no-handoff"], "others waited"),
    ):
        done = python(
            f"""
            import subprocess, sys
            command = [sys.executable, "-m", "loomlet", "run", *{options}, {str(script)!r}]
            print(subprocess.run(command, capture_output=True, text=True).stdout, end="")
            """
        )
        assert done.stdout == printed + "\n"


def test_it_needs_slices():
    """The thread that finds out who sits is the one that finds out who computes."""
    with pytest.raises(ValueError, match="handoff needs slices, found slice=None"):
        loomlet.run(print, slice=None, handoff=True)


def test_the_argument_is_a_bool():
    """As for every switch."""
    with pytest.raises(TypeError, match="expected handoff to be True, False or None, found 'yes'"):
        loomlet.run(print, handoff="yes")


def test_elsewhere_it_is_refused_by_name(monkeypatch):
    """And says what to do."""
    monkeypatch.setattr(_core, "_can_hand_over", lambda: False)
    with pytest.raises(RuntimeError, match=r"CPython 3\.12 or later.*run_blocking"):
        loomlet.run(print, handoff=True)
