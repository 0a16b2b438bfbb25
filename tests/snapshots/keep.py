"""Freezes and pickles every program with the running interpreter into <version>/<build>/.

    python tests/snapshots/keep.py

Run once for each released version and each CPython; existing files are never written again.
Tracebacks hold file names.  So all modules are imported under relative ones, and the bytes say
nothing of the machine.
"""

from __future__ import annotations

import sys
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from typing import Any


class RelativeLoader(SourceFileLoader):
    """Compiles every time, under a file name without the machine's folders."""

    def path_stats(self, path: Any) -> Any:
        raise OSError(f"no cached code of {path}")

    def source_to_code(self, data: Any, path: Any, **options: Any) -> Any:
        name = str(path).rpartition("site-packages/")[2]
        return super().source_to_code(data, name if name != path else Path(name).name, **options)


def main() -> None:
    """Writes the files that are missing."""
    sys.dont_write_bytecode = True
    loaders = (ExtensionFileLoader, EXTENSION_SUFFIXES), (RelativeLoader, [".py"])
    sys.path_hooks.insert(0, FileFinder.path_hook(*loaders))
    sys.path_importer_cache.clear()
    import helpers_kept

    helpers_kept.keep()


if __name__ == "__main__":
    main()
