"""Clients and servers that are disturbed: interrupted, killed, closed and reset at any moment.

A soak runs in one thread.  Its clients send messages and compare what comes back, one connection
after the other; its servers send back what they get.
"""

from __future__ import annotations

import collections
import contextlib
import os
import random
import socket
import struct
import threading

import loomlet
from loomlet import net

CLIENTS = 24


class Soak:
    """One thread's part: its servers and clients, and the tasklet that disturbs them."""

    endings = (net.DescriptorClosed, net.EndOfStream, TimeoutError, ConnectionError)

    def __init__(self, seed, listeners, addresses):
        self.random = random.Random(seed)
        self.listeners, self.addresses = listeners, addresses
        self.count = collections.Counter()
        self.streams = []
        self.clients = []
        self.over = False

    def serve(self, listener):
        for stream in listener:
            loomlet.spawn(self.answer, stream)

    def answer(self, stream):
        ways = [self.answer_some, self.answer_into]
        ways += [self.answer_exactly] * isinstance(stream, net.Stream)
        with stream, contextlib.suppress(OSError, EOFError, TimeoutError):
            self.random.choice(ways)(stream)
        self.count["answered"] += 1

    def answer_some(self, stream):
        for data in stream:
            stream.send_all(data)

    def answer_into(self, stream):
        buffer = bytearray(self.random.choice([1, 100, 70_000]))
        while count := stream.receive_into(buffer):
            stream.send_all(memoryview(buffer)[:count])

    def answer_exactly(self, stream):
        while True:
            stream.wait_readable()
            with contextlib.suppress(TimeoutError), loomlet.timeout(1):
                stream.send_all(stream.receive_exactly(1))

    def talk(self, stream):
        for _ in range(self.random.randrange(1, 8)):
            size = self.random.choice([1, 10, 100, 1000, 5000])
            message = self.random.randbytes(size)
            stream.send_all(message)
            assert stream.receive_exactly(size) == message
            self.count["echoed"] += 1

    def connect(self):
        return net.connect(self.random.choice(self.addresses))

    def client(self):
        stream = self.connect()
        self.streams.append(stream)
        with stream:
            try:
                with loomlet.timeout(self.random.choice([0.0005, 0.002, 5, 5])):
                    self.talk(stream)
                self.part(stream)
            finally:
                self.streams.remove(stream)

    def part(self, stream):
        way = self.random.randrange(3)
        if way == 0:
            stream.send_eof()
            assert stream.receive_some() == b""
        elif way == 1:
            with socket.socket(fileno=stream.detach()) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def run_client(self):
        """One connection after the other, until the soak is over."""
        while not self.over:
            try:
                self.client()
            except self.endings as error:
                self.count[type(error).__name__] += 1
            self.count["clients"] += 1

    def disturb(self):
        victim = self.random.randrange(4)
        if victim == 0 and self.clients:
            place = self.random.randrange(len(self.clients))
            self.clients[place].kill()
            self.clients[place] = loomlet.spawn(self.run_client)
        elif victim == 1 and self.streams:
            self.random.choice(self.streams).close()
        else:
            loomlet.sleep(self.random.random() * 0.001)

    def main(self, rounds):
        """Disturbs once for each of the rounds; the servers, which still listen."""
        servers = [loomlet.spawn(self.serve, listener) for listener in self.listeners]
        self.clients = [loomlet.spawn(self.run_client) for _ in range(CLIENTS)]
        for _ in rounds:
            self.disturb()
            loomlet.schedule()
        self.over = True
        for client in self.clients:
            client.join()
        return servers


def run_in_two_threads(parts, rounds, close):
    """Two soaks side by side, each with the rounds that it makes; what both have counted.

    close(part) ends the listening of a part, when both are over.
    """
    meeting = threading.Barrier(2)

    def thread(part):
        try:
            servers = part.main(rounds())
            meeting.wait()
        except BaseException:
            meeting.abort()
            raise
        close(part)
        for server in servers:
            server.join()

    other = threading.Thread(target=loomlet.run, args=(thread, parts[1]))
    other.start()
    loomlet.run(thread, parts[0])
    other.join()
    return parts[0].count + parts[1].count


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))
