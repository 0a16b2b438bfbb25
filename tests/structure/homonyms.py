"""Words that once meant several things, and the one meaning that each has now.

    python tests/structure/homonyms.py [ROOT]       counts what is left, for each word

An identifier of C or Python counts when it uses the word in another sense than the one meaning; so
does a phrase of a comment, a document or a message.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
KINDS = (".c", ".h", ".py", ".pyi", ".md")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')

# word: (its one meaning, identifiers of C and private Python that use it in another one, files in
# which it has its one meaning, phrases of prose that use it in another one).
Rule = tuple[str, str, str, str]
HOMONYMS: dict[str, Rule] = {
    "watchdog": (
        "run(timeout) of the Stackless API",
        r"\w*watchdog\w*",
        r"stackless|compat/|changes/",
        r"\bwatchdogs?\b",
    ),
    "watch": (
        "to observe something until it changes",
        r"s_watch\w*|\w*_watch|watch|watches|watched|watching|P_WATCHING|\w*EAGER\w*",
        r"src/loomlet/|docs/",
        r"\bbegins? (or ends )?to watch\b|\bwatch(es|ed)? (for|before)\b",
    ),
    "tick": (
        "what the timeout of Stackless' run() counts",
        r"ticks?|TICK|\w+_ticks?(_\w+)?|tick\w*_\w+",
        r"stackless|compat/|bench/",
        r"\btime in ticks\b|\bticks of about\b",
    ),
    "hold": (
        "to have a lock or keep an object",
        r"s_holds?(_\w+)?|s_note_hold|\w*hold_record",
        "",
        r"\b(holds?|held|holding)( up)? the core\b|\bhold of the core\b",
    ),
    "held": ("taken, of a lock", r"held_back|\w*\bheld_\w+", r"src/loomlet/", r"(?!)"),
    "place": (
        "where something stands, in prose only",
        r"\w*_place|place_\w+|places?|\w*_place_\w+|PLACES",
        "",
        r"\bqueue places?\b|\bplaces? in (the|a|its) queue\b",
    ),
    "loop": (
        "an event loop of asyncio; that of the interpreter is the eval loop",
        r"[csi]_loop(_\w+)?|\w*own_loops?|loop_(runs|own|set|swap|clear)|bind_loop\w*|in_loop",
        r"src/loomlet/aio/",
        r"(?!)",
    ),
    "exchange": (
        "an atomic operation of the processor",
        r"(?!__atomic|.*atomic)\w*exchang\w*",
        "",
        r"\bexchang(e|es|ed|ing)\b(?! (of|and no|loop|n\b))",
    ),
    "record": (
        "a record of logging; what a frame is made of is its snapshot",
        r"(?!\w*(log_?record|LogRecord|RECORD_))\w*records?(_\w+)?",
        r"_log_records",
        r"(?!)",
    ),
    "names": (
        "plural of name; hosts are resolved, C strings are interned, functions are importable",
        r"[pib]_(\w+_)?names(_\w+)?|names_\w+|c_name|bind_patch_names|\w*BIND_NAMES\w*",
        "",
        r"\bnames of hosts\b|\blookups? of names\b",
    ),
    "core": (
        "the native module; processors have processor cores",
        r"leave_core|\w+_core_\w+",
        "",
        r"\bthe core (is|was) (held|free|idle)\b|\b(leaves?|left|got|gets?|holds?|held) the core\b",
    ),
}


def files(root: Path) -> list[Path]:
    """The C core, the package but for the bench, and the documents."""
    command = ["git", "ls-files", "-z", "src", "docs", "README.md"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=True)
    names = [name for name in done.stdout.decode().split("\0") if name.endswith(KINDS)]
    ours = [n for n in names if "/bench/" not in n and n != "docs/glossary.md"]
    return [root / name for name in ours if (root / name).is_file()]


def prose_and_code(path: Path) -> tuple[str, str]:
    """The comments, strings and text of a file, and its code."""
    text = path.read_text()
    if path.suffix == ".md":
        return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), ""
    if path.suffix in (".c", ".h"):
        comments = re.findall(r"/\*.*?\*/|//[^\n]*", text, re.S)
        code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    else:
        comments = re.findall(r'""".*?"""|#[^\n]*', text, re.S)
        code = re.sub(r'""".*?"""|#[^\n]*', " ", text, flags=re.S)
    strings = STRING.findall(code)
    return "\n".join([*comments, *strings]), STRING.sub('""', code)


def offenders(root: Path) -> Iterator[tuple[str, str, str]]:
    """(word, file, identifier or phrase)."""
    return in_files(root, files(root))


def in_files(root: Path, paths: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """The same for these files."""
    for path in paths:
        name = path.relative_to(root).as_posix()
        prose, code = prose_and_code(path)
        found = set(IDENTIFIER.findall(code)) | {path.stem}
        for word, (_, banned, where, phrase) in HOMONYMS.items():
            if where and re.search(where, name):
                continue
            hits = [identifier for identifier in sorted(found) if re.fullmatch(banned, identifier)]
            hits += [f'"{hit[0]}"' for hit in re.finditer(phrase, " ".join(prose.split()), re.I)]
            yield from ((word, name, hit) for hit in hits)


if __name__ == "__main__":
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE
    found = list(offenders(root))
    if "-v" in sys.argv:
        for word, name, what in found:
            print(f"{word:10} {name}: {what}")
    for word in HOMONYMS:
        print(f"{word:10} {sum(1 for f in found if f[0] == word)}")
    print(f"{'all':10} {len(found)}")
