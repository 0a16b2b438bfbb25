"""How the doctor prints what it found: names, each with advice.

On a terminal, where `rich` is installed, the advice wraps beside the names; else there is a line
for each, which other programs can read.  `rich` comes with the extra `loomlet[bench]`, and is
imported after all else: it must not be among the modules that were looked at.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence

__all__ = ["show"]


def show(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Prints the title and the rows below it; without rows, the title and `none`."""
    print(f"\n{title}: {'' if rows else 'none'}".rstrip())
    if sys.stdout.isatty() and importlib.util.find_spec("rich"):
        _show_table(rows)
        return
    width = max((len(row[0]) for row in rows), default=0)
    for first, second in rows:
        print(f"  {first:{width}}  {second}")


def _show_table(rows: Sequence[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 0, 0, 2))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
