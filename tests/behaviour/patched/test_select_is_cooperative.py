"""select, poll, epoll and selectors: they return what they always did, and let others run."""

import asyncio
import contextlib
import os
import select
import selectors
import socket
import tempfile
import threading

import pytest
from helpers_original_errors import errors_of

import loomlet


def by_select(reads, writes, timeout):
    """(readable, writable) numbers."""
    return tuple(sorted(found) for found in select.select(reads, writes, [], timeout)[:2])


def by_poll(reads, writes, timeout):
    """The same."""
    poll = select.poll()
    for fd in {*reads, *writes}:
        events = (select.POLLIN if fd in reads else 0) | (select.POLLOUT if fd in writes else 0)
        poll.register(fd, events)
    found = poll.poll(None if timeout is None else timeout * 1000)
    return sides(found, select.POLLIN, select.POLLOUT)


def by_epoll(reads, writes, timeout):
    """The same."""
    with select.epoll() as poll:
        for fd in {*reads, *writes}:
            poll.register(fd, (fd in reads) | (fd in writes) << 2)
        return sides(poll.poll(timeout), select.EPOLLIN, select.EPOLLOUT)


def by_selector(reads, writes, timeout):
    """The same."""
    with selectors.DefaultSelector() as selector:
        for fd in {*reads, *writes}:
            selector.register(fd, (fd in reads) | (fd in writes) << 1)
        found = [(key.fd, events) for key, events in selector.select(timeout)]
        return sides(found, selectors.EVENT_READ, selectors.EVENT_WRITE)


def sides(found, read, write):
    """(fd, events) pairs as (readable, writable)."""
    return tuple(sorted(fd for fd, events in found if events & side) for side in (read, write))


WAYS = {"select": by_select, "poll": by_poll, "epoll": by_epoll, "selector": by_selector}


@pytest.fixture(params=WAYS)
def wait(request):
    """Each way to wait for several descriptors."""
    return WAYS[request.param]


@pytest.mark.parametrize("timeout", [None, 100])
def test_others_run_meanwhile(mode, sockets, busy, wait, timeout):
    """The answer names what became ready."""
    one, other = sockets
    task = loomlet.spawn(wait, [one.fileno(), other.fileno()], [], timeout)
    loomlet.schedule()
    assert task.state == "blocked"
    other.sendall(b"x")
    assert task.result() == ([one.fileno()], [])
    assert busy[0] > 0


@pytest.mark.parametrize("timeout", [None, 100])
def test_the_wait_keeps_no_stack(sockets, switches, wait, timeout):
    """Neither while it waits nor when its answer comes."""
    one, other = sockets
    switches.take()
    task = loomlet.spawn(wait, [one.fileno()], [], timeout)
    loomlet.schedule()
    assert switches.take() == (1, 0)
    other.send(b"x")
    assert task.result() == ([one.fileno()], [])
    assert switches.take()[1] == 0


def test_what_it_waits_for_may_be_taken_by_another(sockets, wait):
    """It waits again, or has seen it first."""
    one, other = sockets
    for _ in range(20):
        taker = loomlet.spawn(one.recv, 1)
        task = loomlet.spawn(wait, [one.fileno()], [], None)
        loomlet.schedule()
        other.send(b"x")
        assert taker.result() == b"x"
        loomlet.schedule()
        other.send(b"y")
        assert task.result() == ([one.fileno()], [])
        assert one.recv(1) == b"y"


def test_both_directions(sockets, wait):
    """Descriptors that are ready are returned without a switch."""
    one, other = sockets
    other.sendall(b"x")
    loomlet.sleep(0.001)  # the bytes are on their way over TCP
    beside = loomlet.spawn(lambda: None)
    fds = [one.fileno(), other.fileno()]
    assert wait(fds, fds, None) == ([one.fileno()], sorted(fds))
    assert beside.state == "runnable"


def test_the_time_is_over(mode, clock, sockets, wait):
    """Nothing, at that time."""
    one, _ = sockets
    assert loomlet.spawn(wait, [one.fileno()], [], 2.5).result() == ([], [])
    assert clock() == 2.5
    assert loomlet.spawn(wait, [one.fileno()], [], 0).result() == ([], [])
    assert clock() == 2.5


def test_a_kill_ends_it(mode, sockets, wait):
    """At once; the descriptors stay usable."""
    one, other = sockets
    task = loomlet.spawn(wait, [one.fileno()], [], None)
    loomlet.schedule()
    task.kill()
    assert task.state == "done"
    other.sendall(b"x")
    assert wait([one.fileno()], [], 100) == ([one.fileno()], [])


def test_a_timeout_scope_ends_it(clock, sockets, wait):
    """TimeoutError at the time of the scope."""
    one, _ = sockets

    def body():
        with loomlet.timeout(5):
            wait([one.fileno()], [], None)

    with pytest.raises(TimeoutError):
        loomlet.spawn(body).result()
    assert clock() == 5.0


def test_an_end_does_not_keep_it_awake(wait):
    """Waiting for an event that a hung-up pipe never reports lets others run and does not spin."""
    read, write = os.pipe()
    os.close(write)
    one, other = socket.socketpair()
    with one, other:
        other.shutdown(socket.SHUT_WR)
        task = loomlet.spawn(wait, [read], [], None)
        loomlet.schedule()
        task.join()
    os.close(read)


def test_it_waits_long_for_room_to_write(sockets, wait):
    """Until the peer has taken something."""
    one, other = sockets
    one.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            one.send(bytes(65536))
    task = loomlet.spawn(wait, [], [one.fileno()], None)
    loomlet.schedule()
    assert task.state == "blocked"
    other.setblocking(False)
    while task.state != "done":
        try:
            other.recv(1 << 20)
        except BlockingIOError:
            loomlet.schedule()
    assert task.result() == ([], [one.fileno()])


def test_select_takes_what_it_always_took(sockets):
    """Objects with fileno(), any iterable, the same thing twice; files are ready."""
    one, other = sockets
    with tempfile.TemporaryFile() as file:
        assert select.select([file], [], [], 5) == ([file], [], [])
    task = loomlet.spawn(select.select, iter([one, one]), (), set(), 5)
    both = loomlet.spawn(select.select, [one], [], [one])
    loomlet.schedule()
    other.sendall(b"x")
    assert task.result() == ([one, one], [], [])
    assert both.result() == ([one], [], [])


@pytest.mark.parametrize(
    "args",
    [
        (),
        ([], []),
        ([], [], [], -1),
        ([], [], [], "x"),
        (1, [], []),
        (["x"], [], []),
        ([-1], [], []),
    ],
)
def test_errors_of_select_are_those_of_the_original(args):
    """Type and text."""
    stock, ours = errors_of(select.select, *args)
    assert str(ours) == str(stock)


@pytest.mark.parametrize("kind", [select.poll, select.epoll])
def test_errors_of_poll_are_those_of_the_original(kind):
    """Wrong types; below 0 is for ever."""
    poll = kind()
    stock, ours = errors_of(poll.poll, "x", kind=TypeError)
    assert str(ours) == str(stock)
    task = loomlet.spawn(poll.poll, -1)
    loomlet.schedule()
    assert task.state == "blocked"
    assert task.waiting_for is poll
    task.kill()
    getattr(poll, "close", lambda: None)()


def test_epoll_takes_names_and_a_number_of_events(sockets):
    """poll(timeout=, maxevents=)."""
    one, other = sockets
    with select.epoll() as poll:
        poll.register(one, select.EPOLLOUT)
        poll.register(other, select.EPOLLOUT)
        assert len(poll.poll(maxevents=1, timeout=5)) == 1
        assert len(poll.poll(5, 10)) == 2
        with pytest.raises(ValueError, match="maxevents"):
            loomlet.spawn(poll.poll, 5, 0).result()


def test_closing_an_epoll_wakes_its_waiters_with_an_error(caught):
    """ValueError, as for any call on one that is closed."""
    poll = select.epoll()
    task = caught(poll.poll)
    loomlet.schedule()
    poll.close()
    assert isinstance(task.result(), ValueError)


def test_asyncio_runs_in_a_tasklet(sockets, busy):
    """Its loop waits in a selector: other tasklets run."""
    one, other = sockets
    one.setblocking(False)

    async def main():
        reading = asyncio.get_running_loop().sock_recv(one, 5)
        await asyncio.sleep(0.001)  # the loop iterates by its timer
        other.sendall(b"hello")
        return await reading

    assert loomlet.spawn(asyncio.run, main()).result() == b"hello"
    assert busy[0] > 0


def test_asyncio_runs_in_a_plain_thread():
    """As without loomlet, while tasklets of another thread run."""
    results = []

    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def main():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\n")
            results.append(await reader.readline())
            writer.close()
            await writer.wait_closed()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    while thread.is_alive():
        loomlet.schedule()
    thread.join()
    assert results == [b"HELLO\n"]


def test_select_sees_what_fileno_does_to_the_lists(sockets):
    """As ever, the lists may shrink while they are read."""
    writers = []

    class Shrinking:
        def fileno(self):
            del writers[-1]
            return sockets[0].fileno()

    writers[:] = [Shrinking() for _ in range(10)]
    assert loomlet.spawn(select.select, [], writers, []).result() == ([], writers[:5], [])
    assert len(writers) == 5


def test_a_poll_object_is_polled_by_one_at_a_time(sockets):
    """As threads are refused; afterwards it can be polled again."""
    poll = select.poll()
    poll.register(sockets[0], select.POLLIN)
    task = loomlet.spawn(poll.poll)
    loomlet.schedule()
    with pytest.raises(RuntimeError, match="concurrent poll"):
        poll.poll(1)
    sockets[1].send(b"x")
    expected = [(sockets[0].fileno(), select.POLLIN)]
    assert task.result() == expected
    assert poll.poll(1) == expected


def test_select_takes_iterators(sockets):
    """Which are read once."""
    task = loomlet.spawn(select.select, iter([sockets[0]]), iter([]), iter([]))
    loomlet.schedule()
    sockets[1].send(b"x")
    assert task.result() == ([sockets[0]], [], [])


@pytest.mark.parametrize("poll", [select.poll, select.epoll])
def test_a_timeout_that_is_too_large_is_an_error(poll):
    """In milliseconds it must fit into an int."""
    with contextlib.closing(poll()) if poll is select.epoll else contextlib.nullcontext() as kept:
        task = loomlet.spawn((kept or poll()).poll, 2**31)
        with pytest.raises(OverflowError), loomlet.timeout(10):
            task.result()
