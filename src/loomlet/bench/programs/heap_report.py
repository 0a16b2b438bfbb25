"""What long-running programs ask of an allocator: lists that grow by append and extend, in rounds.

    report       bookings go to 2000 accounts, a few busy and many quiet ones, whose lists grow side
                 by side; the accounts are joined into books by extend, the books into rows of text
                 and into columns; a few rows of the last reports stay, like a cache
    many lists   20 000 lists grow side by side, an entry at a time, and are joined
    one list     one list grows by append to five million entries, and by extend to ten

No loomlet here: the driver runs a round after the other as it is told to, in a tasklet or not.
Processor time counts, not time: nothing here waits.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

BOOKINGS = 300_000
ACCOUNTS = 2_000
BOOKS = 6
COLUMNS = 12
CACHED = 3
LISTS = 20_000
LONG = 5_000_000

Kept = list[list[str]]


def book(seed: int) -> list[list[tuple[int, float]]]:
    """The accounts, each with its bookings."""
    draw = random.Random(seed).random
    accounts: list[list[tuple[int, float]]] = [[] for _ in range(ACCOUNTS)]
    for number in range(BOOKINGS):
        share = draw()
        accounts[int(share * share * share * ACCOUNTS)].append((number, share))
    return accounts


def report(seed: int, kept: Kept) -> int:
    """Write one report; give the number of entries in its columns."""
    books: list[list[tuple[int, float]]] = [[] for _ in range(BOOKS)]
    for number, account in enumerate(book(seed)):
        books[number % BOOKS].extend(account)
    rows: list[str] = []
    for entries in books:
        page: list[str] = []
        for number, share in entries[::5]:
            page.append(f"{number:08d};{share:.4f};{'.' * (number % 120)}")
        rows.extend(page)
    text = "\n".join(rows)
    columns: list[list[int]] = [[] for _ in range(COLUMNS)]
    for entries in books:
        for at, column in enumerate(columns):
            column.extend([number for number, _ in entries[at::COLUMNS]])
    kept.append(rows[::101])
    del kept[:-CACHED]
    return sum(map(len, columns)) if text.count("\n") == len(rows) - 1 else -1


def many_lists(seed: int, kept: Kept) -> int:
    """Let many lists grow side by side; give the number of entries."""
    lists: list[list[int]] = [[] for _ in range(LISTS)]
    for size in range(30):
        for at in range(0, LISTS, 1 + size // 3):
            lists[at].append(seed)
            lists[at].extend(range(size))
    joined: list[int] = []
    for each in lists:
        joined.extend(each)
    return len(joined)


def one_list(seed: int, kept: Kept) -> int:
    """Let one list grow very long; give the number of entries."""
    long: list[int] = []
    append = long.append
    for _ in range(LONG):
        append(seed)
    for _ in range(50):
        long.extend(long[: LONG // 50])
    return len(long)


KINDS: dict[str, Callable[[int, Kept], int]] = {
    "report": report,
    "many lists": many_lists,
    "one list": one_list,
}


def memory(field: str) -> int:
    """Bytes of this process, by the field of its status: VmHWM is the most that was resident."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (size,) = (line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return int(size) * 1024


def measure(kind: str, rounds: int) -> dict[str, Any]:
    """Seconds of each round, the entries of all, and what is resident at most and in the end."""
    work = KINDS[kind]
    kept: Kept = []
    seconds, entries = [], 0
    for seed in range(rounds):
        began = process_time()
        entries += work(seed, kept)
        seconds.append(process_time() - began)
    kept.clear()
    gc.collect()
    peak, left = memory("VmHWM"), memory("VmRSS")
    return {"seconds": seconds, "entries": entries, "peak": peak, "left": left}
