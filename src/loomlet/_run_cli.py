"""`python -m loomlet run script.py`: an unmodified program inside loomlet.run().

The program becomes the module `__main__`, with its own folder at the head of `sys.path` and its own
`sys.argv`, as under `python script.py`, and runs as the main tasklet with time slices and with the
blocking calls of the standard library cooperative (loomlet.patch).  It stays `__main__` until the
process ends, because exit functions run after it.  Its threads are tasklets, unless --os-threads is
given; non-daemon threads of either kind are joined before exit.  An exception that leaves the
program is shown at once, without our frames; SystemExit, when the threads have ended, and
KeyboardInterrupt propagate to the interpreter, which turns them into the exit status.

SIGUSR1, unless it has a handler already, prints a dump of the process on stderr.  A handler in C
runs that command, so it works while Python is stuck.

Rejected: runpy.run_path, which removes the module when the script has ended.
"""

from __future__ import annotations

import argparse
import builtins
import io
import os
import sys
from types import CodeType, ModuleType, TracebackType

import loomlet
from loomlet import _core, patch
from loomlet._runtime import SHORTEST_SLICE

Commands = argparse._SubParsersAction  # the type that add_subparsers() gives has no public name

SLICE = 0.01
FAILED, NOT_FOUND = 1, 2


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Adds the command `run` to the command line of loomlet."""
    parser = commands.add_parser(
        "run",
        help="run a program inside loomlet.run()",
        description="Run a program inside loomlet.run(), with time slices; the blocking calls of "
        "the standard library let other tasklets run, and threads are tasklets.",
    )
    words = f"seconds after which a computing tasklet is interrupted (default: {SLICE})"
    parser.add_argument("--slice", metavar="SECONDS", type=_seconds, default=SLICE, help=words)
    words = "threads of the program are OS threads, not tasklets"
    parser.add_argument("--os-threads", action="store_true", help=words)
    parser.add_argument("script", metavar="script.py", help="the program")
    words = "its arguments, in sys.argv"
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help=words)
    parser.set_defaults(run=launch)


def _seconds(text: str) -> float:
    value = float(text)
    if not SHORTEST_SLICE <= value < float("inf"):
        words = f"expected {SHORTEST_SLICE} seconds or more, found {text}"
        raise argparse.ArgumentTypeError(words)
    return value


def launch(options: argparse.Namespace) -> int:
    """Runs the program; returns the exit status, unless the program exits by itself."""
    try:
        code = _read(options.script)
    except OSError as error:
        print(f"loomlet run: cannot open {options.script}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND
    except (SyntaxError, ValueError) as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        return FAILED
    prepare(threads=not options.os_threads)
    module = _become_main(options.script, options.arguments)
    ended = loomlet.run(_outcome, code, module, slice=options.slice)
    if isinstance(ended, SystemExit):
        raise ended
    return 0 if ended is None else FAILED


def _outcome(code: CodeType, module: ModuleType) -> BaseException | None:
    """Runs the program to the end of its main thread; prints the exception that ended it."""
    try:
        exec(code, module.__dict__)
    except SystemExit as error:
        return error
    except Exception as error:
        error.__traceback__ = _theirs(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return error
    return None


def prepare(*, threads: bool) -> None:
    """Sets up the process before the program begins."""
    patch.install(threads=threads)
    if sys.executable:
        _core._dump_at_signal((sys.executable, "-P", "-m", "loomlet", "dump"))


def _read(script: str) -> CodeType:
    with io.open_code(os.path.abspath(script)) as file:
        return compile(file.read(), script, "exec", dont_inherit=True)


def _become_main(script: str, arguments: list[str]) -> ModuleType:
    """The module that the program runs in; from now on `__main__`."""
    module = ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = module
    sys.argv = [script, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    return module


def _theirs(traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in the program, without our frames."""
    while traceback is not None and traceback.tb_frame.f_globals.get("__name__") != "__main__":
        traceback = traceback.tb_next
    return traceback
