"""Hundreds of connections wait at once, and each gets its own data."""

import random

import loomlet
from loomlet import net

COUNT = 200


def test_each_waits_for_its_own(mode):
    """Answers in a random order reach the right waiters."""
    streams = [net.pair() for _ in range(COUNT)]
    tasks = [loomlet.spawn(one.receive_exactly, 4) for one, _ in streams]
    loomlet.schedule()
    order = list(range(COUNT))
    random.Random(1).shuffle(order)
    for n in order:
        streams[n][1].send_all(b"%04d" % n)
    assert [task.result() for task in tasks] == [b"%04d" % n for n in range(COUNT)]
    for one, other in streams:
        one.close()
        other.close()


def test_all_talk_at_once(mode):
    """Several rounds of all of them, each round in one poll or many."""
    with net.listen(("127.0.0.1", 0)) as listener:
        server = loomlet.spawn(lambda: [loomlet.spawn(answer, stream) for stream in listener])

        def answer(stream):
            with stream:
                while data := stream.receive_some():
                    stream.send_all(data)

        def client(n):
            with net.connect(listener.local) as stream:
                for i in range(10):
                    stream.send_all(b"%08d" % (n * i))
                    assert int(stream.receive_exactly(8)) == n * i
            return n

        clients = [loomlet.spawn(client, n) for n in range(COUNT)]
        assert sum(task.result() for task in clients) == sum(range(COUNT))
        listener.close()
        for task in server.result():
            task.join()
