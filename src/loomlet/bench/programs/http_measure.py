"""Starts one server, asks it by a client, and prints what was seen as one line of JSON.

    python -P http_measure.py PARAMETERS

PARAMETERS is a JSON object with the keys of `Plan`. In its words `{port}` stands for the port
where the server shall listen, `{service}` for that of the service that handlers ask, `{folder}`
for a folder of this run. There the files to be served and the server's configuration are made, and
the certificate where it speaks TLS.

What happens, in this order:

 1. The server starts on the second core, in a process group of its own. The service, if there is
    one, starts on the first core, and wrk runs there: the client's core.
 2. The server is asked until it answers. The first answer must be the right one, byte for byte
    where that can be said; then the time since the start and the resident memory are noted.
 3. Where something has to go on beside, a request for it is sent, whose answer never comes.
 4. wrk asks for a moment, which is not counted, and is stopped by SIGINT. Our own client, which
    asks as wrk cannot, does the same.
 5. The client asks again. The processor time of the server and all its descendants is read from
    /proc/PID/stat before and after, user and system apart; that of wrk is what the kernel says
    when it ends. The time of a child that has ended in between is in its parent's figures.
 6. What the whole machine has used in that time, less all of these, is what others took: a row
    with much of it is worth little.
 7. The server must still be there with all its processes, and give the right answer; a worker
    that has been replaced is a failure.
 8. A server that stops by SIGTERM (ours) must do so within ten seconds, with status 0. Then the
    group is killed.

Where connections are only kept (`idle`, `held`), this process makes them, and what the server's
memory has grown by is what they take; some must be answered again in the end. Under `overload`
our own client asks on 16 connections as fast as it is answered, which is the best, and then so many
times faster, in turns: what slows the machine for a second slows both. The server's memory is read
ten times a second.

Processor time is what the kernel's scheduler has counted for each thread, in nanoseconds, where it
tells that; else, and for how user and system share it, ticks of ten milliseconds.

This process knows nothing of the package around it. What it starts, it ends, also when it fails.

Rejected: asking the server from Python (the client would be slower than most servers), and the
load of one figure for all (a server that does nothing but wait in the kernel would look as good
as one that works).
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import os
import random
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

PATIENCE = 15.0  # seconds for a server to answer at all
WARMING = 0.4
TURNS, PROBES = 3, ("/-/status", "/static/small.html")
FILE, LARGE, FILES = 7_065, 1 << 20, 50
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Plan:
    """What to do: the server's command and environment, its files, and what wrk shall ask for.

    stops: whether SIGTERM has to end the server in good order.  expect: what the body of an answer
    is, or, if it begins with "JSON ", what it means, or with "file ", how long the page is, or
    "listing", or one of `KINDS`.  service: the command of the service, or nothing.  beside: a path
    that is asked for once, before, and never answered, or nothing.  connections: 0 for a server
    that is only started.  client: the work, see `http_rooms.py`; words: our own client, up to its
    number of connections; number: what it is given behind that.  secure: by TLS.  closing: each
    request on a connection of its own.  threads: of wrk.
    """

    server: list[str]
    stops: bool
    environment: dict[str, str]
    files: dict[str, str]
    path: str
    expect: str
    service: list[str]
    beside: str
    connections: int
    seconds: int
    client: str
    words: list[str]
    number: int
    secure: bool
    closing: bool
    threads: int

    @property
    def first(self) -> str:
        """What is asked for to see that it is there; not what never ends, or needs a handshake."""
        return {"held": "/held", "echo": "/plain"}.get(self.client, self.path)

    @property
    def scheme(self) -> str:
        """That of the server's addresses."""
        return "https" if self.secure else "http"


def fail(why: str) -> NoReturn:
    """Ends this process; the bench shows the words."""
    raise SystemExit(why)


# ---- processes --------------------------------------------------------------------------------


def cores() -> tuple[list[int], list[int]]:
    """The client's core, and the server's; the same where there is one only."""
    mine = sorted(os.sched_getaffinity(0))
    return mine[:1], mine[1:2] or mine[:1]


@contextlib.contextmanager
def running(
    command: list[str], core: list[int], folder: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Inside, that program runs on that core, in a group of its own, which is killed in the end."""
    os.sched_setaffinity(0, core)
    known: Any = {"env": os.environ | environment, "cwd": folder / "empty"}
    with open(folder / "log", "ab") as log:
        try:
            child = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, **known
            )
        except OSError as error:
            fail(f"cannot be started: {error}")
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def descendants(root: int) -> list[int]:
    """The process and all below it."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := fields_of(int(entry))):
            parents[int(entry)] = int(fields[1])
    found = [root]
    for pid in found:  # grows on the way
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def fields_of(pid: int) -> list[str]:
    """/proc/PID/stat from the state on; empty if the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def run_time(pid: int) -> float:
    """Seconds that the threads which the process has now have run, to the nanosecond."""
    nanoseconds = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            nanoseconds += int(task.read_text().split()[0])
    return nanoseconds / 1e9


def processor_time(root: int) -> tuple[float, float, float]:
    """Of the process and of all that it has started: seconds of user and system time in whole
    ticks, and seconds of both, exact unless threads have ended."""
    user = system = whole = 0.0
    for pid in descendants(root):
        if fields := fields_of(pid):
            own = [int(field) for field in fields[11:13]]
            ended = [int(field) for field in fields[13:15]]  # its children that have ended
            user += own[0] + ended[0]
            system += own[1] + ended[1]
            whole += max(run_time(pid), sum(own) / TICK) + sum(ended) / TICK
    return user / TICK, system / TICK, whole


def between(before: tuple[float, ...], after: tuple[float, ...]) -> tuple[float, float]:
    """Seconds of user and system time: the exact time, shared out as the ticks were."""
    user, system, whole = (late - early for early, late in zip(before, after, strict=True))
    part = user / (user + system) if user + system > 0 else 0.0
    return part * max(0.0, whole), (1 - part) * max(0.0, whole)


def all_time() -> float:
    """Seconds of processor time that anybody on this machine has used."""
    words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, soft, steal = map(int, words[:8])
    return (user + nice + system + irq + soft + steal) / TICK


def resident_size(root: int) -> int:
    """Bytes in memory of the process and all below it; what they share counts once."""
    total = 0
    for pid in descendants(root):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


# ---- files ------------------------------------------------------------------------------------


def text_of(size: int) -> bytes:
    """A page of that many bytes."""
    line = b"<p>All work and no play makes a dull page.</p>\n"
    return (line * (size // len(line) + 1))[:size]


def lay_out(folder: Path) -> None:
    """The files that servers serve: below www/static, so that roots and mounts have one path."""
    (folder / "empty").mkdir()
    (folder / "log").touch()
    static = folder / "www" / "static"
    (static / "many").mkdir(parents=True)
    (static / "small.html").write_bytes(text_of(FILE))
    (static / "large.bin").write_bytes(text_of(LARGE))
    for n in range(FILES):
        (static / "many" / f"page{n:02}.html").write_bytes(text_of(100 + n))


def make_certificate(folder: Path) -> None:
    """A key and a certificate for this machine, in one file."""
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    words += ["-nodes", "-subj", "/CN=localhost", "-days", "2"]
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words += ["-keyout", str(key), "-out", str(certificate)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"openssl makes no certificate: {done.stderr.strip()[-80:]}")
    with certificate.open("ab") as both:
        both.write(key.read_bytes())


SECURE_NGINX = """\
ssl_certificate {file};
        ssl_certificate_key {file};
        ssl_session_tickets off;
        ssl_session_cache off;
        ssl_conf_command NumTickets 0;
"""
"""No session is resumed, as by ours."""


def places_of(plan: Plan, folder: Path, port: int, other: int) -> dict[str, str]:
    """What stands for what in words, files and environment."""
    file = str(folder / "certificate.pem")
    return {
        "port": str(port),
        "service": str(other),
        "folder": str(folder),
        "connections": str(max(4096, 2 * plan.connections)),
        "secure": " ssl" if plan.secure else "",
        "certificate": SECURE_NGINX.replace("{file}", file) if plan.secure else "",
    }


def filled(text: str, places: dict[str, str]) -> str:
    """The text with the places filled in; other braces stay as they are."""
    for name, value in places.items():
        text = text.replace("{" + name + "}", value)
    return text


def free_port() -> int:
    """A port where nobody listens now; not one of those that the kernel gives to others."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


# ---- asking -----------------------------------------------------------------------------------


def is_world(found: Any) -> bool:
    """A row of the database as an object."""
    return set(found) == {"id", "randomNumber"}


def is_fortunes(body: bytes) -> bool:
    """The page with the sentence that was added, and nothing that a browser would run."""
    return b"added at request time" in body and b"&lt;script&gt;" in body


KINDS: dict[str, Callable[[bytes, str], Any]] = {
    "world": lambda body, rest: is_world(json.loads(body)),
    "worlds": lambda body, rest: [is_world(n) for n in json.loads(body)] == [True] * int(rest),
    "fortunes": lambda body, rest: is_fortunes(body),
    "status": lambda body, rest: isinstance(json.loads(body), dict),
    "listing": lambda body, rest: all(f"page{n:02}.html".encode() in body for n in range(FILES)),
    "file": lambda body, rest: body == text_of(int(rest)),
    "JSON": lambda body, rest: json.loads(body) == json.loads(rest),
}


def is_right(plan: Plan, status: int, body: bytes) -> bool:
    """Whether it is the answer that the plan expects."""
    kind, _, rest = plan.expect.partition(" ")
    if status != 200 or not plan.expect:
        return status == 200
    return bool(KINDS[kind](body, rest)) if kind in KINDS else body == plan.expect.encode()


def connect(plan: Plan, port: int) -> http.client.HTTPConnection:
    """One connection."""
    if not plan.secure:
        return http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)


def ask_once(plan: Plan, port: int) -> None:
    """One request on a connection of its own; OSError if nobody is there yet."""
    connection = connect(plan, port)
    try:
        connection.request("GET", plan.first, headers={"Accept": "text/html, */*"})
        answer = connection.getresponse()
        body = answer.read()
    except http.client.HTTPException as error:
        raise OSError(f"no HTTP: {error!r}") from error
    finally:
        connection.close()
    try:
        right = is_right(plan, answer.status, body)
    except ValueError:
        right = False
    if not right:
        fail(f"expected the answer {plan.expect!r}, found {answer.status} {body[:60]!r}")


def ask_in_vain(plan: Plan, port: int) -> None:
    """Sends the request that is never answered, and lets the server begin with it."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=5)
    sock.sendall(f"GET {plan.beside} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    sock.detach()  # stays open until this process ends
    time.sleep(0.2)


def ask_until_there(plan: Plan, server: Any, port: int) -> None:
    """Returns after the first answer, which was right."""
    end = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < end:
        try:
            ask_once(plan, port)
            return
        except OSError:
            time.sleep(0.005)
    fail("the server has ended" if server.poll() is not None else "the server does not answer")


def wait_for(service: Any, port: int) -> None:
    """Returns when a server listens there."""
    end = time.monotonic() + PATIENCE
    while service.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            time.sleep(0.005)
    fail("the service does not answer")


def words_of(plan: Plan, port: int, seconds: float, cut: bool) -> list[str]:
    """The client's command."""
    if plan.words:
        numbers = (plan.connections, plan.number, seconds)
        return [filled(word, {"port": str(port)}) for word in plan.words] + [*map(str, numbers)]
    url = f"{plan.scheme}:" + f"//127.0.0.1:{port}{plan.path}"
    header = ["-H", "Connection: close"] if plan.closing else []
    length = f"-d{10 if cut else int(seconds)}s"
    threads, connections = f"-t{plan.threads}", f"-c{plan.connections}"
    return ["wrk", threads, connections, length, "--latency", *header, url]


def ask(
    plan: Plan, port: int, seconds: float, warming: bool = False, probes: tuple[str, ...] = ()
) -> tuple[str, float, float]:
    """What the client printed, its processor time, and how long it took."""
    cut = warming and not plan.words
    words = [*words_of(plan, port, seconds, cut), *probes]
    began = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        assert child.stdout is not None
        if cut:
            time.sleep(seconds)  # wrk knows whole seconds only
            child.send_signal(signal.SIGINT)
        text = child.stdout.read().decode(errors="replace")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        fail(f"{Path(words[0]).name} ended with {child.returncode}: {text.strip()[-80:]}")
    return text, usage.ru_utime + usage.ru_stime, time.monotonic() - began


def time_of(service: Any) -> float:
    """Seconds of processor time of the service, if there is one."""
    return processor_time(service.pid)[2] if service else 0.0


def load(plan: Plan, server: Any, service: Any, port: int) -> dict[str, Any]:
    """A moment that does not count, and the figures of one that does."""
    if plan.beside:
        ask_in_vain(plan, port)
    there = descendants(server.pid)
    if plan.client in ("idle", "held"):
        found = keep(plan, server, port)
    elif plan.client == "overload":
        found = crowd(plan, server, port)
    else:
        ask(plan, port, WARMING, warming=True)
        found = counted(plan, server, service, port)
    if server.poll() is not None:
        fail(f"the server has ended with status {server.returncode}")
    if lost := set(there) - set(descendants(server.pid)):
        fail(f"a process of the server has ended under load, of {len(there)}: {min(lost)}")
    try:
        ask_once(plan, port)
    except OSError as error:
        fail(f"the server does not answer any more: {error}")
    return found


def counted(plan: Plan, server: Any, service: Any, port: int) -> dict[str, Any]:
    """What the client says, and what processors did meanwhile."""
    probes = PROBES if plan.client == "overload" and plan.stops else ()
    before, slow, everybody = processor_time(server.pid), time_of(service), all_time()
    text, client, wall = ask(plan, port, plan.seconds, probes=probes)
    user, system = between(before, processor_time(server.pid))
    slow = time_of(service) - slow
    everybody = all_time() - everybody
    return {
        "answers": text,
        "user": user,
        "system": system,
        "client": 100 * (client + slow) / wall,
        "others": max(0.0, 100 * (everybody - user - system - client - slow) / wall),
    }


def keep(plan: Plan, server: Any, port: int) -> dict[str, Any]:
    """Connections that stay, and the memory of each."""
    before = resident_size(server.pid)
    asked = f"GET {plan.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    held = []
    for _ in range(plan.connections):
        held.append(socket.create_connection(("127.0.0.1", port), timeout=10))
        held[-1].sendall(asked)
        if plan.client == "idle" and not held[-1].recv(4096):
            fail("the server has closed a connection")
    if plan.client == "held":
        wait_until_held(plan, port)
    time.sleep(0.3)  # what a server does when nobody asks, it may do now
    size = (resident_size(server.pid) - before) / plan.connections
    for sock in held[:: max(1, plan.connections // 20)] if plan.client == "idle" else []:
        sock.sendall(asked)
        if not sock.recv(4096):
            fail("the server has closed a connection that was kept")
    return {"bytes": max(0.0, size)}


def wait_until_held(plan: Plan, port: int) -> None:
    """Returns when the server has all the requests."""
    end, found = time.monotonic() + 4 * PATIENCE, b""
    while time.monotonic() < end:
        connection = connect(plan, port)
        connection.request("GET", plan.first)
        found = connection.getresponse().read()
        connection.close()
        if int(found) == plan.connections:
            return
        time.sleep(0.05)
    fail(f"of {plan.connections} requests the server holds {found.decode()}")


def crowd(plan: Plan, server: Any, port: int) -> dict[str, Any]:
    """The most that it answers, and what becomes of it when many times as much is due, in turns."""
    few = dataclasses.replace(plan, connections=16, number=1_000_000)
    ask(few, port, WARMING)
    sizes, over = [resident_size(server.pid)], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            sizes.append(resident_size(server.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        turns = [crowd_once(plan, few, server, port) for _ in range(TURNS)]
    finally:
        over.set()
        watcher.join()
    return {"turns": turns, "normal": sizes[0], "crowded": max(sizes)}


def crowd_once(plan: Plan, few: Plan, server: Any, port: int) -> dict[str, Any]:
    """The best is asked for a quarter of the time before, and another one after."""
    before, _, _ = ask(few, port, plan.seconds / 4)
    best = json.loads(before)
    rate = max(1, int(plan.number * best["requests"] / best["seconds"]))
    found = counted(dataclasses.replace(plan, number=rate), server, None, port)
    wait_for_calm(plan, port)
    after, _, _ = ask(few, port, plan.seconds / 4)
    return {**found, "best": [before, after]}


def wait_for_calm(plan: Plan, port: int) -> None:
    """Returns when the server answers again: it may first do what nobody waits for any more."""
    end = time.monotonic() + 2 * PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            ask_once(plan, port)
            return
    fail("the server does not answer any more")


def stop(server: subprocess.Popen[bytes]) -> None:
    """By SIGTERM, in good order."""
    server.terminate()
    try:
        status = server.wait(10)
    except subprocess.TimeoutExpired:
        fail("the server does not stop by SIGTERM")
    if status:
        fail(f"the server has stopped with status {status}")


# ---- one run ----------------------------------------------------------------------------------


def measure(plan: Plan, folder: Path) -> dict[str, Any]:
    """All of it, in that folder."""
    port, other = free_port(), free_port()
    places = places_of(plan, folder, port, other)
    if plan.secure:
        make_certificate(folder)
    for name, text in plan.files.items():
        (folder / name).write_text(filled(text, places))
    environment = {key: filled(value, places) for key, value in plan.environment.items()}
    client_core, server_core = cores()
    with contextlib.ExitStack() as stack:
        service = None
        if plan.service:
            words = [filled(word, places) for word in plan.service]
            service = stack.enter_context(running(words, client_core, folder, {}))
            wait_for(service, other)
        words = [filled(word, places) for word in plan.server]
        began = time.monotonic()
        server = stack.enter_context(running(words, server_core, folder, environment))
        os.sched_setaffinity(0, client_core)
        ask_until_there(plan, server, port)
        found = {"start": (time.monotonic() - began) * 1e9, "resident": resident_size(server.pid)}
        if plan.connections:
            found |= load(plan, server, service, port)
        if plan.stops:
            stop(server)
        return found


def main(text: str) -> None:
    """Makes the folder, and adds what the server has said if something fails."""
    plan = Plan(**json.loads(text))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # of all that is started here
    with tempfile.TemporaryDirectory(prefix="loomlet-http-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)  # a service may run as somebody else
        lay_out(folder)
        try:
            print(json.dumps(measure(plan, folder)))
        except SystemExit as error:
            said = (folder / "log").read_text(errors="replace").strip().splitlines()
            raise SystemExit(": ".join([str(error), *said[-1:]])) from None


if __name__ == "__main__":
    main(sys.argv[1])
