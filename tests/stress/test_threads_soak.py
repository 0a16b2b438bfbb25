"""Schedulers of several threads that send, kill, throw and collect at once."""

import collections
import gc
import random
import threading

import pytest

import loomlet
from loomlet import Channel

THREADS = 4


class Thrown(Exception):
    """What threads throw at each other's tasklets."""


class Worker(threading.Thread):
    """One thread of the soak: spawns, talks over the shared channels, disturbs the others."""

    def __init__(self, seed, channels, shared, rounds):
        super().__init__()
        self.random = random.Random(seed)
        self.channels, self.shared, self.rounds = channels, shared, rounds
        self.count = collections.Counter()
        self.error = None

    def run(self):
        try:
            loomlet.run(self.main)
        except BaseException as error:
            self.error = error

    def body(self):
        self.count["started"] += 1
        try:
            for _ in range(self.random.randrange(1, 8)):
                self.step(self.random.choice(self.channels))
        except (Thrown, loomlet.ChannelClosed):
            pass
        finally:
            self.count["finished"] += 1

    def step(self, ch):
        what = self.random.randrange(6)
        if what == 0:
            ch.send(object())
        elif what == 1:
            ch.receive()
        elif what == 2:
            loomlet.select([ch, (self.random.choice(self.channels), 1)])
        elif what == 3:
            sorted([2, 1], key=lambda value: (ch.try_send(None), loomlet.schedule(), value)[2])
        elif what == 4:
            for _ in ch:
                break
        else:
            loomlet.schedule()

    def main(self):
        for turn in range(self.rounds):
            mine = [loomlet.spawn(self.body) for _ in range(10)]
            self.shared.extend(mine[:3])
            for _ in range(3):
                loomlet.schedule()
            for ch in self.channels:
                ch.try_send(None)
                ch.try_receive()
            self.disturb()
            for task in mine[5:]:
                task.kill()
            if turn % 20 == 0:
                gc.collect()

    def disturb(self):
        try:
            task = self.shared.popleft()
        except IndexError:
            return
        try:
            task.kill() if self.random.random() < 0.5 else task.throw(Thrown())
        except loomlet.DeadTasklet:
            self.count["late"] += 1


@pytest.mark.slow
def test_threads_that_disturb_each_other(seed, mode, scaled):
    """Tasklets killed and thrown into from any thread, in any state, each end exactly once."""
    channels = [Channel(n % 3) for n in range(5)]
    shared = collections.deque()
    failed = []
    previous = loomlet.set_error_handler(lambda task, error: failed.append(error))
    workers = [Worker(seed * 100 + n, channels, shared, scaled(200)) for n in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    loomlet.set_error_handler(previous)
    assert [worker.error for worker in workers] == [None] * THREADS
    assert [type(error) for error in failed if not isinstance(error, Thrown)] == []
    for worker in workers:
        assert worker.count["started"] == worker.count["finished"] > 0


@pytest.mark.slow
def test_many_messages_while_another_thread_collects(mode, scaled):
    """Messages between two threads are neither lost nor changed while a third collects garbage."""
    count = scaled(300_000)
    there, back = Channel(10), Channel(10)
    stop = threading.Event()

    def collect():
        while not stop.wait(0.001):  # a pause: without a GIL a collection stops all threads
            gc.collect()

    def echo():
        def answer():
            for value in there:
                back.send(value)

        tasks = [loomlet.spawn(answer) for _ in range(5)]
        for task in tasks:
            task.join()

    def ask():
        for n in range(count):
            there.send((n, [n]))
        there.close()

    collector = threading.Thread(target=collect)
    other = threading.Thread(target=lambda: loomlet.run(echo))
    collector.start()
    other.start()
    loomlet.spawn(ask)
    seen = bytearray(count)
    for _ in range(count):
        n, content = back.receive()
        assert content == [n]
        seen[n] += 1
    other.join()
    stop.set()
    collector.join()
    assert seen == b"\x01" * count
