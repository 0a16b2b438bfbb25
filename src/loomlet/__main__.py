"""The command line: `python -m loomlet COMMAND`.

Each command adds its own parser (`add_parser`), which sets `run` to a function that takes the
parsed options and returns the exit status.  Only the module of the command that is asked for is
loaded, or all of them for the help: `serve` has to begin quickly, and `dump` must not load much.

A command whose reader has gone (`bench list | head -1`) ends in silence, with the status of a
process that SIGPIPE has ended.  A program (`run`) sees the error, as under plain Python; and nobody
reads what `serve` prints.
"""

from __future__ import annotations

import argparse
import importlib
import os
import select
import signal
import sys
from collections.abc import Sequence

COMMANDS = {
    "bench": "loomlet.bench.cli",
    "doctor": "loomlet.doctor.cli",
    "run": "loomlet._run_cli",
    "dump": "loomlet._debug.cli",
    "serve": "loomlet.serve.cli",
}
"""Where each is, in the order of the help."""

PROGRAMS = ("run", "serve")


class _Version(argparse.Action):
    """Prints the versions and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import platform
        from importlib import metadata

        print(f"loomlet {metadata.version('loomlet')}, Python {platform.python_version()}")
        parser.exit()


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command line, or of that command alone."""
    whole = argparse.ArgumentParser(
        prog="python -m loomlet",
        description="Tools that come with loomlet: tasklets, channels and a scheduler.",
    )
    words = "show the versions of loomlet and Python, and exit"
    whole.add_argument("--version", action=_Version, nargs=0, help=words)
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        if command is None or command == name:
            importlib.import_module(module).add_parser(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the given command line, or that of the process; returns the exit status."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    if given and given[0] in PROGRAMS:
        return _run_command(given)
    try:
        status = _run_command(given)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _is_reader_gone():
            raise
        status = 128 + signal.SIGPIPE
    finally:
        _is_reader_gone()  # argparse says nothing of what it could not write
    return status


def _is_reader_gone() -> bool:
    """Whether nobody reads stdout any more; then what is left of it goes nowhere."""
    asked = select.poll()
    try:
        asked.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError, ValueError):  # there is no stdout, or it is no file
        return False
    if not asked.poll(0):
        return False
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return True


def _run_command(given: list[str]) -> int:
    whole = parser(given[0] if given and given[0] in COMMANDS else None)
    options, unknown = whole.parse_known_args(given)
    if unknown:
        known = f"python -m loomlet {given[0]} --help"
        whole.error(f"unrecognized arguments: {' '.join(unknown)}; {known} shows the known ones")
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
