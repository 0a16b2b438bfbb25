"""Clients and systems that fail: the server goes on, and nobody else notices."""

import errno
import logging
import os
import resource
import socket
import struct
import subprocess
import sys

import pytest
from helpers_rules import answers_of

import loomlet
from loomlet.http import HTTPError, Limits
from loomlet.http._open_files import open_below

CLOSE = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
PART = 65536
PARTS = 320


def get(path, fields=b""):
    return b"GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (path, fields)


def wait_until(condition):
    """Until it holds; the timeout around it ends the wait."""
    while not condition():
        loomlet.sleep(0.001)  # others go on


# ---- too few descriptors ----------------------------------------------------------------------

WITH_FEW_DESCRIPTORS = """
import resource, loomlet
from loomlet.http import Server

def handler(request):
    loomlet.sleep(0.01 if request.path == "/slow" else 0)
    return "done"

def main():
    server = Server(handler, port=0)
    server.start()
    print(server.address[1], flush=True)
    loomlet.Channel().receive()

resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
loomlet.run(main)
"""


@pytest.fixture
def port():
    """Of a server in a process that may open 40 descriptors."""
    process = subprocess.Popen(
        [sys.executable, "-c", WITH_FEW_DESCRIPTORS], stdout=subprocess.PIPE, text=True
    )
    with process:
        yield int(process.stdout.readline())
        process.kill()


def ask(port, data):
    with loomlet.net.connect(("127.0.0.1", port)) as stream:
        stream.send_all(data)
        return b"".join(stream)


def test_idle_connections_end_when_descriptors_are_used_up(port):
    """Those that have waited for the longest."""

    def main():
        with loomlet.timeout(30):
            idle = [loomlet.net.connect(("127.0.0.1", port)) for _ in range(100)]
            answer = ask(port, CLOSE)
            idle[-1].send_all(CLOSE)
            last = b"".join(idle[-1])
            first = b"".join(idle[0])
            for stream in idle:
                stream.close()
            return answer, last, first

    answer, last, first = loomlet.run(main)
    assert answer.startswith(b"HTTP/1.1 200")
    assert last.startswith(b"HTTP/1.1 200")
    assert first == b""


def test_more_requests_than_descriptors_are_all_answered(port):
    """Who cannot be accepted waits in the system until another connection ends."""

    def main():
        with loomlet.timeout(30):
            data = get(b"/slow", b"Connection: close\r\n")
            return loomlet.map(lambda _: ask(port, data), range(150))

    answers = loomlet.run(main)
    assert [answer[9:12] for answer in answers] == [b"200"] * 150


# ---- many connections -------------------------------------------------------------------------

IDLE = 2000


@pytest.fixture
def many_descriptors():
    """For two ends of each connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * IDLE + 200
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"this test needs {needed} descriptors, and {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.filterwarnings("ignore::loomlet.StallWarning")  # thousands of calls without a wait
@pytest.mark.usefixtures("many_descriptors")
def test_idle_connections_hold_up_no_active_one(site):
    def main():
        here = site(lambda request: request.path)
        with loomlet.timeout(60):
            idle = [here.connect() for _ in range(IDLE)]
            for stream in idle[::2]:
                stream.send_all(get(b"/first"))
            wait_until(lambda: here.server.counts()["requests"] == IDLE // 2)
            active = here.ask(get(b"/active") * 500 + CLOSE)
            counts = here.server.counts()
            idle[0].receive_some()
            for stream in (idle[0], idle[1], idle[-1]):
                stream.send_all(get(b"/last", b"Connection: close\r\n"))
            last = [b"".join(stream) for stream in (idle[0], idle[1], idle[-1])]
            for stream in idle:
                stream.close()
            return active, counts, last

    active, counts, last = loomlet.run(main)
    assert active.count(b"HTTP/1.1 200") == 501
    assert counts["idle"] >= IDLE
    assert all(answer.endswith(b"/last") for answer in last)


# ---- clients that reset -----------------------------------------------------------------------


def reset(stream):
    """Ends the connection with RST instead of FIN."""
    with socket.socket(fileno=stream.detach()) as ended:
        ended.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def handler_of_faults(request):
    if request.path == "/slow":
        loomlet.sleep(0.02)  # the client resets meanwhile
    if request.path == "/parts":
        return iter([b"x" * PART] * PARTS)
    if request.path == "/large":
        return b"x" * PART * PARTS
    return request.read() or "done"


POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
BEFORE_THE_RESET = {
    "nothing": b"",
    "a part of a line": b"GET /",
    "a part of a head": get(b"/")[:-2],
    "a request": get(b"/"),
    "a slow request": get(b"/slow"),
    "requests behind a slow one": get(b"/slow") + get(b"/") * 10,
    "a part of a body": POST + b"Content-Length: 9\r\n\r\nbody",
    "a part of a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe",
    "no body": POST + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    "a request for parts": get(b"/parts"),
    "a request for much": get(b"/large"),
    "a request for a large file": get(b"/s/large"),
    "a request for a large route": get(b"/route"),
    "nonsense": b"\0\r\n" + b"x" * 100,
}


@pytest.mark.parametrize("reads", [False, True], ids=["unread", "read in part"])
@pytest.mark.parametrize("sent", BEFORE_THE_RESET.values(), ids=BEFORE_THE_RESET)
def test_a_client_that_resets(site, tmp_path, caplog, sent, reads):
    """Its request ends, nothing is logged as an error, and others are answered."""
    (tmp_path / "large").write_bytes(bytes(PART * PARTS))
    routes = {"/s/": tmp_path, "/route": b"x" * PART * PARTS}

    def main():
        here = site(handler_of_faults, routes=routes)
        with loomlet.timeout(30):
            for pause in (0, 0.005):
                stream = here.connect()
                if sent:
                    stream.send_all(sent)
                loomlet.sleep(pause)  # the server has begun, or has not
                if reads and sent.endswith(b"\r\n\r\n"):
                    stream.receive_some(100)
                reset(stream)
                assert here.ask(CLOSE).endswith(b"done")
            wait_until(lambda: here.server.counts()["connections"] == 0)
            return here.server.counts()["busy"]

    assert loomlet.run(main) == 0
    assert [one for one in caplog.records if one.levelno > logging.INFO] == []


# ---- clients that do not read -----------------------------------------------------------------


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc/self/statm")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan keeps memory")
def test_an_answer_in_parts_that_nobody_reads_costs_little_memory(site):
    """Its handler makes no more than the system takes; and goes on when somebody reads."""
    made = []

    def parts():
        for number in range(PARTS):
            made.append(number)
            yield bytes(PART)

    def stalls():
        before = len(made)
        loomlet.sleep(0.1)  # the system has taken what it takes
        return before == len(made) > 0

    def main():
        here = site(lambda request: parts())
        with loomlet.timeout(60):
            before = resident()
            streams = [here.connect() for _ in range(5)]
            for stream in streams:
                stream.send_all(CLOSE)
            wait_until(stalls)
            grown, stalled = resident() - before, len(made)
            for stream in streams[1:]:
                stream.close()
            with streams[0] as stream:
                return grown, stalled, sum(map(len, stream))

    grown, stalled, read = loomlet.run(main)
    assert stalled < 5 * PARTS
    assert grown < PART * PARTS // 2
    assert read > PART * PARTS


# ---- clients that end their half --------------------------------------------------------------

HALF_CLOSED = {
    "a request": (get(b"/"), [b"done"]),
    "a request of version 1.0": (b"GET / HTTP/1.0\r\n\r\n", [b"done"]),
    "a slow request": (get(b"/slow"), [b"done"]),
    "a body": (POST + b"Content-Length: 5\r\n\r\nhello", [b"hello"]),
    "a body in chunks": (
        POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        [b"hello"],
    ),
    "requests behind a slow one": (
        get(b"/slow") + get(b"/fixed") + get(b"/"),
        [b"done", b"fixed", b"done"],
    ),
    "a body that nobody reads": (
        POST.replace(b" / ", b" /route ") + b"Content-Length: 300000\r\n\r\n" + b"x" * 300000,
        [b"fixed"],
    ),
    "a body that is refused": (
        POST + b"Content-Length: 500000\r\n\r\n" + b"x" * 500000,
        [b"Content Too Large\n"],
    ),
    "a request for parts": (get(b"/parts"), [b"x" * PART * PARTS]),
    "a request for much": (get(b"/large"), [b"x" * PART * PARTS]),
    "a request for a route": (get(b"/fixed"), [b"fixed"]),
    "a request for a large file": (get(b"/s/large"), [b"y" * PART * PARTS]),
    "a request behind a large file": (get(b"/s/large") + get(b"/"), [b"y" * PART * PARTS, b"done"]),
}


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("sent, bodies", HALF_CLOSED.values(), ids=HALF_CLOSED)
def test_a_client_that_sends_nothing_more_gets_its_answers(site, tmp_path, sent, bodies, waits):
    """The end of what it sends is not the end of what it reads."""
    (tmp_path / "large").write_bytes(b"y" * PART * PARTS)
    routes = {"/s/": tmp_path, "/fixed": "fixed", "/route": lambda request: "fixed"}

    def main():
        here = site(handler_of_faults, routes=routes, limits=Limits(request_body=400000))
        with loomlet.timeout(30), here.connect() as stream:
            stream.send_all(sent)
            if waits:
                loomlet.sleep(0.005)  # the server has begun
            stream.send_eof()
            answer = b"".join(stream)
            wait_until(lambda: here.server.counts()["connections"] == 0)
            return answer

    found = [one.body for one in answers_of(loomlet.run(main), False)]
    assert found == bodies


def test_a_file_that_cannot_be_opened_now_is_not_missing():
    """The client is asked to retry."""

    class Core:
        def _open_below(self, target):
            raise OSError(errno.EMFILE, "Too many open files", target)

    with pytest.raises(HTTPError) as caught:
        open_below(Core(), "/page.html")
    assert (caught.value.status, caught.value.headers) == (503, [("Retry-After", "1")])
