"""The command line: `python -m loomlet dump PID`.

The exit status is 0 for a dump, 1 for an error, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import os
import sys

from loomlet._debug import client, render

Commands = argparse._SubParsersAction  # the type that add_subparsers() gives has no public name


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Adds the command `dump` to the command line of loomlet."""
    parser = commands.add_parser(
        "dump",
        help="what the tasklets of a running process do",
        description="Print what the tasklets of a running process do and wait for, and where.",
    )
    parser.add_argument("pid", metavar="PID", type=int, help="the process number")
    words = "list every tasklet by itself, instead of one entry for equal ones"
    parser.add_argument("--all", action="store_true", help=words)
    parser.set_defaults(run=show)


def show(options: argparse.Namespace) -> int:
    """Prints the dump; returns the exit status."""
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
