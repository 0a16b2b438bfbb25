"""The examples of the how-to pages on libraries run with the real servers, and print what they say.

A block whose fence says "python" and the name of a server asks that server at its usual port, for
which the test puts the port of its own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[3] / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^``` python (\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAID = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
LIBRARY = re.compile(r"^import ((?!loomlet)\w+)$", re.MULTILINE)
PORTS = {"nginx": "8080", "redis": "6379", "postgresql": "5432", "mariadb": "3306"}


def examples():
    """(server, library, program) of each block, named by page and library."""
    found = []
    for page in PAGES:
        for server, program in BLOCK.findall(page.read_text()):
            library = LIBRARY.search(program)[1]
            found.append(pytest.param(server, library, program, id=f"{page.stem}-{library}"))
    return found


@pytest.mark.parametrize(("server", "library", "program"), examples())
def test_an_example_prints_what_it_says(server, library, program, request):
    """Nothing more, and no traceback."""
    pytest.importorskip(library)
    address = request.getfixturevalue(f"{server}_server")
    assert program.count(PORTS[server]) == 1
    done = subprocess.run(
        [sys.executable, "-c", program.replace(PORTS[server], str(address.port))],
        env={**os.environ, "no_proxy": "*"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.stdout.splitlines(), done.returncode) == (SAID.findall(program), 0), done.stderr


def test_every_example_is_found():
    """No block is missed because its fence is written in another way."""
    fences = sum(len(re.findall(r"^``` \w", page.read_text(), re.MULTILINE)) for page in PAGES)
    assert len(examples()) == fences == 8
