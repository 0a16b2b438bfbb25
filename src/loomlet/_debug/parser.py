"""Parses the lines of a dump into a Dump.  Their format: src/core/debug/dump.c."""

from __future__ import annotations

from collections.abc import Iterable

from loomlet._debug.model import STATES, Dump, Frame, Hold, Sitter, Stack, Target, Task, Thread

FORMAT = "loomlet-dump\t1"


class Reader:
    """Parses line by line; `dump` is the result, `refused` an errno or 0."""

    def __init__(self) -> None:
        self.dump = Dump(0, 0.0)
        self.refused = 0
        self._codes: dict[str, tuple[str, str]] = {}
        self._stacks: dict[str, Stack] = {"": ()}
        self._targets: dict[str, tuple[Target, ...]] = {"": ()}
        self._known = {
            "P": self._process,
            "S": self._thread,
            "M": self._sitter,
            "C": self._code,
            "T": self._task,
            "H": self._damaged,
            "X": self._refused,
            "E": self._end,
        }

    def take(self, lines: Iterable[str]) -> None:
        """Parses the lines after the first; ValueError for a line of another format."""
        for line in lines:
            kind, *fields = line.split("\t")
            try:
                self._known[kind](fields)
            except (LookupError, ValueError, OverflowError) as error:
                raise ValueError(f"expected a line of a dump, found {line[:80]!r}") from error

    def _process(self, fields: list[str]) -> None:
        self.dump.pid, self.dump.copied = int(fields[0]), int(fields[1]) / 1e9

    def _thread(self, fields: list[str]) -> None:
        ident, current, running, seconds, ready, longest_ms, number = map(int, fields[:7])
        name, function, filename = fields[7:10]
        longest = Hold(number, name, longest_ms / 1000, function, filename, int(fields[10]))
        found = longest if number else None
        thread = Thread(ident, current, bool(running), seconds / 1000, ready, found)
        self.dump.threads.append(thread)

    def _sitter(self, fields: list[str]) -> None:
        number, thread, aside, signal = map(int, fields)
        self.dump.threads[-1].sitters.append(Sitter(number, thread, aside, bool(signal)))

    def _code(self, fields: list[str]) -> None:
        if self._codes.get(fields[0]) != (fields[1], fields[2]):
            self._codes[fields[0]] = (fields[1], fields[2])
            self._stacks = {"": ()}

    def _task(self, fields: list[str]) -> None:
        number, state, _, milliseconds, name, kind, deadline, targets, stack = fields
        if targets not in self._targets:
            self._targets[targets] = self._read_targets(targets)
        if stack not in self._stacks:
            self._stacks[stack] = self._read_stack(stack)
        task = Task(
            int(number),
            name,
            STATES[int(state)],
            int(milliseconds) / 1000,
            kind,
            None if deadline == "-" else int(deadline) / 1000,
            self._targets[targets],
            self._stacks[stack],
        )
        self.dump.threads[-1].tasks.append(task)

    def _read_targets(self, text: str) -> tuple[Target, ...]:
        found = []
        for part in text.split("\1")[:-1]:
            address, type_, name, holder, thread = part.split("\2")[:5]
            found.append(Target(int(address), type_, name, int(holder), int(thread)))
        return tuple(found)

    def _read_stack(self, text: str) -> Stack:
        found: list[Frame] = []
        for part in text.split():
            if part.startswith("+"):
                found[-1] = found[-1]._replace(omitted=int(part))
                continue
            key, line = part.split(":")
            found.append(Frame(*self._codes[key], int(line)))
        return tuple(reversed(found))

    def _damaged(self, fields: list[str]) -> None:
        self.dump.damaged += 1

    def _refused(self, fields: list[str]) -> None:
        self.refused = int(fields[0])

    def _end(self, fields: list[str]) -> None:
        self.dump.whole = fields[0] == "ok"
