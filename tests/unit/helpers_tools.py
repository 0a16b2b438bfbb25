"""The scripts of tools/ as programs, and as modules, for their functions."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def run_tool(name: str, *arguments: str, **changed: str) -> subprocess.CompletedProcess[str]:
    """Run one of them in a process of its own, with these environment variables changed."""
    return subprocess.run(
        [sys.executable, str(TOOLS / name), *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **changed},
    )


def tool(name: str) -> ModuleType:
    """One of them, newly loaded, with what it shares with the others."""
    path = TOOLS / name
    loader = importlib.machinery.SourceFileLoader(f"tools_{path.stem}", str(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(TOOLS))
    try:
        loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOLS))
        sys.dont_write_bytecode = writes
    return module
