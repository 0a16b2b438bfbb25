"""What the tests of `python -m loomlet serve` share: a server in a process of its own."""

from __future__ import annotations

import pytest
from helpers_serving import Serving


@pytest.fixture
def serve(tmp_path):
    """Starts servers in the folder of the test, at a free port unless they are told another."""
    made = []

    def start(*arguments, **options):
        where = () if {"--uds", "--fd", "--port"} & set(arguments) else ("--port", "0")
        made.append(Serving(tmp_path, *arguments, *where, **options))
        return made[-1]

    yield start
    for one in made:
        one.close()
        assert "has not ended well" not in one.log


@pytest.fixture
def program(tmp_path):
    """Writes a module of that text; the first words of each test's application."""

    def write(text, name="site_app"):
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return write
