"""A server loads what it needs, so that it begins quickly and stays small."""

import re
import subprocess
import sys

import pytest

LOADED = re.compile(r"^import time: .*\| +(\S+)$", re.MULTILINE)
HEAVY = {
    *("asyncio", "ssl", "multiprocessing", "subprocess", "concurrent.futures", "inspect"),
    *("dataclasses", "json", "rich", "h2", "wsproto", "email", "logging.config"),
    *("loomlet.aio", "loomlet.net", "loomlet.bench.measure", "loomlet.patch"),
}


def loaded_by(*command):
    """The modules that a process of Python loads."""
    line = [sys.executable, "-X", "importtime", *command]
    ended = subprocess.run(line, capture_output=True, text=True, check=True)
    return set(LOADED.findall(ended.stderr))


def test_a_folder_needs_little(serve, tmp_path):
    """What logging needs depends on the version of Python."""
    (tmp_path / "page").write_text("here")
    server = serve(".", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert server.get("/page") == (200, b"here")
    server.end()
    loaded = set(LOADED.findall(server.log))
    assert "loomlet.http._files" in loaded
    assert loaded & HEAVY - loaded_by("-c", "import argparse, logging") == set()


@pytest.mark.parametrize(
    ("command", "own"), [("dump", "loomlet._debug.client"), ("serve", "loomlet.serve.settings")]
)
def test_a_command_loads_no_other_one(command, own):
    """Only the module that the command line names."""
    loaded = loaded_by("-m", "loomlet", command, "--help")
    assert own in loaded
    assert not loaded & {"loomlet.bench.measure", "loomlet.patch"}
    assert ("loomlet.http" in loaded) == (command == "serve")


def test_the_help_names_all_commands():
    line = [sys.executable, "-m", "loomlet", "--help"]
    text = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^    (\w+) {2}", text, re.MULTILINE) == [
        *("bench", "doctor", "run", "dump", "serve"),
    ]
