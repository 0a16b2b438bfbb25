"""The command line: `python -m loomlet dump PID`.

The exit status is 0 for a dump, 1 when there is none, 2 for a command line that is not understood.
"""

from __future__ import annotations

import argparse
import os
import sys

from loomlet._debug import client, render

Commands = argparse._SubParsersAction  # the type that add_subparsers() gives has no public name


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command `dump` to the command line of loomlet."""
    parser = commands.add_parser(
        "dump",
        help="what the tasklets of a running process do",
        description="Print what the tasklets of a running process do and wait for, and where.",
    )
    parser.add_argument("pid", metavar="PID", type=int, help="the number of the process")
    words = "every tasklet by itself, instead of equal ones together"
    parser.add_argument("--all", action="store_true", help=words)
    parser.set_defaults(run=show)


def show(options: argparse.Namespace) -> int:
    """Print the dump; gives the exit status."""
    try:
        found = client.dump(options.pid)
        for line in render.render(found, options.all):
            print(line)
        sys.stdout.flush()
    except (client.DumpError, ValueError) as error:
        print(f"loomlet dump: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # as `| head` wants it
    return 0
