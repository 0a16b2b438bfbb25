"""A database of PostgreSQL for the experiment on HTTP, made anew for each run.

    python http_postgresql.py PROGRAMS PORT FOLDER

PROGRAMS is the folder of `initdb` and `postgres`. The tables are those of the tests db, queries and
fortunes that people compare frameworks by: `world` with ten thousand numbers, and `fortune` with a
dozen sentences. They are made before the server listens, and nothing is kept on the disk for sure.

PostgreSQL refuses to run as root: then it runs as `nobody`, who owns FOLDER.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

USER = "nobody"
ROWS = 10_000
SENTENCES = (
    "A page that is asked for twice is a page that was worth a cache.",
    "Measure first, and then measure what you have measured.",
    "The fastest query is the one that nobody sends.",
    "Every lock was once a good idea.",
    "<script>alert('A page that does not escape me is lost.');</script>",
    "A buffer is a promise that somebody will read.",
    "Whoever waits for the network waits for everybody.",
    "Two clocks never agree, and one is never right.",
    "An error that has a name is half of its repair.",
    "Nobody reads the log until it is too long to read.",
    "Small steps arrive, too.",
    "\u4e00\u671f\u4e00\u4f1a: one time, one meeting.",
)


def tables() -> str:
    """A statement on each line."""
    lines = ["create table world (id integer primary key, randomnumber integer not null);"]
    number = f"1 + (n * 7919) % {ROWS}"
    lines.append(f"insert into world select n, {number} from generate_series(1, {ROWS}) as n;")
    lines.append("create table fortune (id integer primary key, message text not null);")
    for n, sentence in enumerate(SENTENCES, 1):
        text = sentence.replace("'", "''")
        lines.append(f"insert into fortune values ({n}, '{text}');")
    return "\n".join([*lines, "analyze;", ""])


def become_nobody(folder: Path) -> None:
    """Where this is root."""
    if os.geteuid():
        return
    user = pwd.getpwnam(USER)
    os.chown(folder, user.pw_uid, user.pw_gid)
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def make(command: list[str], text: str) -> None:
    """One step, with that input."""
    subprocess.run(command, input=text.encode(), stdout=subprocess.DEVNULL, check=True)


def main(programs: str, port: str, folder: str) -> None:
    """Makes the database and becomes its server."""
    Path(folder).mkdir()
    become_nobody(Path(folder))
    os.chdir(folder)
    store = f"{folder}/store"
    command = [f"{programs}/initdb", "-D", store, "-U", "postgres", "-A", "trust", "-E", "UTF8"]
    make([*command, "--no-sync", "--locale=C"], "")
    quick = ["-c", "fsync=off", "-c", "jit=off"]
    make([f"{programs}/postgres", "--single", *quick, "-D", store, "postgres"], tables())
    place = ["-p", port, "-k", folder, "-c", "listen_addresses=127.0.0.1"]
    server = [f"{programs}/postgres", "-D", store, *place, *quick]
    os.execv(server[0], server)


if __name__ == "__main__":
    main(*sys.argv[1:])
