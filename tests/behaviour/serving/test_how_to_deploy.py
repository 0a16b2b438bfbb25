"""The configuration files of docs/how-to/deploy.md work as they are, with paths of the test."""

import http.client
import json
import os
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers_servers import without_sanitizers

from loomlet.__main__ import parser

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "deploy.md").read_text()
ECHO = """
def app(environ, start_response):
    start_response("200 OK", [])
    names = ("REMOTE_ADDR", "wsgi.url_scheme", "HTTP_HOST", "HTTP_CONNECTION")
    return [" ".join(environ.get(name, "-") for name in names).encode()]
"""
AROUND = """
user {user};
pid {folder}/pid;
error_log stderr;
daemon off;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def options_of(command):
    """What our command line makes of such a command."""
    words = shlex.split(command)
    assert words[1:4] == ["-m", "loomlet", "serve"]
    return parser().parse_args(words[3:])


def nginx_program():
    """Installed, or where tools/servers puts it."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    servers = Path(os.environ.get("LOOMLET_SERVERS") or Path(cache) / "loomlet" / "servers")
    found = shutil.which("nginx") or shutil.which("nginx", path=servers / "nginx" / "usr" / "sbin")
    if found is None:
        pytest.skip("no nginx on this machine: tools/servers nginx gets it")
    return found


def test_the_commands():
    (shell,), (container,) = blocks("sh"), blocks("dockerfile")
    assert options_of(shell).uds == "/run/shop/socket"
    command = json.loads(re.search(r"^CMD (.*)$", container, re.MULTILINE)[1])
    assert options_of(shlex.join(command)).host == "0.0.0.0"
    (service,) = [text for text in blocks("ini") if "ExecStart" in text]
    assert options_of(re.search(r"^ExecStart=(.*)$", service, re.MULTILINE)[1]).workers == 2


@pytest.fixture
def nginx(tmp_path, certificates):
    """The port of an nginx with the configuration of the page, before a socket of the test."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (site,) = blocks("nginx")
    for theirs, ours in (
        ("/run/shop/socket", f"{tmp_path}/socket"),
        ("/etc/shop/certificate.pem", certificates.path("server.pem")),
        ("/etc/shop/key.pem", certificates.path("server.key")),
        ("listen 443", f"listen 127.0.0.1:{port}"),
    ):
        assert theirs in site
        site = site.replace(theirs, ours)
    user = pwd.getpwuid(os.geteuid()).pw_name
    (tmp_path / "conf").write_text(AROUND.format(user=user, folder=tmp_path, site=site))
    program = nginx_program()
    usr = Path(program).parents[1]
    libraries = os.pathsep.join(map(str, usr.glob("lib/*")))
    environment = without_sanitizers(LD_LIBRARY_PATH=libraries)
    command = [program, "-e", "stderr", "-p", str(tmp_path), "-c", str(tmp_path / "conf")]
    subprocess.run([*command, "-t"], env=environment, check=True, capture_output=True)
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as running:
        yield port
        running.terminate()


def test_behind_nginx(nginx, serve, program, certificates, tmp_path):
    """The application sees the client of nginx, and no field of connections."""
    program(ECHO)
    (shell,) = blocks("sh")
    flags = shlex.split(shell.replace("/run/shop/socket", f"{tmp_path}/socket"))[5:]
    serve("site_app", *flags).wait_for("serving")
    context = certificates.client()
    end = time.monotonic() + 30
    while True:
        client = http.client.HTTPSConnection("127.0.0.1", nginx, context=context, timeout=30)
        try:
            client.request("GET", "/", headers={"Host": "a:1", "X-Forwarded-For": "192.0.2.1"})
            break
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.01)  # nginx begins
    answer = client.getresponse().read()
    client.close()
    assert answer == b"127.0.0.1 https a:1 -"


def test_the_units_of_systemd(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze on this machine")
    for text in blocks("ini"):
        kind = "service" if "ExecStart" in text else "socket"
        usable = text.replace("/srv/shop/.venv/bin/python", sys.executable)
        (tmp_path / f"shop.{kind}").write_text(usable)
    command = [analyze, "verify", "--man=no", "shop.socket", "shop.service"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if "shop" in line]
    assert not complaints
