"""The servers of the experiment on HTTP: whether each is here, and how it is started.

A server is started as its own documents say, with one worker or thread of its own, no access log,
and connections that are kept for as long as they are asked on; nothing else is tuned. Where two
settings are usual, both take part as systems of their own, and the better one counts: nginx with
and without a cache of open files, gunicorn with 16 and 64 threads, `http.server` as it comes and
with HTTP/1.1 and without its log.

Each server is the child of `programs/http_measure.py`, which fills `{port}`, `{folder}`,
`{service}` and `{connections}` in, and `{secure}`, which is empty without TLS. What is in a
language that is compiled gets built before, once.

A server that runs applications gets the one that the path belongs to: those of the database are a
program of Flask and one of FastAPI, the others are written by hand.

`loomlet-checked` is loomlet in another environment, whose core stops at a broken invariant:
`LOOMLET_BENCH_CHECKED` is its interpreter.

A system that has entries for other experiments too (loomlet, gevent, go) is looked up here by its
entry in `peers.py`, under the same name.
"""

from __future__ import annotations

import grp
import json
import os
import pwd
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata, util
from pathlib import Path
from typing import Any

from loomlet.bench import machine
from loomlet.bench.building import built, printed_by
from loomlet.bench.model import BenchError, Job

__all__ = [
    "ALL",
    "NAME",
    "SERVICES",
    "Server",
    "Service",
    "command",
    "lacks_compiler",
    "lacks_openssl",
    "lacks_wrk",
]

NAME = "http"
PROGRAMS = Path(__file__).with_name("programs")
WWW = "{folder}/www"
HOST = "127.0.0.1"
CHECKED = "LOOMLET_BENCH_CHECKED"
STORED = ("/db", "/queries", "/fortunes")
"""What begins the paths that ask the database."""

Words = Callable[[Job], list[str]]


@dataclass(frozen=True)
class Server:
    """A server: its name, how to get it, its version, and the words that start it for a job.

    environment: for its process.  files: made in the folder of the run, by name.  stops: whether
    SIGTERM has to end it in good order; not where a request never ends.
    """

    name: str
    install: str
    found: Callable[[], str | None]
    words: Words
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    stops: bool = False

    def version(self) -> str | None:
        """Its version, or None where it is not installed."""
        return self.found()

    def command(self, job: Job) -> tuple[list[str], dict[str, str]]:
        """The program that starts it and asks it."""
        known = job.parameters
        endless = known["beside"] or known["client"] == "held"
        plan = {
            **{key: known[key] for key in _HANDED_ON},
            "words": _client(known),
            "server": self.words(job),
            "stops": self.stops and not endless,
            "environment": {**self.environment, **_ENVIRONMENT},
            "files": dict(self.files),
            "service": SERVICES[known["service"]].words() if known["service"] else [],
        }
        return [sys.executable, "-P", str(PROGRAMS / "http_measure.py"), json.dumps(plan)], {}


_ENVIRONMENT = {
    "LOOMLET_BENCH_SERVICE": "{service}",
    "LOOMLET_BENCH_CERTIFICATE": "{folder}/certificate.pem",
}
_HANDED_ON = (
    *("path", "expect", "beside", "connections", "seconds"),
    *("client", "secure", "closing", "threads", "number"),
)


def _client(known: Mapping[str, Any]) -> list[str]:
    """The words of our own client up to its number of connections, or nothing for others."""
    kind = {"overload": "rate"}.get(known["client"], known["client"])
    if kind not in ("rate", "streams", "echo") or not known["connections"]:
        return []
    return [_client_program(), kind, "{port}", known["path"]]


@dataclass(frozen=True)
class Service:
    """What handlers ask: what the machine lacks for it ('' for nothing), and how it is started.

    It listens at `{service}`, on the client's core.
    """

    lacks: Callable[[], str]
    words: Callable[[], list[str]]


# ---- what is here -----------------------------------------------------------------------------


def _of_python(*modules: str) -> Callable[[], str | None]:
    """The version of the first; None where one of them is absent."""

    def version() -> str | None:
        if any(util.find_spec(module) is None for module in modules):
            return None
        try:
            return metadata.version(modules[0])
        except metadata.PackageNotFoundError:
            return "from source"

    return version


def _of_bjoern() -> str | None:
    """It is built where it is installed, with a library of the machine that may be gone."""
    found = _of_python("bjoern")()
    loads = found and printed_by(sys.executable, "-P", "-c", "import bjoern; print('loads')")
    return found if loads else None


def _own_version() -> str:
    return sys.version.split()[0]


def _node_version() -> str | None:
    return printed_by("node", "--version") or None


def _go_version() -> str | None:
    words = printed_by("go", "version")
    return words.split()[2] if words else None


def _c_version() -> str | None:
    words = printed_by("cc", "--version")
    return words.splitlines()[0] if words else None


def _nginx() -> str:
    """The path of nginx: installed, or fetched by tools/servers; '' without one."""
    cache = os.environ.get("LOOMLET_SERVERS") or machine.cache_of("servers")
    got = Path(cache) / "nginx" / "usr" / "sbin" / "nginx"
    installed = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return installed or (str(got) if os.access(got, os.X_OK) else "")


def _nginx_version() -> str | None:
    path = _nginx()
    return printed_by(path, "-v").rpartition("/")[2] or None if path else None


def _http_server() -> str:
    """The path of node's http-server: installed, or got by `make peers`; '' without one."""
    got = machine.cache() / "node" / "node_modules" / ".bin" / "http-server"
    return shutil.which("http-server") or (str(got) if os.access(got, os.X_OK) else "")


def _http_server_version() -> str | None:
    path = _http_server()
    return printed_by(path, "--version") or None if path and _node_version() else None


def lacks_wrk() -> str:
    """How to get the client, '' where it is here."""
    return "" if shutil.which("wrk") else "install wrk (Debian: apt install wrk)"


def lacks_compiler() -> str:
    """How to get what builds the slow service and our own client, '' where it is here."""
    return "" if _c_version() else _CC


def lacks_openssl() -> str:
    """How to get what makes the certificate, '' where it is here."""
    return "" if shutil.which("openssl") else "install openssl (Debian: apt install openssl)"


def _postgresql() -> str:
    """The folder of the programs of PostgreSQL: installed, or fetched by tools/servers; or ''."""
    cache = os.environ.get("LOOMLET_SERVERS") or machine.cache_of("servers")
    pattern = "lib/postgresql/*/bin/initdb"
    found = [*Path("/usr").glob(pattern), *Path(cache, "postgresql", "usr").glob(pattern)]
    return str(sorted(found)[-1].parent) if found else ""


def _lacks_postgresql() -> str:
    """What the rooms of the database lack; '' for nothing. asyncpg and FastAPI are the peer's."""
    absent = [name for name in ("flask", "psycopg", "psycopg_pool") if util.find_spec(name) is None]
    if absent:
        return _PIP.format(" ".join(absent).replace("_", "-"))
    return "" if _postgresql() else "tools/servers postgresql (Debian: apt install postgresql)"


def _checked_version() -> str | None:
    """That of the other environment, where there is one."""
    python = os.environ.get(CHECKED, "")
    words = "import loomlet, sys; print(sys.version.split()[0])"
    return printed_by(python, "-P", "-c", words) or None if python else None


# ---- how it is started ------------------------------------------------------------------------


def _c_program() -> str:
    def build(source: Path, folder: Path) -> list[str]:
        return ["cc", "-O2", "-o", str(folder / "http"), str(source)]

    return str(built(PROGRAMS / "http.c", _c_version() or "", build) / "http")


def _client_program() -> str:
    def build(source: Path, folder: Path) -> list[str]:
        return ["cc", "-O2", "-o", str(folder / "http_client"), str(source), "-lm"]

    return str(built(PROGRAMS / "http_client.c", _c_version() or "", build) / "http_client")


def _go_program() -> str:
    def build(source: Path, folder: Path) -> list[str]:
        return ["go", "build", "-o", str(folder / "http"), str(source)]

    return str(built(PROGRAMS / "http.go", _go_version() or "", build) / "http")


def _fixed(*words: str) -> Words:
    """The same words for every job."""
    return lambda job: list(words)


def _module(*words: str) -> Words:
    """A module of this interpreter, as a command."""
    return _fixed(sys.executable, "-P", "-m", *words)


def _program(name: str, *words: str) -> Words:
    """A file of the programs."""
    return _fixed(sys.executable, "-P", str(PROGRAMS / name), *words, "{port}", WWW)


def _is_stored(job: Job) -> bool:
    """Whether the path asks the database."""
    found: bool = job.parameters["path"].startswith(STORED)
    return found


def _application(job: Job, kind: str) -> str:
    """The application for the path, in one of the two interfaces."""
    if not _is_stored(job):
        return f"http_applications:{kind}"
    return "http_flask:app" if kind == "wsgi" else "http_fastapi:app"


def _loomlet(kind: str) -> Words:
    """A program of its own; other requests go on beside many that do not end."""

    def words(job: Job) -> list[str]:
        held = job.parameters["client"] == "held"
        return _program("http_loomlet.py", "held" if held else kind)(job)

    return words


def _loomlet_serve(kind: str) -> Words:
    """The command, with a status page and files; with our locks where many wait for a pool."""

    def words(job: Job) -> list[str]:
        place = ("--app-dir", str(PROGRAMS), "--port", "{port}", "--log-level", "error")
        more = ("--status-path", "/-/status", "--static-path-mount", f"/static={WWW}/static")
        sync = ("--sync",) if _is_stored(job) and kind == "wsgi" else ()
        return _module("loomlet", "serve", _application(job, kind), *place, *more, *sync)(job)

    return words


def _checked(job: Job) -> list[str]:
    """In the other environment."""
    program = str(PROGRAMS / "http_loomlet.py")
    return [os.environ[CHECKED], "-P", program, "handler", "{port}", WWW]


def _gunicorn(threads: int) -> Words:
    def words(job: Job) -> list[str]:
        kind = ("-k", "gthread", "--threads", str(threads), "-w", "1", "--keep-alive", "75")
        place = ("--chdir", str(PROGRAMS), "-b", f"{HOST}:{{port}}", "--log-level", "error")
        return _module("gunicorn", *kind, *place, _application(job, "wsgi"))(job)

    return words


def _hypercorn(job: Job) -> list[str]:
    place = ("-b", f"{HOST}:{{port}}", "--log-level", "error", "--keep-alive", "75")
    program = f"{PROGRAMS}/{_application(job, 'asgi')}"
    kind = ("-k", "uvloop", "-w", "1", "-c", "{folder}/hypercorn.toml")
    return _module("hypercorn", *kind, *place, program)(job)


def _granian(job: Job) -> list[str]:
    """WSGI or ASGI by the system's name; a folder where the job is about files."""
    kind = "asgi" if job.system.endswith("asgi") else "wsgi"
    words = ["--host", HOST, "--port", "{port}", "--workers", "1", "--log-level", "error"]
    if job.parameters["path"].startswith("/static/"):
        mount = ["--static-path-route", "/static", "--static-path-mount", f"{WWW}/static"]
        words += mount
    target = ["--interface", kind, "--working-dir", str(PROGRAMS), f"http_applications:{kind}"]
    return [*_module("granian", *words, *target)(job)]


def _node(job: Job) -> list[str]:
    return ["node", str(PROGRAMS / "http.js"), "{port}"]


def _node_files(job: Job) -> list[str]:
    return ["node", _http_server(), WWW, "-p", "{port}", "-a", HOST, "-s"]


_NGINX_CONFIGURATION = """\
worker_processes 1;
daemon off;
user {user} {group};
pid {folder}/pid;
error_log stderr error;
events { worker_connections {connections}; }
http {
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    types { text/html html; application/octet-stream bin; }
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {cache}
    server {
        listen 127.0.0.1:{port}{secure} backlog=4096;
        {certificate}
        location = /plain { default_type text/plain; return 200 "Hello, World!"; }
        location = /json {
            default_type application/json;
            return 200 '{"message": "Hello, World!"}';
        }
        location / { root {folder}/www; autoindex on; }
    }
}
"""


def _nginx_files(cache: str) -> dict[str, str]:
    """Its configuration: it works under the user that runs the bench."""
    me = pwd.getpwuid(os.geteuid())
    text = _NGINX_CONFIGURATION.replace("{cache}", cache).replace("{user}", me.pw_name)
    return {"nginx.conf": text.replace("{group}", grp.getgrgid(me.pw_gid).gr_name)}


def _nginx_words(job: Job) -> list[str]:
    return [_nginx(), "-p", "{folder}", "-c", "{folder}/nginx.conf", "-e", "stderr"]


def _floor(job: Job) -> list[str]:
    return [_c_program(), "floor", "{port}"]


def _go(job: Job) -> list[str]:
    return [_go_program(), "{port}", WWW]


# ---- the list ---------------------------------------------------------------------------------

_PIP = "pip install {}"
_BJOERN = "pip install bjoern (with libev and its headers; Debian: apt install libev-dev)"
_CC = "install a C compiler and put `cc` on the PATH (Debian: apt install gcc)"
_NGINX = "tools/servers nginx (Debian: apt install nginx)"
_NODE = "install node and put `node` on the PATH (Debian: apt install nodejs)"
_CHECKED = f"LOOMLET_CHECKS=ON tools/setup .envs/checked, {CHECKED}=.envs/checked/bin/python"
_HTTP_SERVER = "npm install -g http-server"


def _ours(name: str, words: Words) -> Server:
    return Server(name, _PIP.format("loomlet"), _of_python("loomlet"), words, stops=True)


def _pip(name: str, words: Words, *modules: str) -> Server:
    return Server(name, _PIP.format(" ".join(modules)), _of_python(*modules), words)


def _uvicorn() -> Server:
    words = ("--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "error")
    place = ("--app-dir", str(PROGRAMS), "--host", HOST, "--port", "{port}", "--backlog", "4096")

    def start(job: Job) -> list[str]:
        return _module("uvicorn", *words, *place, _application(job, "asgi"))(job)

    return _pip("uvicorn", start, "uvicorn", "uvloop", "httptools")


def _nginx_with(name: str, cache: str) -> Server:
    return Server(name, _NGINX, _nginx_version, _nginx_words, files=_nginx_files(cache))


_OPEN_FILES = "open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s;"

_KNOWN = (
    _ours("loomlet", _loomlet("handler")),
    _ours("loomlet-fixed", _loomlet("fixed")),
    _ours("loomlet-wsgi", _loomlet_serve("wsgi")),
    _ours("loomlet-asgi", _loomlet_serve("asgi")),
    Server("loomlet-checked", _CHECKED, _checked_version, _checked, stops=True),
    _nginx_with("nginx", ""),
    _nginx_with("nginx-cache", _OPEN_FILES),
    Server("epoll", _CC, _c_version, _floor),
    _pip("fastpysgi", _program("http_peers.py", "fastpysgi"), "fastpysgi"),
    Server("bjoern", _BJOERN, _of_bjoern, _program("http_peers.py", "bjoern")),
    _pip("socketify", _program("http_peers.py", "socketify"), "socketify"),
    _pip("granian", _granian, "granian"),
    _pip("granian-asgi", _granian, "granian"),
    _uvicorn(),
    replace(
        _pip("hypercorn", _hypercorn, "hypercorn", "uvloop", "h2"),
        files={"hypercorn.toml": "keep_alive_max_requests = 1_000_000_000\n"},
    ),
    _pip("gunicorn-16", _gunicorn(16), "gunicorn"),
    _pip("gunicorn-64", _gunicorn(64), "gunicorn"),
    _pip("gevent", _program("http_peers.py", "gevent"), "gevent"),
    Server("go", "", _go_version, _go, {"GOMAXPROCS": "1"}),
    Server("node", _NODE, _node_version, _node),
    Server("http-server", _HTTP_SERVER, _http_server_version, _node_files),
    Server(
        "http.server",
        "",
        _own_version,
        _module("http.server", "{port}", "--bind", HOST, "--directory", WWW),
    ),
    Server("http.server-1.1", "", _own_version, _program("http_peers.py", "keep-alive")),
)


def _database() -> list[str]:
    program = str(PROGRAMS / "http_postgresql.py")
    return [sys.executable, "-P", program, _postgresql(), "{service}", "{folder}/postgresql"]


SERVICES: Mapping[str, Service] = {
    "delay": Service(lacks_compiler, lambda: [_c_program(), "delay", "{service}"]),
    "postgresql": Service(_lacks_postgresql, _database),
}

ALL: Mapping[str, Server] = {server.name: server for server in _KNOWN}


def command(job: Job) -> tuple[list[str], dict[str, str]]:
    """That of the job's server; for systems that other experiments know, too."""
    if job.system not in ALL:
        raise BenchError(f"{job.system} serves no HTTP here")
    return ALL[job.system].command(job)
