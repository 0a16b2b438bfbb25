"""A server beside threads that compute, and what else needs the GIL beside them.

The client is this file in a process of its own: `python -P gil_echo.py PORT THINK SECONDS` prints
one line of JSON. Threads that compute count their rounds, 0.3 seconds before anybody asks and
then for the whole measurement. loomlet is imported in the modes that need it only.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

MESSAGE = b"loomlet " * 8
ROUNDS = 200
ALONE = 0.3
EVEN = 1.0
PARTS = 5
PAUSE = 0.02  # until the others have stopped
WARM = 20
INTERVAL = 0.0001
THINK = 0.001
OURS = ("loomlet", "no-priority")
FUTEX_WAIT, FUTEX_WAKE = 0, 1


class Computing:
    """Threads that count as fast as they can, until the process ends."""

    def __init__(self, count: int) -> None:
        self.rounds = [0] * count
        self.go_on = threading.Event()
        self.go_on.set()
        for mine in range(count):
            threading.Thread(target=self._count, args=(mine,), daemon=True).start()

    def _count(self, mine: int) -> None:
        rounds, go_on = self.rounds, self.go_on
        number = 0
        while True:
            if not go_on.is_set():
                go_on.wait()
            for _ in range(ROUNDS):
                number += 1
            rounds[mine] += 1

    def speed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """Rounds in a second while `work` runs, and what it returns."""
        before, began = sum(self.rounds), time.perf_counter()
        found = work()
        return (sum(self.rounds) - before) / (time.perf_counter() - began), found


def quantiles(times: list[float]) -> dict[str, float]:
    """The median and the 99th percentile, in nanoseconds."""
    ordered = sorted(times)
    return {"p50": ordered[len(ordered) // 2] * 1e9, "p99": ordered[len(ordered) * 99 // 100] * 1e9}


def ask(port: int, think: float, seconds: float) -> dict[str, float]:
    """One request after the other."""
    times = []
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask_once(sock)
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            ask_once(sock)
            times.append(time.perf_counter() - began)
            if think:
                time.sleep(think)
    return {"done": len(times) / seconds, **quantiles(times)}


def ask_once(sock: socket.socket) -> None:
    """One request."""
    sock.sendall(MESSAGE)
    if sock.recv(len(MESSAGE), socket.MSG_WAITALL) != MESSAGE:
        raise SystemExit("the server ended, or did not send back what it got")


def answer(connection: socket.socket) -> None:
    """In a plain thread."""
    with connection:
        while data := connection.recv(4096):
            connection.sendall(data)


def serve_in_threads(listener: socket.socket) -> None:
    """For ever; a thread for each connection."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def serve_in_tasklets(listener: socket.socket) -> None:
    """For ever; a tasklet for each connection."""
    import loomlet
    from loomlet import net

    def echo(stream: net.Stream) -> None:
        with stream:
            for data in stream:
                stream.send_all(data)

    def serve() -> None:
        for stream in net.Listener(listener.detach()):
            loomlet.spawn(echo, stream)

    loomlet.run(serve)


def echo(mode: str, kind: str, seconds: float) -> dict[str, float]:
    """The server in this process, the client in another one."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # handed down to connections
    think = THINK if kind == "think" else 0.0
    words = [sys.executable, "-P", __file__]
    words += [str(each) for each in (listener.getsockname()[1], think, seconds)]
    server = serve_in_tasklets if mode in OURS else serve_in_threads
    threading.Thread(target=server, args=(listener,), daemon=True).start()
    return ask_elsewhere(words)


def ask_elsewhere(words: list[str]) -> dict[str, Any]:
    """Runs a client in another process; what it prints."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        line = client.stdout.readline()
    if not line:
        raise SystemExit(f"the client has ended with status {client.returncode}")
    found: dict[str, Any] = json.loads(line)
    return found


def calls(seconds: float) -> dict[str, float]:
    """Blocking calls of a function that does nothing."""
    import loomlet

    def call() -> list[float]:
        times = []
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            loomlet.run_blocking(int)
            times.append(time.perf_counter() - began)
        return times

    times = loomlet.run(call)
    return {"done": len(times) / seconds, **quantiles(times[WARM:] or times)}


def send(seconds: float) -> dict[str, float]:
    """Values of a plain thread to a tasklet that waits for them."""
    import loomlet

    channel: loomlet.Channel[float] = loomlet.Channel()

    def send_all() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            time.sleep(THINK)
            channel.send(time.perf_counter())
        channel.close()

    def receive() -> list[float]:
        threading.Thread(target=send_all, daemon=True).start()
        return [time.perf_counter() - sent for sent in channel]

    times = loomlet.run(receive)
    return {"done": len(times) / seconds, **quantiles(times[WARM:] or times)}


class Word:
    """A word of memory that processes share, on which they wake each other."""

    def __init__(self) -> None:
        self._number = ctypes.c_int.from_buffer(mmap.mmap(-1, mmap.PAGESIZE))
        self._futex = ctypes.CDLL(None).syscall
        self._call = {"x86_64": 202, "aarch64": 98}[platform.machine()]

    def set(self, number: int) -> None:
        """Wakes whoever waits for that."""
        self._number.value = number
        self._futex(self._call, ctypes.byref(self._number), FUTEX_WAKE, 1, None)

    def wait(self, last: int) -> int:
        """The number that follows the last one, as soon as it was set."""
        while (number := self._number.value) == last:
            self._futex(self._call, ctypes.byref(self._number), FUTEX_WAIT, last, None)
        return number


def wake_each_other(think: float, seconds: float) -> dict[str, float]:
    """Round trips of two processes, each of which wakes the other one and sleeps."""
    there, here = Word(), Word()
    if os.fork() == 0:
        answered = 0
        while answered >= 0:
            answered = there.wait(answered)
            here.set(answered)
        os._exit(0)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        there.set(len(times) + 1)
        here.wait(len(times))
        times.append(time.perf_counter() - began)
        if think:
            time.sleep(think)
    there.set(-1)
    os.wait()
    return {"done": len(times) / seconds, **quantiles(times)}


def even(count: int, seconds: float) -> dict[str, float]:
    """What `count` threads compute together, in per cent of what one does alone, by turns."""
    one, others = Computing(1), Computing(count - 1)
    alone = together = 0.0
    for _ in range(PARTS):
        others.go_on.clear()
        time.sleep(PAUSE)
        alone += _passed([one.rounds], seconds / PARTS)
        others.go_on.set()
        together += _passed([one.rounds, others.rounds], seconds / PARTS)
    return {"done": 100 * together / alone}


def _passed(counts: list[list[int]], seconds: float) -> float:
    """Rounds in a second of all of them."""
    before, began = sum(map(sum, counts)), time.perf_counter()
    time.sleep(seconds)
    return (sum(map(sum, counts)) - before) / (time.perf_counter() - began)


def set_mode(mode: str) -> None:
    """As the head of the experiment's file says; what is needed is imported before all else."""
    if mode in OURS:
        import loomlet.net  # noqa: F401
    if mode == "interval":
        sys.setswitchinterval(INTERVAL)
    elif mode in ("prioritised", "no-priority"):
        from loomlet import gil

        gil.prioritise_io(0.5 if mode == "prioritised" else 0)


def beside(count: int, work: Callable[[], dict[str, float]]) -> dict[str, float]:
    """What `work` finds beside so many threads that compute, and what these keep of their speed."""
    others = Computing(count)
    alone, _ = others.speed(lambda: time.sleep(ALONE)) if count else (0, None)
    speed, found = others.speed(work)
    return {**found, "kept": 100 * speed / alone} if count else found


def measure(*, mode: str, kind: str, computing: int, seconds: float) -> dict[str, float]:
    """One case of one system."""
    set_mode(mode)
    if kind == "even":
        return even(computing, max(seconds, EVEN))
    if mode == "futex":
        return wake_each_other(THINK if kind == "send" else 0, seconds)
    others = {"calls": calls, "send": send}
    return beside(computing, partial(others.get(kind) or partial(echo, mode, kind), seconds))


if __name__ == "__main__":
    print(json.dumps(ask(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))), flush=True)
