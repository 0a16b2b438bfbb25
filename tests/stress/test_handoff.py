"""A seeded random program of tasklets that sit in C at any depth while others go on.

They wait in C below Python code and below C code, several times without bytecode between, with an
exception that is handled, in a context, on channels in both directions, in collections; some are
killed.  Each
ends once, with its own result or by its kill, and every step of it has run.
"""

from __future__ import annotations

import contextvars
import ctypes
import gc
import random

import pytest

import loomlet
from loomlet import Channel, _core, schedule, sleep, spawn

if not _core._can_hand_over():
    pytest.skip("handoff needs 3.12 or later", allow_module_level=True)

# Without a GIL every collection is a full one, and threads that collect by turns hold up others.
pytestmark = pytest.mark.filterwarnings("ignore::loomlet.errors.StallWarning")
SLICE = 0.002
STEPS = 4
usleep = ctypes.CDLL(None).usleep


class Program:
    """One run: some tasklets of STEPS steps each, and those that feed and disturb them."""

    def __init__(self, seed: int, count: int) -> None:
        self.random, self.seed, self.count = random.Random(seed), seed, count
        self.channel = Channel()
        self.log: list[tuple[int, int]] = []
        self.over = False

    def pause(self, rng: random.Random, longest: int) -> None:
        usleep(rng.randrange(100, longest))

    def handle(self, rng: random.Random, n: int) -> None:
        try:
            try:
                self.pause(rng, 20_000)
                raise KeyError(n)
            finally:
                schedule()
        except KeyError as error:
            assert error.args == (n,)

    def step(self, rng: random.Random, n: int) -> None:
        kind = rng.randrange(10)
        if kind == 0:
            self.pause(rng, 30_000)
        elif kind == 1:
            assert sorted([3, 1, 2], key=lambda v: (self.pause(rng, 12_000), v)[1]) == [1, 2, 3]
        elif kind == 2:
            self.channel.send((n, rng))
        elif kind == 3:
            self.channel.receive()
        elif kind == 4:
            self.handle(rng, n)
        elif kind == 5:
            list(map(usleep, [rng.randrange(100, 9_000)] * 3))
        elif kind == 6:
            assert sorted([2, 1], key=lambda v: (sleep(rng.random() * 0.01), v)[1]) == [1, 2]
        elif kind == 7:
            contextvars.copy_context().run(self.pause, rng, 12_000)
        elif kind == 8:
            contextvars.copy_context().run(self.handle, rng, n)
        else:
            gc.collect(0)
            schedule()

    def work(self, n: int) -> int:
        rng = random.Random(self.seed * 1000 + n)
        for at in range(STEPS):
            self.step(rng, n)
            self.log.append((n, at))
        self.pause(rng, 20_000)
        return n

    def feed(self) -> None:
        """Gives each what it may wait for at the channel."""
        while not self.over:
            sleep(0.001)
            for operate in (lambda: self.channel.send(None), self.channel.receive):
                try:
                    with loomlet.timeout(0.001):
                        operate()
                except TimeoutError:
                    pass

    def main(self) -> int:
        """How many were killed."""
        tasks = [spawn(self.work, n) for n in range(self.count)]
        feeder, killed = spawn(self.feed), set()
        for _ in range(self.count // 10):
            sleep(self.random.random() * 0.02)
            victim = self.random.randrange(self.count)
            killed.add(victim)
            tasks[victim].kill()
        for n, task in enumerate(tasks):
            try:
                assert task.result() == n
                assert [at for who, at in self.log if who == n] == list(range(STEPS))
            except loomlet.TaskletKilled:
                assert n in killed
        self.over = True
        feeder.join()
        return len(killed)


def test_nothing_is_lost_or_doubled(seed, mode, scaled):
    """In many runs, each of which begins and ends its own threads."""
    for round_number in range(scaled(5)):
        program = Program(seed * 100 + round_number, 60)
        assert loomlet.run(program.main, slice=SLICE, handoff=True) > 0


def test_all_sit_at_once(scaled):
    """As many threads as tasklets come and go."""

    def sit(n: int) -> int:
        usleep(3_000)
        return n

    def main() -> list[int]:
        return [task.result() for task in [spawn(sit, n) for n in range(50)]]

    for _ in range(scaled(100)):
        assert loomlet.run(main, slice=0.0003, handoff=True) == list(range(50))
