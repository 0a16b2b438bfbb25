"""`python -m loomlet run script.py`, `-m module` or `-c program`: it runs inside loomlet.run().

The program becomes the module `__main__`, with its own folder at the head of `sys.path` and its own
`sys.argv`, as under `python script.py`; or with the current folder there, and a spec, as under
`python -m module`; or without a file, as under `python -c program`.  It runs as the main tasklet
with time slices and with the blocking calls of the standard library cooperative (loomlet.patch).
It stays `__main__` until the process ends, because exit functions run after it.  Its threads are
tasklets, unless --os-threads is given.  Its end is that of a program, while all of them exist
(_program_end).  With --sync the names of `threading` and `queue` mean locks and queues of loomlet.
An exception that leaves the program is shown at once, without our frames; SystemExit and
KeyboardInterrupt propagate to the interpreter after the end, which turns them into the exit status.

SIGUSR1, unless it has a handler already, prints a dump of the process on stderr
(_debug/at_signal.py).

Rejected: runpy.run_path and run_module, which remove the module when the program has ended.
"""

from __future__ import annotations

import argparse
import builtins
import importlib.util
import io
import linecache
import os
import sys
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import NamedTuple

import loomlet
from loomlet import _core, _greenlet_import, _program_end, patch
from loomlet._debug.at_signal import dump_at_signal
from loomlet._runtime import SHORTEST_SLICE, UNJOINED
from loomlet.errors import TaskletExit

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
    words = "end with status 1 if a tasklet has failed that nothing joined"
    parser.add_argument("--strict", action="store_true", help=words)
    words = "threads of the program are OS threads, not tasklets"
    parser.add_argument("--os-threads", action="store_true", help=words)
    words = (
        "names of threading and queue mean loomlet's locks and queues (patch.install(sync=True))"
    )
    parser.add_argument("--sync", action="store_true", help=words)
    words = "go on in another thread while a tasklet is inside a C call (default: where that works)"
    parser.add_argument("--handoff", action=argparse.BooleanOptionalAction, help=words)
    words = "the program is a module, found as by `python -m module`; all that follows is for it"
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="module", help=words)
    words = "the program itself; all that follows is for it"
    parser.add_argument("-c", dest="text", nargs=argparse.REMAINDER, metavar="program", help=words)
    parser.add_argument("script", nargs="?", metavar="script.py", help="the program")
    words = "its arguments, in sys.argv"
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help=words)
    parser.set_defaults(run=lambda options: launch(options, parser))


def _seconds(text: str) -> float:
    value = float(text)
    if not SHORTEST_SLICE <= value < float("inf"):
        words = f"expected {SHORTEST_SLICE} seconds or more, found {text}"
        raise argparse.ArgumentTypeError(words)
    return value


class Program(NamedTuple):
    """What becomes `__main__`: its code, its sys.argv, its file and its spec, if it has them."""

    code: CodeType
    argv: list[str]
    file: str | None = None
    spec: ModuleSpec | None = None


def launch(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Runs the program; returns the exit status, unless the program exits by itself."""
    given = options.text or options.module or [options.script, *options.arguments]
    if given[0] is None or options.text == [] or options.module == []:
        parser.error("expected script.py, -m module or -c program")
    read = _compile if options.text else _find_module if options.module else _read
    try:
        program = read(*given)
    except ImportError as error:
        print(f"loomlet run: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"loomlet run: cannot open {given[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND
    except (SyntaxError, ValueError) as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        return FAILED
    prepare(threads=not options.os_threads, sync=options.sync)
    _program_end.mark_main()
    module = _become_main(program)
    ended: list[BaseException | None] = []
    try:
        loomlet.run(
            _outcome,
            program.code,
            module,
            ended,
            slice=options.slice,
            strict=options.strict,
            handoff=options.handoff,
        )
    except KeyboardInterrupt as error:
        if ended == [error]:
            sys.excepthook = lambda *_: None  # it is printed
        raise
    except BaseExceptionGroup as group:
        if group.message != UNJOINED:
            raise
        print(f"loomlet run --strict: {group.message}: {len(group.exceptions)}", file=sys.stderr)
        if not _is_failure(ended[0]):
            return FAILED
    if isinstance(ended[0], SystemExit):
        raise ended[0]
    return 0 if ended[0] is None else FAILED


def _is_failure(ended: BaseException | None) -> bool:
    return ended is not None and not (isinstance(ended, SystemExit) and ended.code in (None, 0))


def _outcome(code: CodeType, module: ModuleType, ended: list[BaseException | None]) -> None:
    """Runs the program to the end of its main thread; prints the exception that ended it.

    Adds that exception to `ended`, or None.
    """
    try:
        FunctionType(code, module.__dict__)()  # no C code below the program, as exec() would be
    except SystemExit as error:
        ended.append(error)
        if isinstance(error, TaskletExit) and error.reason is not None:
            raise  # run() makes it an error
    except (Exception, KeyboardInterrupt) as error:
        error.__traceback__ = _theirs(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        ended.append(error)
    else:
        ended.append(None)
    _program_end.finish(interrupted=isinstance(ended[0], KeyboardInterrupt))
    if ended[0] is not None and _core._is_run_lost():
        raise ended[0] if isinstance(ended[0], SystemExit) else SystemExit(FAILED)
    if isinstance(ended[0], KeyboardInterrupt):
        raise ended[0]


def prepare(*, threads: bool, sync: bool = False) -> None:
    """Sets up the process before the program begins."""
    patch.install(threads=threads, sync=sync)
    _greenlet_import.replace()
    dump_at_signal()


def _read(script: str, *arguments: str) -> Program:
    path = os.path.abspath(script)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    return Program(code, [script, *arguments], path)


def _compile(text: str, *arguments: str) -> Program:
    name = "<string>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    code = compile(text, name, "exec", dont_inherit=True)
    if not sys.flags.safe_path:
        sys.path[0] = ""
    return Program(code, ["-c", *arguments])


def _find_module(name: str, *arguments: str) -> Program:
    """What `python -m name` runs: a module, or the `__main__` of a package."""
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()
    spec = _find_spec(name)
    if spec.submodule_search_locations is not None:
        try:
            spec = _find_spec(f"{name}.__main__")
        except ImportError as error:
            words = f"{error}; {name!r} is a package and cannot be run"
            raise ImportError(words) from None
    code = getattr(spec.loader, "get_code", lambda name: None)(spec.name)
    if code is None:
        raise ImportError(f"no code for module {name!r}")
    return Program(code, [str(spec.origin), *arguments], spec.origin, spec)


def _find_spec(name: str) -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ImportError(f"cannot find module {name!r}: {error}") from error
    if spec is None:
        raise ImportError(f"no module named {name!r}")
    return spec


def _become_main(program: Program) -> ModuleType:
    """The module that the program runs in; from now on `__main__`."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __annotations__={})
    if program.file is not None:
        module.__dict__.update(__file__=program.file)
    if (spec := program.spec) is not None:
        module.__dict__.update(__cached__=spec.cached, __loader__=spec.loader)
        module.__dict__.update(__package__=spec.parent, __spec__=spec)
    sys.modules["__main__"] = module
    sys.argv = program.argv
    return module


def _theirs(traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in the program, without our frames."""
    while traceback is not None and traceback.tb_frame.f_globals.get("__name__") != "__main__":
        traceback = traceback.tb_next
    return traceback
