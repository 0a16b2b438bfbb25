"""Real servers for tests: each has its own data in a temporary folder, on this machine only.

A server needs the folder where its programs are (tools/servers): that of the machine, or one of
unpacked packages, whose libraries are found by LD_LIBRARY_PATH.  PostgreSQL refuses to run as root,
so in that case it is started as an unprivileged user.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlunsplit

from helpers_certificates import Certificates

TOOL = Path(__file__).resolve().parents[1] / "tools" / "servers"
CONNECTIONS = 1100


class NoServer(Exception):
    """The server is not installed or does not start; the text says why."""


@dataclass(frozen=True)
class Address:
    """Where a server is: the port on 127.0.0.1, that with TLS if it has one, its UNIX socket."""

    port: int
    path: str
    tls_port: int = 0

    @property
    def url(self) -> str:
        """The address of its first page."""
        return urlunsplit(("http", f"127.0.0.1:{self.port}", "", "", ""))

    @property
    def tls_url(self) -> str:
        """The same with TLS."""
        return urlunsplit(("https", f"127.0.0.1:{self.tls_port}", "", "", ""))

    @property
    def authority(self) -> str:
        """The certificate of the authority that signed the server's."""
        return str(Path(self.path).with_name("authority.pem"))

    @property
    def behind(self) -> str:
        """The UNIX socket to which nginx passes requests for /held; a listener there answers."""
        return str(Path(self.path).with_name("behind"))


def folder_of(name: str) -> Path:
    """Where the programs of a server are, fetched if need be."""
    command = [sys.executable, str(TOOL), "--seconds", "120", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoServer(done.stderr.strip().splitlines()[-1])
    return Path(done.stdout.split(maxsplit=1)[1].strip())


def program(folder: Path, pattern: str) -> str:
    """The path of one program of a server; the newest of several versions."""
    return str(sorted(folder.glob(pattern))[-1])


def without_sanitizers(**more: str) -> dict[str, str]:
    """The environment for programs of others: the sanitizers loaded into this process are none of
    theirs."""
    return {**{name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}, **more}


def environment(folder: Path) -> dict[str, str]:
    """The environment of its programs."""
    found = [] if folder == Path("/usr") else [str(path) for path in folder.glob("lib/*-linux-*")]
    return without_sanitizers(LC_ALL="C", LD_LIBRARY_PATH=":".join(found))


def free_port() -> int:
    """A port of 127.0.0.1 that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def answers(path: str) -> bool:
    """Whether a process listens on a UNIX socket."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(path) == 0


class Programs:
    """Runs the programs of one server, output to a file in its data folder."""

    def __init__(self, folder: Path, data: Path, user: str | None = None) -> None:
        self.folder, self.data, self.user = folder, data, user
        self.log = data / "log"

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts one."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.data,
                env=environment(self.folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=self.user,
            )

    def run(self, command: Sequence[str]) -> None:
        """Runs one to its end."""
        if self.start(command).wait(120):
            raise NoServer(f"{command[0]} failed: {self.last_words()}")

    @contextlib.contextmanager
    def serving(
        self, command: Sequence[str], address: Address, ready: Callable[[], bool] | None = None
    ) -> Iterator[Address]:
        """Inside, the server answers at the address, and ready() if that says too little."""
        ready = ready or partial(answers, address.path)
        child = self.start(command)
        try:
            limit = time.monotonic() + 60
            while not ready():
                if child.poll() is not None or time.monotonic() > limit:
                    raise NoServer(f"{command[0]} does not answer: {self.last_words()}")
                time.sleep(0.05)  # a server does not announce that it has begun to listen
            yield address
        finally:
            child.terminate()
            child.wait()

    def last_words(self) -> str:
        """The end of what they printed."""
        return " | ".join(self.log.read_text(errors="replace").splitlines()[-3:])


def redis(folder: Path, data: Path) -> contextlib.AbstractContextManager[Address]:
    """A redis server without a file."""
    at = Address(free_port(), str(data / "redis.sock"))
    command = [program(folder, "bin/redis-server"), "--port", str(at.port), "--bind", "127.0.0.1"]
    command += ["--unixsocket", at.path, "--save", "", "--appendonly", "no", "--dir", str(data)]
    return Programs(folder, data).serving([*command, "--maxclients", str(CONNECTIONS)], at)


def postgresql(folder: Path, data: Path) -> contextlib.AbstractContextManager[Address]:
    """A PostgreSQL server: user postgres, database postgres, no password."""
    user = "nobody" if os.geteuid() == 0 else None
    if user is not None:
        os.chown(data, pwd.getpwnam(user).pw_uid, -1)
    programs, at = Programs(folder, data, user), Address(free_port(), "")
    at = Address(at.port, str(data / f".s.PGSQL.{at.port}"))
    initdb = program(folder, "lib/postgresql/*/bin/initdb")
    store = str(data / "store")
    programs.run([initdb, "-D", store, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"])
    options = ["-D", store, "-p", str(at.port), "-k", str(data), "-c", "fsync=off"]
    options += ["-c", f"max_connections={CONNECTIONS}", "-c", "listen_addresses=127.0.0.1"]
    options += ["-c", "client_connection_check_interval=100"]  # clients may leave while they wait

    def ready() -> bool:  # it listens before it serves
        status = Path(store, "postmaster.pid")
        return status.exists() and status.read_text().split()[-1:] == ["ready"]

    return programs.serving([initdb.replace("initdb", "postgres"), *options], at, ready)


def mariadb(folder: Path, data: Path) -> contextlib.AbstractContextManager[Address]:
    """A MariaDB server: user root, no password."""
    at = Address(free_port(), str(data / "mariadb.sock"))
    own = [f"--user={pwd.getpwuid(os.geteuid()).pw_name}", f"--datadir={data / 'store'}"]
    own = ["--no-defaults", f"--basedir={folder}", *own]
    programs = Programs(folder, data)
    install = program(folder, "bin/mariadb-install-db")
    programs.run([install, *own, "--auth-root-authentication-method=normal", "--skip-test-db"])
    options = [f"--port={at.port}", "--bind-address=127.0.0.1", f"--socket={at.path}"]
    options += [f"--max-connections={CONNECTIONS}", f"--back-log={CONNECTIONS}"]
    options += ["--skip-log-bin", "--skip-name-resolve"]
    return programs.serving([program(folder, "sbin/mariadbd"), *own, *options], at)


NGINX = """\
user {user};
worker_rlimit_nofile {connections};
pid {data}/pid;
error_log stderr;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    client_body_temp_path {data}/body;
    proxy_temp_path {data}/proxy;
    fastcgi_temp_path {data}/fastcgi;
    uwsgi_temp_path {data}/uwsgi;
    scgi_temp_path {data}/scgi;
    upstream behind.test {{ server unix:{data}/behind; }}
    server {{
        listen unix:{path};
        listen 127.0.0.1:{port};
        listen 127.0.0.1:{tls_port} ssl;
        ssl_certificate {data}/server.pem;
        ssl_certificate_key {data}/server.key;
        location /held {{ proxy_pass "http://behind.test"; }}
        location / {{ return 200 "$request_method $arg_n"; }}
        location /status {{ stub_status; }}
    }}
}}
"""


def nginx(folder: Path, data: Path) -> contextlib.AbstractContextManager[Address]:
    """An nginx that answers with the method of a request and its argument n; /held is up to you."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise NoServer("no openssl command on this machine, which makes its certificate")
    Certificates(data, openssl)
    at = Address(free_port(), str(data / "nginx.sock"), free_port())
    user = pwd.getpwuid(os.geteuid()).pw_name
    (data / "conf").write_text(
        NGINX.format(**vars(at), data=data, user=user, connections=3 * CONNECTIONS)
    )
    command = [program(folder, "sbin/nginx"), "-p", str(data), "-c", str(data / "conf")]
    return Programs(folder, data).serving([*command, "-g", "daemon off;"], at)


STARTS: dict[str, Callable[[Path, Path], contextlib.AbstractContextManager[Address]]] = {
    "redis": redis,
    "postgresql": postgresql,
    "mariadb": mariadb,
    "nginx": nginx,
}


@contextlib.contextmanager
def running(name: str) -> Iterator[Address]:
    """Inside, that server runs.  Raises NoServer when it is not installed."""
    folder = folder_of(name)
    data = Path(tempfile.mkdtemp(prefix=f"loomlet-{name}-"))
    try:
        with STARTS[name](folder, data) as address:
            yield address
    finally:
        shutil.rmtree(data, ignore_errors=True)
