"""The command line of the bench: `python -m loomlet bench …`.

Results go to the terminal and the cache folder, and to `--json PATH` if asked for. The exit status
is 0 when the measurements ran, whatever they say, 1 when one of loomlet's own failed or the command
cannot be carried out, 2 for a command line that is not understood, 130 when stopped from the
keyboard.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from loomlet.bench import document, machine, measure
from loomlet.bench.catalogue import EXPERIMENTS
from loomlet.bench.headlines import DEMO, cells, compare
from loomlet.bench.model import BenchError, Cell, Document, Experiment
from loomlet.bench.peers import SYSTEMS
from loomlet.bench.targets import judge

if TYPE_CHECKING:
    from rich.console import Console

Commands = argparse._SubParsersAction  # the type that add_subparsers() gives has no public name

EXTRA = ("rich", "matplotlib")
"""What the extra brings: for the terminal, and for the pictures of a report."""

STOPPED = 130
EPILOG = """\
Every experiment runs beside the peers found on this machine; `bench list` names them, and how to
get the missing ones. In full, taskspeed and preempt take a minute each, net and heap a few,
giltest, testserver, handoff and http a quarter of an hour, ring and memory up to half an hour.

  python -m loomlet bench taskspeed --quick
  python -m loomlet bench ring --case 'N=100 M=10000' --systems loomlet,go --json ring.json
  python -m loomlet bench report report.html
"""


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command `bench` to the command line of loomlet."""
    parser = commands.add_parser(
        "bench",
        help="run a founding experiment beside its peers",
        description="Run a founding experiment beside its peers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = parser.add_subparsers(metavar="NAME", required=True)
    for experiment in EXPERIMENTS.values():
        _add_experiment(names, experiment)
    _add_together(names)
    listing = names.add_parser("list", help="the experiments, and the systems on this machine")
    listing.set_defaults(run=_guarded(list_all))
    page = names.add_parser("report", help="one HTML page with pictures of the latest results")
    page.add_argument("out", metavar="OUT.html", type=Path, help="the page to write")
    words = "these results instead of the latest ones"
    page.add_argument("results", metavar="RESULT.json", nargs="*", type=Path, help=words)
    page.set_defaults(run=_guarded(report))


def _add_experiment(names: Commands[argparse.ArgumentParser], experiment: Experiment) -> None:
    parser = names.add_parser(experiment.name, help=experiment.summary)
    _add_common(parser)
    parser.add_argument("--quick", action="store_true", help="a few sizes, a few runs")
    parser.add_argument("--json", metavar="PATH", type=Path, help="write the result there too")
    words = "only this case, of any size, as in the printed table; may be repeated"
    parser.add_argument("--case", metavar="CASE", action="append", default=[], help=words)
    parser.set_defaults(run=_guarded(run_one), experiment=experiment.name)


def _add_together(names: Commands[argparse.ArgumentParser]) -> None:
    every = names.add_parser("all", help="every experiment, one after the other")
    every.add_argument("--quick", action="store_true", help="a few sizes, a few runs")
    demo = names.add_parser("demo", help="two minutes: a dozen comparisons, and a report page")
    words = "write the page there (default: report.html in the folder of the latest results)"
    demo.add_argument("--report", metavar="PATH", type=Path, help=words)
    for parser in (every, demo):
        _add_common(parser)
        parser.set_defaults(case=[], json=None)
    every.set_defaults(run=_guarded(run_all))
    demo.set_defaults(run=_guarded(run_demo), quick=True)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--systems", metavar="A,B", help="only these systems")
    words = "show the numbers that loomlet promises, and which were reached"
    parser.add_argument("--targets", action="store_true", help=words)
    words = "how often each system takes its turn"
    parser.add_argument("--runs", metavar="R", type=_positive, help=words)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, found {value}")
    return value


def _guarded(work: Callable[[argparse.Namespace], None]) -> Callable[[argparse.Namespace], int]:
    """The work as a command: it gives the exit status, and a BenchError becomes one line."""

    def command(options: argparse.Namespace) -> int:
        try:
            work(options)
        except BenchError as error:
            print(f"loomlet bench: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("loomlet bench: stopped", file=sys.stderr)
            return STOPPED
        return 0

    return command


def list_all(options: argparse.Namespace) -> None:
    """Print the experiments and the systems, plainly: this works without the extra."""
    for experiment in EXPERIMENTS.values():
        print(f"{experiment.name:<10} {experiment.summary}")
        print(f"{'':<10} systems: {', '.join(experiment.systems)}")
    print("\nsystems on this machine:")
    for system in SYSTEMS.values():
        print(f"  {system.name:<10} {system.version() or f'missing: {system.install}'}")


def report(options: argparse.Namespace) -> None:
    """Write the page for the named results, or for the latest ones."""
    need_extra(EXTRA)
    found = [document.load(path) for path in options.results] or document.latest(EXPERIMENTS)
    if not found:
        raise BenchError("no results yet: run python -m loomlet bench all --quick")
    _write_page(found, options.out)


def run_one(options: argparse.Namespace) -> None:
    """Run one experiment."""
    found = _run([EXPERIMENTS[options.experiment]], options)
    if options.json:
        document.save(found[0], options.json)
        print(f"result: {options.json.resolve()}")
    _fail_where_ours_failed(found)


def run_all(options: argparse.Namespace) -> None:
    """Run every experiment."""
    _fail_where_ours_failed(_run(list(EXPERIMENTS.values()), options))


INTRODUCTION = """\
Loomlet runs plain Python functions as light tasklets that talk over channels.
Here it does a dozen things beside the other systems on this machine ({systems}); this takes about
two minutes. A longer bar is worse; the best other system in Python is shown, or else Go or Erlang.
"""


def run_demo(options: argparse.Namespace) -> None:
    """Run the comparisons, draw each as it ends, and write the page."""
    need_extra(EXTRA)
    from loomlet.bench import terminal

    console = terminal.console()
    names = dict.fromkeys(name for each in DEMO for name in each.systems)
    present = [name for name in names if name != "loomlet" and SYSTEMS[name].version()]
    console.print(INTRODUCTION.format(systems=", ".join(present)))
    found = []
    with terminal.Bar(console) as bar:
        for experiment in DEMO:
            work = _work(experiment, options, cells(experiment))
            found.append(measure.measure(experiment, *work, bar))
            console.print(terminal.bars(list(compare(found[-1])), console.width))
    for each in found:
        document.keep(each)
    _print_targets(found, console, options)
    _print_absent(found, console)
    _write_page(found, options.report or machine.cache() / "report.html")
    _fail_where_ours_failed(found)


def _print_absent(found: Sequence[Document], console: Console) -> None:
    """One line for all that was not here, and how to get most of it."""
    absent = dict.fromkeys(entry.system for each in found for entry in each.missing)
    if absent:
        console.print(f"Not measured: {', '.join(absent)}. `make peers` gets those in Python.")


def need_extra(names: Sequence[str]) -> None:
    """BenchError where these of what the extra brings are not installed."""
    absent = [name for name in names if importlib.util.find_spec(name) is None]
    if absent:
        raise BenchError(f"needs {' and '.join(absent)}: pip install loomlet[bench]")


def _write_page(found: Sequence[Document], path: Path) -> None:
    from loomlet.bench import report as pages

    pages.write(found, path)
    print(f"report: {path.resolve()}")


def _run(experiments: Sequence[Experiment], options: argparse.Namespace) -> list[Document]:
    """Measure with a bar, keep the results, print the tables."""
    need_extra(EXTRA[:1])
    from loomlet.bench import terminal

    work = [(experiment, *_work(experiment, options)) for experiment in experiments]
    console = terminal.console()
    with terminal.Bar(console) as bar:
        found = [measure.measure(*each, bar) for each in work]
    for each in found:
        document.keep(each)
    _print(found, console, options)
    return found


def _fail_where_ours_failed(found: Sequence[Document]) -> None:
    failed = [
        f"{each.experiment} ({entry.case}): {entry.how}"
        for each in found
        for entry in measure.own_failures(each)
    ]
    if failed:
        raise BenchError(f"loomlet itself was not measured in {'; '.join(failed)}")


def _work(
    experiment: Experiment, options: argparse.Namespace, work: list[Cell] | None = None
) -> tuple[list[Cell], list[str]]:
    """The cells that the options ask for, or these, and the systems."""
    found = experiment.cells(options.quick, options.case) if work is None else work
    if options.runs:
        found = [replace(cell, runs=options.runs) for cell in found]
    if not options.systems:
        return found, list(experiment.systems)
    chosen = options.systems.split(",")
    unknown = sorted(set(chosen) - set(SYSTEMS))
    if unknown:
        raise BenchError(f"no system {', '.join(unknown)}; there are {', '.join(SYSTEMS)}")
    known = [name for name in experiment.systems if name in chosen]
    if not known:
        raise BenchError(f"{experiment.name} knows only {', '.join(experiment.systems)}")
    return found, known


def _print(found: Sequence[Document], console: Console, options: argparse.Namespace) -> None:
    from loomlet.bench import format, terminal

    for each in found:
        for table in terminal.tables(each, EXPERIMENTS[each.experiment], console.width):
            console.print(table)
        for line in EXPERIMENTS[each.experiment].notes(each):
            console.print(line)
    absent = [entry for each in found for entry in each.missing]
    if absent:
        console.print(terminal.missing(list(dict.fromkeys(absent))))
    _print_targets(found, console, options)
    if any(row.scaled > 1 for each in found for row in each.rows):
        console.print(format.SCALED)
    console.print("Medians. Ratios count: absolute times belong to this machine and this hour.")


def _print_targets(
    found: Sequence[Document], console: Console, options: argparse.Namespace
) -> None:
    from loomlet.bench import terminal

    if options.targets:
        console.print(terminal.verdicts([verdict for each in found for verdict in judge(each)]))
