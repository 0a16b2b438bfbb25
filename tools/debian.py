"""What tools/pythons and tools/servers share: apt without root, and programs within a time limit.

Purpose.  Packages of the machine's Debian archive, read and downloaded below a private folder.

Invariants.
- The machine's package database is read, not written: apt works with a private source list,
  state and cache.
- No mirror is named here.  It is read from the machine's apt configuration, with the keyring
  declared there, and apt checks the signatures.
- Every child runs in a process group of its own, which is killed when the time is up.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

APT_FOLDER = Path("/etc/apt")
STATUS = Path("/var/lib/dpkg/status")


class CannotGet(Exception):
    """One program is not available; the text says why, for a person to read."""


@dataclass(frozen=True)
class Mirror:
    """A package archive of the machine's own apt configuration, and the key it is signed by."""

    uri: str
    signed_by: str


# --- running programs -------------------------------------------------------------------------


def say(name: str, text: str) -> None:
    """One progress line on stderr."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)


class Runner:
    """Runs programs for one interpreter within the common deadline, output to a log file."""

    def __init__(self, name: str, log: Path, deadline: float) -> None:
        self.name = name
        self.log = log
        self.deadline = deadline

    def left(self) -> float:
        """The remaining seconds; CannotGet when no time is left."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise CannotGet("the time limit is reached (--seconds gives more)")
        return seconds

    def attempt(self, command: Sequence[str | Path], cwd: Path | None = None) -> bool:
        """Run a program to its end, True if it succeeded; CannotGet if it is missing or late."""
        if shutil.which(command[0]) is None:
            raise CannotGet(f"the program {command[0]} is not on this machine")
        self.left()
        with self.log.open("a") as log:
            print("$", *command, file=log, flush=True)
            child = subprocess.Popen(
                command,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=child_environment(),
                start_new_session=True,
            )
            try:
                return self._wait(child, " ".join(map(str, command[:4]))) == 0
            finally:
                kill_group(child)

    def run(self, command: Sequence[str | Path], cwd: Path | None = None) -> None:
        """Like attempt, but failure is CannotGet with the end of the program's own words."""
        if not self.attempt(command, cwd):
            raise CannotGet(f"{Path(command[0]).name} failed: {self.last_words()}")

    def last_words(self, mark: str = "") -> str:
        """The last lines of the log that begin with a mark, and where the whole is."""
        lines = self.log.read_text(errors="replace").splitlines()
        said = [line.strip() for line in lines if line.startswith(mark)][-3:]
        return f"{' | '.join(said)} (all of it: {self.log})"

    def _wait(self, child: subprocess.Popen[bytes], what: str) -> int:
        start = time.monotonic()
        while True:
            try:
                return child.wait(timeout=min(20.0, self.left()))
            except subprocess.TimeoutExpired:
                say(self.name, f"still at it, {time.monotonic() - start:.0f} s: {what}")


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """End a child that still runs, with its whole process group, and reap it."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def child_environment() -> dict[str, str]:
    """The environment for programs: this Python's own variables out, plain English in."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return {**kept, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}


# --- the machine's archive --------------------------------------------------------------------


def one_line_entries(text: str) -> Iterator[tuple[str, list[str], list[str], str]]:
    """(uri, suites, components, key) of each "deb" line of a sources.list."""
    pattern = re.compile(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<rest>\S.*)")
    for line in text.splitlines():
        found = pattern.fullmatch(line.split("#")[0].strip())
        words = found["rest"].split() if found else []
        if found and len(words) >= 3:
            key = re.search(r"signed-by=(\S+)", found["options"] or "", re.IGNORECASE)
            yield words[0], [words[1]], words[2:], key[1] if key else ""


def stanza_entries(text: str) -> Iterator[tuple[str, list[str], list[str], str]]:
    """The same of each stanza of a *.sources file; an embedded key keeps its lines."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        pairs = re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE)
        fields = {key.lower(): value for key, value in pairs}
        enabled = fields.get("enabled", "yes").strip().lower() not in ("no", "false", "0", "off")
        if enabled and "deb" in fields.get("types", "").split():
            suites, parts = fields.get("suites", "").split(), fields.get("components", "").split()
            for uri in fields.get("uris", "").split():
                yield uri, suites, parts, fields.get("signed-by", "").rstrip()


def release() -> str:
    """The code name of the machine's own release, such as bookworm; empty when it has none."""
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    return ""


def machine_mirrors(folder: Path, codename: str) -> list[Mirror]:
    """The archives in apt's configuration that may be Debian's, the most likely first.

    folder: apt's configuration folder.  codename: the machine's own release.  An archive counts
    if it is called "debian", or carries the machine's release, with the component "main".
    """
    entries: list[tuple[str, list[str], list[str], str]] = []
    for path in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        if path.is_file() and path.suffix in (".list", ".sources"):
            read = stanza_entries if path.suffix == ".sources" else one_line_entries
            entries += read(path.read_text(errors="replace"))
    named, others = [], []
    for uri, suites, parts, key in entries:
        last = urlsplit(uri).path.rstrip("/").rpartition("/")[2]
        if "main" in parts and last == "debian":
            named.append(Mirror(uri, key))
        elif "main" in parts and codename in suites and last != "debian-security":
            others.append(Mirror(uri, key))
    return list(dict.fromkeys(named + others))


def stanza(mirror: Mirror, kind: str, suites: Sequence[str], target: str) -> str:
    """A stanza of a source list that downloads only the index it names."""
    key = f"Signed-By: {mirror.signed_by}\n" if mirror.signed_by else ""
    return (
        f"Types: {kind}\nURIs: {mirror.uri}\nSuites: {' '.join(suites)}\nComponents: main\n"
        f"Targets: {target}\n{key}\n"
    )


class Apt:
    """apt with a private source list, state and cache, below one scratch folder.

    sources: the text of the source list for a mirror.  installed: the packages that the machine has
    count, so that what they bring is not downloaded.
    """

    def __init__(
        self, folder: Path, sources: Callable[[Mirror], str], installed: bool = False
    ) -> None:
        self.folder = folder
        self.sources = sources
        self.installed = installed
        self.archives = folder / "cache" / "archives"
        self.ready = False

    def command(self, *arguments: str) -> list[str]:
        """An apt-get command line that works in the private folders."""
        return ["apt-get", "-q", "-y", "-c", str(self.folder / "conf"), *arguments]

    def prepare(self, runner: Runner) -> None:
        """Read the indexes from the machine's mirror, once."""
        if self.ready:
            return
        mirrors = machine_mirrors(APT_FOLDER, release())
        if not mirrors or not shutil.which("apt-get"):
            raise CannotGet("no apt with a Debian archive on this machine to get packages from")
        for mirror in mirrors:
            say(runner.name, "reading the package indexes")
            self._lay_out(mirror)
            done = runner.attempt(self.command("update"))
            if done or any((self.folder / "state" / "lists").glob("*_*Release")):
                self.ready = True
                return
        raise CannotGet(f"no archive of apt's configuration answers: {runner.last_words('E:')}")

    def _lay_out(self, mirror: Mirror) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for part in ("state/lists/partial", "cache/archives/partial", "none"):
            (self.folder / part).mkdir(parents=True)
        self.folder.chmod(0o700)
        known = STATUS.read_bytes() if self.installed and STATUS.exists() else b""
        (self.folder / "state" / "status").write_bytes(known)
        (self.folder / "list.sources").write_text(self.sources(mirror))
        (self.folder / "conf").write_text(
            f'Dir::Etc::sourcelist "{self.folder}/list.sources";\n'
            f'Dir::Etc::sourceparts "{self.folder}/none";\n'
            f'Dir::Etc::preferences "{self.folder}/none/preferences";\n'
            f'Dir::Etc::preferencesparts "{self.folder}/none";\n'
            f'Dir::State "{self.folder}/state";\nDir::State::status "{self.folder}/state/status";\n'
            f'Dir::Cache "{self.folder}/cache";\nAcquire::Languages "none";\n'
            'APT::Sandbox::User "";\n#clear APT::Default-Release;\n#clear DPkg::Post-Invoke;\n'
            "#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n"
        )


# --- a cache of things that are ready ---------------------------------------------------------


@dataclass
class Place:
    """Where one thing goes, and what is at hand while it is made."""

    name: str
    folder: Path
    runner: Runner
    apt: Apt
    scratch: Path


@dataclass(frozen=True)
class Recipe:
    """How to get one program: found on the machine, else made in the cache; CannotGet if neither.

    Both give the path of what is wanted: below its folder, an executable or a folder.
    """

    how: str
    look: Callable[[str], Path] | None = None
    make: Callable[[Place], Path] | None = None


@dataclass(frozen=True)
class Shelf:
    """What one script gets: the recipes by name, and the cache, which `variable` may move."""

    what: str
    recipes: Mapping[str, Recipe]
    variable: str
    folder: str
    sources: Callable[[Mirror], str]
    installed: bool = False

    @property
    def cache(self) -> Path:
        """The cache, by its variable, XDG_CACHE_HOME or the home folder."""
        named = os.environ.get(self.variable)
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(named).expanduser().absolute() if named else Path(base, "loomlet", self.folder)


def ready_path(folder: Path) -> Path | None:
    """The executable or folder of a finished folder of the cache, or None."""
    with contextlib.suppress(OSError):
        path = Path((folder / ".ready").read_text().strip())
        if path.is_relative_to(folder) and os.access(path, os.X_OK):
            return path
    return None


@contextlib.contextmanager
def locked(folder: Path, runner: Runner) -> Iterator[None]:
    """Hold the cache's lock for one interpreter, so that two calls do not make it twice."""
    with folder.with_name(folder.name + ".lock").open("w") as lock:
        waiting = False
        while True:
            runner.left()
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waiting:
                    say(runner.name, "another call is getting it: waiting")
                waiting = True
                time.sleep(0.5)
        yield


def look(shelf: Shelf, name: str) -> Path | None:
    """The path of that name if it is here; CannotGet only where nothing else could help."""
    recipe = shelf.recipes[name]
    if recipe.look is None:
        return ready_path(shelf.cache / name)
    try:
        return recipe.look(name)
    except CannotGet:
        if recipe.make is None:
            raise
        return ready_path(shelf.cache / name)


def make(place: Place, recipe: Callable[[Place], Path]) -> Path:
    """Make one thing in its emptied folder, and declare it ready."""
    shutil.rmtree(place.folder, ignore_errors=True)
    place.folder.mkdir()
    place.scratch.mkdir()
    path = recipe(place)
    (place.folder / ".ready").write_text(f"{path}\n")
    shutil.rmtree(place.scratch)
    return path


def get(shelf: Shelf, name: str, apt: Apt, work: Path, deadline: float) -> Path:
    """The path of one thing, made if it is not here.  Errors: CannotGet."""
    found, recipe = look(shelf, name), shelf.recipes[name].make
    if found is not None or recipe is None:
        return found or Path()
    folder = work.parent / name
    runner = Runner(name, folder.with_name(name + ".log"), deadline)
    with locked(folder, runner):
        if path := ready_path(folder):
            return path
        runner.log.unlink(missing_ok=True)
        place = Place(name, folder, runner, apt, work / name)
        try:
            return make(place, recipe)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def get_all(shelf: Shelf, names: Sequence[str], seconds: float) -> int:
    """Get each and print it; the exit status."""
    shelf.cache.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + seconds
    status = 0
    with tempfile.TemporaryDirectory(prefix=".work-", dir=shelf.cache) as work:
        apt = Apt(Path(work, "apt"), shelf.sources, shelf.installed)
        for name in names:
            try:
                print(name, get(shelf, name, apt, Path(work), deadline), flush=True)
            except (CannotGet, OSError) as error:
                say(name, f"not available: {error}")
                status = 1
    return status


def show_list(shelf: Shelf) -> int:
    """Print every known name with its path, or with where it would come from."""
    for name, recipe in shelf.recipes.items():
        where: Path | None = None
        with contextlib.suppress(CannotGet):
            where = look(shelf, name)
        print(f"{name:10} {where or f'not here ({recipe.how})'}")
    return 0


# --- the command ------------------------------------------------------------------------------


def main(shelf: Shelf, prog: str, description: str) -> int:
    """Read the command line and do it."""
    known = " ".join(shelf.recipes)
    parser = argparse.ArgumentParser(
        prog=prog,
        description=f"{description} into a cache outside the tree; prints NAME PATH for each. "
        "Exit status 1: at least one is not available.",
        epilog=f"Known: {known}. The cache is {shelf.cache} ({shelf.variable}).",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"such as {known.split()[-1]}")
    parser.add_argument("--list", action="store_true", help="known names, and what is here")
    parser.add_argument("--seconds", type=float, default=900.0, help="time limit, default 900")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in shelf.recipes]
    if unknown:
        parser.error(f"unknown {shelf.what} {', '.join(unknown)}; known: {known}")
    if options.list:
        return show_list(shelf)
    if not options.names:
        parser.error(f"name at least one {shelf.what}, or use --list")
    if not options.seconds > 0:
        parser.error("--seconds must be above zero")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return get_all(shelf, list(dict.fromkeys(options.names)), options.seconds)
