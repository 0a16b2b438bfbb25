"""Threads: each waits with its own poller, on its own streams or on shared ones."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers_echo_server import serve

import loomlet
from loomlet import net


def start(target, *args):
    thread = threading.Thread(target=target, args=args)
    thread.start()
    return thread


def test_a_plain_thread_waits_too(streams):
    """A thread without tasklets sleeps with the GIL released."""
    one, other = streams
    got = []
    thread = start(lambda: got.append(one.receive_exactly(5)))
    other.send_all(b"hello")
    thread.join()
    assert got == [b"hello"]


def test_threads_talk_over_streams():
    """A server thread with tasklets, client threads without."""
    with net.listen(("127.0.0.1", 0)) as listener:

        def client(n):
            with net.connect(address) as stream:
                for i in range(50):
                    stream.send_all(b"%05d" % (n * i))
                    assert int(stream.receive_exactly(5)) == n * i
            return n

        address = listener.local
        server = start(loomlet.run, serve, listener)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(client, range(8))) == list(range(8))
        listener.close()
        server.join()


def test_each_of_two_threads_gets_the_event(streams):
    """Both wait for one stream: every byte goes to one of them."""
    one, other = streams
    got = [bytearray(), bytearray()]

    def read(n):
        for data in one:
            got[n].extend(data)

    threads = [start(read, n) for n in range(2)]
    sent = bytes(range(200))
    for byte in sent:
        other.send_all(bytes([byte]))
        if byte % 10 == 0:
            time.sleep(0.0005)
    other.send_eof()
    for thread in threads:
        thread.join()
    assert sorted(got[0] + got[1]) == list(sent)


def test_one_thread_reads_and_another_writes(streams):
    """Both directions, full, at once."""
    one, other = streams
    message = bytes(range(256)) * 8000
    echoed = []

    def echo():
        for data in other:
            other.send_all(data)
        other.send_eof()

    def read():
        echoed.append(b"".join(one))

    threads = [start(echo), start(read)]
    one.send_all(message)
    one.send_eof()
    for thread in threads:
        thread.join()
    assert echoed == [message]


@pytest.mark.parametrize("wait", ["receive_some", "accept"])
def test_close_reaches_every_thread(wait, listener, pair, caught):
    """A waiter in another thread, tasklet or not, gets the error there."""
    thing = pair[0] if wait == "receive_some" else listener
    errors = []
    ready = threading.Barrier(4)

    def plain():
        ready.wait()
        try:
            getattr(thing, wait)()
        except net.DescriptorClosed as error:
            errors.append(error)

    def tasklets():
        tasks = [caught(getattr(thing, wait)) for _ in range(3)]
        loomlet.schedule()
        ready.wait()
        errors.extend(task.result() for task in tasks)

    threads = [start(plain), start(plain), start(tasklets)]
    ready.wait()
    time.sleep(0.02)
    thing.close()
    for thread in threads:
        thread.join()
    assert [type(error) for error in errors] == [net.DescriptorClosed] * 5


def test_a_thread_that_ends_lets_go(pair):
    """Its waiting tasklets are ended with it; others get the data that arrive."""
    one, other = pair
    ended = []

    def body():
        try:
            one.receive_some()
        finally:
            ended.append(True)

    def end_early():
        loomlet.spawn(body)
        loomlet.schedule()

    start(end_early).join()
    assert ended == [True]
    task = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    other.send_all(b"data")
    assert task.result() == b"data"


def test_threads_that_come_and_go_leave_no_poller():
    """The fixture counts descriptors."""
    one, other = net.pair()
    with one, other:
        for n in range(20):
            thread = start(one.receive_exactly, 1)
            other.send_all(b"%d" % (n % 10))
            thread.join()


def test_messages_wake_a_thread_that_sleeps_in_its_poller(pair):
    """A channel, a throw, and a kill from another thread, many times."""
    one, _ = pair
    channel, back = loomlet.Channel(), loomlet.Channel()

    def far():
        loomlet.spawn(one.receive_some)
        loomlet.schedule()
        for value in channel:
            back.send(value + 1)

    thread = start(loomlet.run, far)
    for n in range(500):
        channel.send(n)
        assert back.receive() == n + 1
    channel.close()
    thread.join()


def test_a_wait_in_another_thread_can_be_ended_from_here(pair):
    """throw() and a cancel become messages; the wakeup descriptor wakes."""
    one, _ = pair
    seen = []
    scope = loomlet.CancelScope()
    ready = threading.Event()

    def far():
        def body():
            with scope:
                one.receive_some()
            seen.append(scope.cancelled_caught)

        task = loomlet.spawn(body)
        loomlet.schedule()
        ready.set()
        task.join()

    thread = start(far)
    ready.wait()
    scope.cancel()
    thread.join()
    assert seen == [True]
