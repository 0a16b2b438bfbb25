"""Stackless threads that begin, end, and do everything to each other's tasklets and channels.

What must hold whatever they do: the code of a tasklet runs on its owner thread and on no other,
never on two at once; a value arrives once; a refused operation raises an exception of the API.  An
exception that is thrown into a tasklet whose value is on the way may drop the value, so the test
that no value gets lost does without throw().
"""

import collections
import gc
import random
import threading

import pytest

import loomlet.compat.stackless as stackless

THREADS = 4
REFUSALS = (RuntimeError, ValueError, TypeError)
LOOKS = (
    *("alive", "paused", "blocked", "scheduled", "is_current", "thread_id", "next", "prev"),
    *("_channel", "frame", "tempval", "nesting_level", "recursion_depth", "context_id"),
)


class Thrown(Exception):
    """What threads throw at each other's tasklets."""


class Arena:
    """What the threads of one test share."""

    def __init__(self):
        self.channels = [stackless.channel() for _ in range(6)]
        for n, ch in enumerate(self.channels):
            ch.preference = n % 3 - 1
        self.channels[-1].schedule_all = 1
        self.actors = collections.deque(maxlen=200)
        self.threads = collections.deque(maxlen=50)
        self.wrong = []
        self.sent = collections.deque()
        self.got = collections.deque()

    def switched(self, _before, after):
        """The schedule callback: the next tasklet belongs to the thread that calls it."""
        if after is not None and after.thread_id not in (threading.get_ident(), -1):
            self.wrong.append("a switch to a tasklet of another thread")


class Actor(stackless.tasklet):
    """A tasklet that notices when its code runs on the wrong thread."""

    def __new__(cls, *_):
        return super().__new__(cls)

    def __init__(self, arena, seed):
        super().__init__(self.act)
        self.arena, self.random, self.inside = arena, random.Random(seed), None
        self.seed, self.count = seed, 0

    def enter(self):
        here = threading.get_ident()
        if self.inside is not None or self.thread_id != here or stackless.getcurrent() is not self:
            self.arena.wrong.append((self.seed, here, self.inside, self.thread_id))
        self.inside = here

    def leave(self):
        if self.inside != threading.get_ident():
            self.arena.wrong.append((self.seed, "left on another thread"))
        self.inside = None

    def switch_by(self, call, *args):
        """Calls a function that may switch; the tasklet's code does not run meanwhile."""
        self.leave()
        try:
            return call(*args)
        finally:
            self.enter()

    def act(self):
        self.inside = None
        self.enter()
        try:
            for _ in range(self.random.randrange(1, 12)):
                try:
                    self.step(self.random.choice(self.arena.channels))
                except (Thrown, *REFUSALS):
                    pass
        finally:
            self.leave()

    def value(self):
        self.count += 1
        return (self.seed, id(self), self.count, self.random.random())

    def step(self, ch):
        what = self.random.randrange(7)
        if what <= 1:
            value = self.value()
            self.arena.sent.append(value)
            self.switch_by(ch.send, value)
        elif what <= 3:
            self.arena.got.append(self.switch_by(ch.receive))
        elif what == 4:
            self.switch_by(ch.send_exception, Thrown)
        elif what == 5:
            self.switch_by(stackless.schedule_remove)
        else:
            self.switch_by(stackless.schedule)


class Worker(threading.Thread):
    """One thread: makes actors, runs them, and disturbs those of all the others."""

    def __init__(self, arena, seed, rounds):
        super().__init__()
        self.arena, self.rounds, self.error, self.seed = arena, rounds, None, seed
        self.random = random.Random(seed)

    def run(self):
        self.arena.threads.append(threading.get_ident())
        try:
            for turn in range(self.rounds):
                for n in range(4):
                    actor = Actor(self.arena, self.seed * 1_000_000 + turn * 10 + n)
                    actor()
                    self.arena.actors.append(actor)
                for _ in range(12):
                    self.disturb()
                stackless.run() if self.random.random() < 0.3 else stackless.schedule()
                if turn % 40 == 0:
                    gc.collect()
        except BaseException as error:
            self.error = error

    def disturb(self):
        try:
            actor = self.arena.actors[self.random.randrange(len(self.arena.actors))]
        except (IndexError, ValueError):
            return
        try:
            self.do(actor, self.random.randrange(13))
        except (Thrown, *REFUSALS):
            pass

    def do(self, actor, what):
        if what == 0:
            actor.insert()
        elif what == 1:
            actor.run()
        elif what == 2:
            actor.throw(Thrown, pending=self.random.random() < 0.5)
        elif what == 3:
            actor.kill(pending=self.random.random() < 0.5)
        elif what <= 5:
            actor.bind_thread()
        elif what == 6:
            actor.bind_thread(self.random.choice(self.arena.threads))
        elif what == 7:
            actor.remove()
        elif what == 8:
            actor()  # ended: once more
        elif what == 9:
            actor.bind(actor.act, ()) if self.random.random() < 0.5 else actor.bind(actor.act)
        else:
            self.look(actor, what)

    def look(self, actor, what):
        if what == 10:
            for name in LOOKS:
                getattr(actor, name)
        elif what == 11:
            ch = self.random.choice(self.arena.channels)
            assert isinstance(ch.balance, int)
            first = ch.queue
            assert first is None or isinstance(first, stackless.tasklet)
            ch.close()
            ch.open()
        else:
            stackless.get_thread_info(self.random.choice(self.arena.threads))


def end(actors):
    """Ends the tasklets that the threads have left, on this thread."""
    for _ in range(20):
        for actor in actors:
            try:
                actor.bind_thread()
                actor.kill()
            except REFUSALS:
                pass
        stackless.run()
        actors = [actor for actor in actors if actor.alive]


@pytest.fixture(params=["silent", "callbacks"])
def arena(request):
    """The shared state, once with both callbacks set."""
    made = Arena()
    actions = collections.Counter()
    if request.param == "callbacks":
        stackless.set_schedule_callback(made.switched)
        stackless.set_channel_callback(lambda _ch, _task, sending, _wait: actions.update([sending]))
    previous = stackless.set_error_handler(lambda *_error: None)
    yield made
    stackless.set_error_handler(previous)
    stackless.set_schedule_callback(None)
    stackless.set_channel_callback(None)
    end(list(made.actors))
    made.actors.clear()
    assert bool(actions) == (request.param == "callbacks")


def test_threads_that_do_everything_to_each_other(arena, seed, mode, scaled):
    """Code runs on its owner only and values arrive at most once, while threads begin and end."""
    for generation in range(3):
        workers = [
            Worker(arena, seed * 1000 + generation * 100 + n, scaled(30)) for n in range(THREADS)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [worker.error for worker in workers] == [None] * THREADS
    assert arena.wrong == []
    got = list(arena.got)
    assert len(set(got)) == len(got) > 0
    assert set(got) <= set(arena.sent)


class Mover(threading.Thread):
    """Takes blocked receivers from each other for as long as values are sent."""

    def __init__(self, seed, receivers, is_over):
        super().__init__()
        self.random, self.receivers, self.is_over = random.Random(seed), receivers, is_over

    def run(self):
        while not self.is_over.is_set():
            try:
                self.random.choice(self.receivers).bind_thread()
            except REFUSALS:
                pass
            stackless.run()
            threading.Event().wait(0.0005)  # lets the others have the tasklets, and the processor


def test_values_follow_a_receiver_from_thread_to_thread(seed, mode, scaled):
    """Receivers that move to other threads while they wait get each value once, on their owner."""
    count, ch, got, wrong = scaled(3000), stackless.channel(), collections.deque(), []
    is_over = threading.Event()

    def receive():
        for value in ch:
            if stackless.getcurrent().thread_id != threading.get_ident():
                wrong.append(value)
            got.append(value)

    receivers = [stackless.tasklet(receive)() for _ in range(8)]
    stackless.run()
    movers = [Mover(seed * 10 + n, receivers, is_over) for n in range(3)]
    for mover in movers:
        mover.start()
    for value in range(count):
        ch.send(value)
    ch.close()
    while len(got) < count:
        stackless.schedule()
    is_over.set()
    for mover in movers:
        mover.join()
    end(receivers)
    assert sorted(got) == list(range(count))
    assert wrong == []
