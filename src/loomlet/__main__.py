"""The command line: `python -m loomlet COMMAND`.

Each command adds its own parser (`add_parser`), which sets `run` to a function that takes the
parsed options and returns the exit status.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence
from importlib import metadata

from loomlet import _run_cli
from loomlet._debug import cli as observe
from loomlet.bench import cli as bench
from loomlet.doctor import cli as doctor


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    whole = argparse.ArgumentParser(
        prog="python -m loomlet",
        description="Tools that come with loomlet: tasklets, channels and a scheduler.",
    )
    version = f"loomlet {metadata.version('loomlet')}, Python {platform.python_version()}"
    whole.add_argument("--version", action="version", version=version)
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    bench.add_parser(commands)
    doctor.add_parser(commands)
    _run_cli.add_parser(commands)
    observe.add_parser(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the given command line, or that of the process; returns the exit status."""
    options = parser().parse_args(arguments)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
