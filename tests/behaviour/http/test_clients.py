"""Real clients, unmodified: h11, httpx, curl, Go's net/http, node's three, and a browser.

Each takes the same steps and then one of them fifty times at once, by HTTP/1.1, by HTTP/2 without
TLS (who knows that it is spoken) and by TLS, where ALPN chooses.  What the steps must give is in
STEPS; a client that is missing here is skipped by its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlunsplit

import pytest
from helpers_servers import without_sanitizers

import loomlet
from loomlet.http import HTTPError, Response, events

CLIENTS = Path(__file__).parent / "clients"
DATA = bytes(n % 250 for n in range(3_000_000))
PATIENCE = 120
TOGETHER = 50


def step(method, path, fields=None, size=0):
    return {"Method": method, "Path": path, "Fields": fields or {}, "Size": size}


def outcome(status, data=b"", content_range=""):
    digest = hashlib.sha256(data).hexdigest()
    return {"status": status, "size": len(data), "digest": digest, "range": content_range}


STEPS = [
    (step("GET", "/"), outcome(200, b"hello")),
    (step("POST", "/echo", size=300_000), outcome(200, b"x" * 300_000)),
    (step("GET", "/parts"), outcome(200, b"one two three")),
    (step("PUT", "/unread", size=50_000), outcome(201, b"unread")),
    (
        step("GET", "/files/large", {"Range": "bytes=250-259"}),
        outcome(206, bytes(range(10)), "bytes 250-259/3000000"),
    ),
    (step("HEAD", "/files/large"), outcome(200)),
    (step("GET", "/files/large"), outcome(200, DATA)),
    (step("GET", "/nothing"), outcome(404, b"Not Found\n")),
    (step("DELETE", "/empty"), outcome(204)),
]
WORDS = json.dumps([one for one, _ in STEPS])


def handler(request):
    """What is not among the files."""
    answers = {
        "/": lambda: "hello",
        "/echo": request.read,
        "/parts": lambda: iter(["one ", "two ", "three"]),
        "/unread": lambda: Response("unread", 201),
        "/empty": lambda: None,
        "/events": lambda: events(iter(["first", {"second": 2}])),
        "/page": lambda: CLIENTS / "page.html",
    }
    if request.path not in answers:
        raise HTTPError(404)
    return answers[request.path]()


def check(found, version):
    assert found["steps"] == [expected for _, expected in STEPS]
    assert (found["same"], found["version"]) == (TOGETHER, version)


def need(name, *others):
    """The path of a program, or the test is skipped."""
    path = next(filter(None, map(shutil.which, (name, *others))), None)
    if path is None:
        pytest.skip(f"no {name} on this machine: it does NOT talk to the server")
    return path


def run_client(command, **environment):
    """What it has printed; the server goes on meanwhile."""
    done = subprocess.run(
        command,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
        env=without_sanitizers(no_proxy="*", **environment),
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture
def talk(site, tmp_path, certificates):
    """Runs a function with the address of a new server, and what certifies it (or "")."""

    def run(act, *, secure=False, handler=handler):
        folder = tmp_path / "files"
        folder.mkdir(exist_ok=True)
        (folder / "large").write_bytes(DATA)
        options = {}
        if secure:
            options["tls"] = certificates.server()
            options["tls"].set_alpn_protocols(["h2", "http/1.1"])

        def main():
            server = site(handler, routes={"/files/": folder}, **options).server
            port = server.address[1]
            address = urlunsplit(("https" if secure else "http", f"localhost:{port}", "", "", ""))
            authority = certificates.path("authority.pem") if secure else ""
            return loomlet.run_blocking(act, address, authority)

        return loomlet.run(main)

    return run


# ---- libraries of Python ------------------------------------------------------------------------


class ByH11:
    """A client by h11.  It keeps its connection, unless the server ends that: which it may when an
    answer has gone before all of the request had come."""

    def __init__(self, h11, connect):
        self.h11, self.connect, self.stream = h11, connect, None

    def ask(self, one):
        """What one step gives."""
        if self.stream is None:
            self.stream, self.state = self.connect(), self.h11.Connection(self.h11.CLIENT)
        head, body = self._send(one), b""
        while type(event := self.state.next_event()) is not self.h11.EndOfMessage:
            if event is self.h11.NEED_DATA:
                self.state.receive_data(self.stream.receive_some())
            elif type(event) is self.h11.Data:
                body += event.data
            else:
                head = event
        if self.state.our_state is self.h11.DONE:
            self.state.start_next_cycle()
        else:
            self.close()
        fields = dict(head.headers)
        return outcome(head.status_code, body, fields.get(b"content-range", b"").decode())

    def _send(self, one):
        fields = [("Host", "localhost"), *one["Fields"].items()]
        if one["Size"]:
            fields.append(("Transfer-Encoding", "chunked"))
        events = [self.h11.Request(method=one["Method"], target=one["Path"], headers=fields)]
        events += [self.h11.Data(data=b"x" * 50_000)] * (one["Size"] // 50_000)
        for event in [*events, self.h11.EndOfMessage()]:
            self.stream.send_all(self.state.send(event))

    def close(self):
        self.stream.close()
        self.stream = None


def test_h11(site, tmp_path):
    """Bodies in chunks, one connection as long as it is kept, and fifty connections."""
    h11 = pytest.importorskip("h11")
    (tmp_path / "large").write_bytes(DATA)

    def main():
        here = site(handler, routes={"/files/": tmp_path})
        client = ByH11(h11, here.connect)
        with loomlet.timeout(PATIENCE):
            found = [client.ask(one) for one, _ in STEPS]
        client.close()

        def ask_anew():
            client = ByH11(h11, here.connect)
            with contextlib.closing(client):
                return client.ask(STEPS[0][0])

        tasks = [loomlet.spawn(ask_anew) for _ in range(TOGETHER)]
        same = sum(task.result() == found[0] for task in tasks)
        return {"steps": found, "same": same, "version": 1}

    check(loomlet.run(main), 1)


# ---- curl ---------------------------------------------------------------------------------------


def ask_by_curl(command, one, folder):
    """One step."""
    head, body, sent = (folder / name for name in ("head", "body", "sent"))
    sent.write_bytes(b"x" * one["Size"])
    body.write_bytes(b"")
    more = [word for pair in one["Fields"].items() for word in ("-H", ": ".join(pair))]
    more += ["--data-binary", f"@{sent}"] if one["Size"] else []
    more += ["-I"] if one["Method"] == "HEAD" else ["-X", one["Method"]]
    out = [] if one["Method"] == "HEAD" else ["-o", str(body), "-D", str(head)]
    said = run_client([*command, "-w", "\n%{http_code}", *out, *more]).decode()
    found = re.search(r"(?im)^content-range: (.*)$", head.read_text()) if out else None
    return outcome(int(said[-3:]), body.read_bytes(), found[1] if found else "")


@pytest.mark.parametrize(
    "flag, secure, version",
    [("--http1.1", False, 1), ("--http2-prior-knowledge", False, 2), ("--http2", True, 2)],
    ids=["HTTP1", "HTTP2", "TLS"],
)
def test_curl(talk, tmp_path, flag, secure, version):
    """With prior knowledge on a connection each: curl 7.88 uses none twice, with any server."""
    curl = need("curl")
    if version == 2:
        pytest.importorskip("h2")
        if b"HTTP2" not in run_client([curl, "-V"]):
            pytest.skip("this curl has no HTTP/2: it does NOT talk to the server by that")

    def act(address, authority):
        command = [curl, "-sS", flag, *(["--cacert", authority] if authority else [])]
        folder = tmp_path / "curl"
        folder.mkdir()
        found = [ask_by_curl([*command, address + one["Path"]], one, folder) for one, _ in STEPS]
        many = ["--parallel", "-w", "\n%{http_version}\n"]
        if flag == "--http2-prior-knowledge":
            many += ["--parallel-immediate"]
        said = run_client([*command, *many, f"{address}/?[1-{TOGETHER}]"]).decode()
        versions = set(re.findall(r"^([12])(?:\.1)?$", said, re.MULTILINE))
        assert len(versions) == 1, said
        return {"steps": found, "same": said.count("hello"), "version": int(versions.pop())}

    check(talk(act, secure=secure), version)


# ---- Go and node --------------------------------------------------------------------------------


@pytest.mark.slow  # Go's compiler takes seconds
def test_go(talk, tmp_path):
    go, program = need("go"), str(tmp_path / "client")
    run_client([go, "build", "-o", program, str(CLIENTS / "client.go")])

    def act(address, authority):
        return json.loads(run_client([program, WORDS, address, authority]))

    check(talk(act), 1)
    pytest.importorskip("h2")
    check(talk(act, secure=True), 2)


@pytest.mark.parametrize(
    "which, secure",
    [("fetch", False), ("http", True), ("http2", False), ("http2", True)],
    ids=["fetch", "http by TLS", "http2", "http2 by TLS"],
)
def test_node(talk, which, secure):
    node = need("node")
    if which == "http2":
        pytest.importorskip("h2")

    def act(address, authority):
        script = str(CLIENTS / "client.mjs")
        return json.loads(run_client([node, script, WORDS, address, authority, which]))

    check(talk(act, secure=secure), 2 if which == "http2" else 1)


# ---- a browser ----------------------------------------------------------------------------------

FLAGS = "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-sync dump-dom"
FLAGS += " disable-background-networking disable-component-update ignore-certificate-errors"


@pytest.mark.slow  # a browser takes seconds to begin
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_a_browser(talk, tmp_path, secure):
    """The page has loaded when its script is through; what it has found is in its DOM."""
    pytest.importorskip("wsproto")
    chromium = need("chromium", "chromium-browser", "google-chrome")
    through = loomlet.Event()

    def page_handler(request):
        if request.path == "/socket":
            websocket = request.websocket(origins=[request.header("origin")])
            for message in websocket:
                websocket.send(message)
            return None
        if request.path == "/done":
            through.set()
        if request.path == "/wait":
            through.wait()
        return None if request.path in ("/wait", "/done") else handler(request)

    def act(address, _):
        flags = [f"--{flag}" for flag in FLAGS.split()]
        profile = f"--user-data-dir={tmp_path / 'profile'}"
        return run_client([chromium, *flags, profile, f"{address}/page"]).decode()

    dom = talk(act, secure=secure, handler=page_handler)
    assert json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom)[1])) == {
        "listing": "../ large",
        "download": "3000000 true",
        "range": "206 0,1,2,3,4,5,6,7,8,9 bytes 250-259/3000000",
        "upload": 300000,
        "events": 'first {"second": 2}',
        "websocket": "4,100000 4000 enough true",
    }
