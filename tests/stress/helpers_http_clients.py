"""Clients of an HTTP server that ask again and again, in the tasklets of a thread of their own.

Each counts how its requests ended: by status; "refused": nobody listened; "lost": the connection
ended before a byte of the answer; "cut": it ended in the midst; "late": nothing came for PATIENCE.
"""

from __future__ import annotations

import collections
import contextlib
import os
import threading
import time

import loomlet
from loomlet import net

PATIENCE = 60
BAD = ("refused", "lost", "cut", "late")


class Cut(Exception):
    """The answer has ended too early; `begun`: a part of it has come."""

    def __init__(self, begun):
        super().__init__(begun)
        self.begun = begun


def receive_some(stream, begun):
    """What comes next of an answer that is not whole."""
    try:
        data = stream.receive_some()
    except ConnectionError:
        data = b""
    if not data:
        raise Cut(begun)
    return data


def receive_answer(stream):
    """(status, fields, body) of an answer that says how long it is."""
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += receive_some(stream, bool(data))
    lines = data[:end].decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    del data[: end + 4]
    while len(data) < int(fields["content-length"]):
        data += receive_some(stream, True)
    return int(lines[0][9:12]), fields, bytes(data)


class Clients:
    """So many clients; `keeps`: each keeps its connection as long as the server does."""

    def __init__(self, port, count, path="/", *, keeps=False, pause=0.0):
        self.address = ("127.0.0.1", port)
        self.number, self.path, self.keeps, self.pause = count, path, keeps, pause
        self.count = collections.Counter()
        self.retry_after = collections.Counter()
        self.bodies = collections.Counter()
        self._over = threading.Event()
        self._thread = threading.Thread(target=loomlet.run, args=(self._run,))

    def _run(self):
        with loomlet.TaskGroup() as group:
            for _ in range(self.number):
                group.spawn(self._ask_on)

    def _ask_on(self):
        while not self._over.is_set():
            try:
                self._ask_one_connection()
            except ConnectionRefusedError:
                self.count["refused"] += 1
                loomlet.sleep(0.01)  # others get their turn
            except Cut as error:
                self.count["cut" if error.begun else "lost"] += 1
            except ConnectionError:
                self.count["lost"] += 1
            except TimeoutError:
                self.count["late"] += 1

    def _ask_one_connection(self):
        last = b"" if self.keeps else b"Connection: close\r\n"
        data = b"GET %b HTTP/1.1\r\nHost: a\r\n%b\r\n" % (self.path.encode(), last)
        with net.connect(self.address) as stream:
            while not self._over.is_set():
                with loomlet.timeout(PATIENCE):
                    stream.send_all(data)
                    status, fields, body = receive_answer(stream)
                self.count[status] += 1
                self.bodies[body[:20]] += 1
                if status == 503:
                    self.retry_after[fields.get("retry-after")] += 1
                    loomlet.sleep(0.1)  # it was asked to come again later
                loomlet.sleep(self.pause)  # the load is a number of clients, not of requests
                if fields.get("connection") == "close":
                    return

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def wait_until(self, condition, meanwhile=lambda: time.sleep(0.01)):
        """Until it holds; the test fails when that takes long, or nobody asks any more.

        The clients are in another thread, so this one sleeps by default.
        """
        end = time.monotonic() + PATIENCE
        while not condition():
            assert self._thread.is_alive(), "the clients have failed"
            assert time.monotonic() < end, (self.count, self.bodies)
            meanwhile()

    def wait_for(self, more, **options):
        """Until so many more have been answered, a hundred after the other."""
        wanted = self.answered + more
        while (step := min(self.answered + 100, wanted)) > self.answered:
            self.wait_until(lambda step=step: self.answered >= step, **options)

    @property
    def answered(self):
        """How many requests were answered well."""
        return self.count[200]

    def bad(self):
        """What must not happen, if it has."""
        return {key: self.count[key] for key in BAD if self.count[key]}


def resident(pid):
    """Bytes of a process in memory."""
    with contextlib.closing(open(f"/proc/{pid}/statm")) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
