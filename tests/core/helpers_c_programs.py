"""Programs that tests of C code compile and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

__all__ = ["CORE", "HERE", "call", "compile_c", "compiler"]

HERE = Path(__file__).resolve().parent
CORE = HERE.parents[1] / "src" / "core"


def call(*command: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Runs a program, for at most `timeout` seconds; its output and errors are together."""
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )


def compiler() -> str:
    """The C compiler that the environment names, or the system's."""
    return os.environ.get("CC") or shutil.which("cc") or "gcc"


def compile_c(*arguments: str) -> None:
    """Compiles code of `src/core` without the checks that it makes itself.

    Folders of headers among the arguments come before `src/core` and this one.
    """
    options = ("-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE")
    done = call(compiler(), *options, *arguments, f"-I{CORE}", f"-I{HERE}")
    assert done.returncode == 0, done.stdout
