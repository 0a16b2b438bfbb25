"""Tasklets of different threads exchange values over channels."""

import threading

import pytest

import loomlet
from loomlet import Channel

MESSAGES = 10_000


def run_in_thread(main, *args):
    """A thread that runs main(*args) under loomlet.run; .result() joins it."""
    result = []

    def thread():
        try:
            result.append(loomlet.run(main, *args))
        except BaseException as error:
            result.append(error)

    started = threading.Thread(target=thread)
    started.start()

    def join():
        started.join()
        if isinstance(result[0], BaseException):
            raise result[0]
        return result[0]

    return join


@pytest.mark.parametrize("capacity", [0, 1, 100])
def test_one_way(capacity, mode):
    """Every message sent in one thread arrives in the other, once and in order."""
    ch = Channel(capacity)

    def produce():
        for n in range(MESSAGES):
            ch.send(n)
        ch.close()

    def consume():
        return [value for value in ch]

    join = run_in_thread(lambda: loomlet.spawn(consume).result())
    loomlet.spawn(produce).join()
    assert join() == list(range(MESSAGES))


@pytest.mark.parametrize("capacity", [0, 10])
def test_both_ways(capacity, mode):
    """Requests go one way and answers come back, from several tasklets on each side."""
    requests, answers = Channel(capacity), Channel(capacity)

    def serve():
        for value in requests:
            answers.send(value * 2)

    def server():
        for task in [loomlet.spawn(serve) for _ in range(4)]:
            task.join()
        answers.close()

    def ask(start):
        for n in range(start, MESSAGES, 4):
            requests.send(n)

    def ask_all():
        for task in [loomlet.spawn(ask, n) for n in range(4)]:
            task.join()
        requests.close()

    join = run_in_thread(server)
    loomlet.spawn(ask_all)
    got = [value for value in answers]
    join()
    assert sorted(got) == [n * 2 for n in range(MESSAGES)]


def test_many_threads_on_one_channel(mode):
    """Messages of many threads to many threads are neither lost nor doubled."""
    ch, done = Channel(3), Channel(8)

    def produce(start):
        for n in range(start, 4000, 4):
            ch.send(n)
        return []

    def consume():
        return [value for value in ch]

    producers = [run_in_thread(lambda n=n: loomlet.spawn(produce, n).result()) for n in range(4)]
    consumers = [run_in_thread(lambda: loomlet.spawn(consume).result()) for _ in range(4)]
    for join in producers:
        join()
    ch.close()
    assert sorted(sum((join() for join in consumers), [])) == list(range(4000))
    assert len(done) == 0


def test_select_across_threads(mode):
    """Selects of two threads over the same channels find each other, every time."""
    a, b = Channel(), Channel()

    def give():
        for n in range(2000):
            loomlet.select([(a, n), (b, n)])
        a.close()
        b.close()

    def take():
        got = []
        try:
            while True:
                got.append(loomlet.select([a, b])[1])
        except loomlet.ChannelClosed:
            return got

    join = run_in_thread(lambda: loomlet.spawn(take).result())
    loomlet.spawn(give).join()
    assert join() == list(range(2000))


def test_objects_keep_their_identity(mode):
    """A value sent to another thread is the object itself."""
    ch, back = Channel(), Channel()

    def echo():
        for value in ch:
            back.send(value)

    join = run_in_thread(echo)
    for value in ([1], {"a": 1}, object()):
        ch.send(value)
        assert back.receive() is value
    ch.close()
    join()
