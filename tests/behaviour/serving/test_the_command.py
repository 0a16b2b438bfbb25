"""`python -m loomlet serve`: what it serves, where it listens, and what it says when it cannot."""

import gzip
import http.client
import socket
import subprocess
import sys
import time

import pytest

WSGI = """
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"wsgi {environ['SCRIPT_NAME']}|{environ['PATH_INFO']}".encode()]
"""
ASGI = """
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"asgi " + scope["path"].encode()})
"""


def test_a_folder(serve, tmp_path):
    (tmp_path / "page.html").write_text("<p>here")
    server = serve(".")
    status, body = server.get()
    assert (status, b'href="./page.html"' in body) == (200, True)
    assert server.get("/page.html") == (200, b"<p>here")
    assert server.get("/nothing") == (404, b"")
    assert server.end() == 0


@pytest.mark.parametrize("target", ["site_app:app", "site_app"])
@pytest.mark.parametrize(("text", "answer"), [(WSGI, b"wsgi |/x"), (ASGI, b"asgi /x")])
def test_an_application(serve, program, target, text, answer):
    """Which interface it has is seen; `app` is found without its name."""
    program(text)
    assert serve(target).get("/x") == (200, answer)


@pytest.mark.parametrize("target", ["site_app:make_app", "site_app:make_app()"])
def test_a_factory(serve, program, target):
    program(WSGI.replace("def app", "def other") + "\ndef make_app():\n    return other\n")
    flags = () if target.endswith(")") else ("--factory",)
    assert serve(target, *flags).get("/x") == (200, b"wsgi |/x")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nothing:app", "there is not a folder and no module 'nothing'"),
        ("site_app:nothing", "module 'site_app' has no 'nothing'"),
        ("site_app:number", "expected site_app:number to be callable, found 1"),
        ("broken:app", "ZeroDivisionError"),
        ("misses:app", "No module named 'not_installed'"),
    ],
)
def test_an_application_that_cannot_be_found(serve, program, target, words):
    """It says why, and ends with a status."""
    program(WSGI + "\nnumber = 1\n")
    program("1 / 0\n", "broken")
    program("import not_installed\n", "misses")
    server = serve(target)
    assert server.process.wait(30) == 3
    server.wait_for(words)


def test_a_place_that_is_taken(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "loomlet", "serve", ".", "--port", port]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert f"loomlet serve: cannot listen on 127.0.0.1:{port}: " in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "flags",
    [
        ["--workers", "0"],
        ["--slice", "0"],
        ["--static-path-mount", "static"],
        ["--static-path-mount", "/static=nothing"],
        ["--preload", "--reload"],
        ["--sync", "--no-patch"],
        ["--forwarded-allow-ips", "proxy.example"],
        ["--port", "65536"],
        ["--umask", "9"],
        ["--ssl-certfile", "nothing"],
        ["--env-file", "nothing"],
        ["--log-config", "nothing"],
        ["--app-dir", "nothing"],
        ["--reload", "--reload-dir", "nothing"],
        ["--access-logformat", "%(nothing)s"],
        ["--certificate", "site.pem"],
    ],
)
def test_wrong_flags(tmp_path, flags):
    command = [sys.executable, "-m", "loomlet", "serve", ".", *flags]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "error: " in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_number_that_cannot_be_written(tmp_path):
    command = [sys.executable, "-m", "loomlet", "serve", ".", "--port", "0", "--pid", "nothing/pid"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.endswith("cannot write --pid nothing/pid: No such file or directory\n")


def test_an_unknown_flag_leads_to_the_known_ones(tmp_path):
    command = [sys.executable, "-m", "loomlet", "serve", ".", "--certificate"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "unrecognized arguments: --certificate; python -m loomlet serve --help" in ended.stderr


def get_from(sock):
    sock.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    answer = http.client.HTTPResponse(sock)
    answer.begin()
    return answer.status, answer.read()


def test_a_path_of_the_file_system(serve, program, tmp_path):
    program(WSGI)
    path = str(tmp_path / "socket")
    for _ in range(2):  # what the first one has left is no obstacle
        server = serve("site_app", "--uds", path)
        server.wait_for("serving")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            assert get_from(client) == (200, b"wsgi |/x")
        server.process.kill()
        server.process.wait()


def test_a_socket_that_was_inherited(serve, program):
    program(WSGI)
    with socket.create_server(("127.0.0.1", 0)) as inherited:
        number = inherited.fileno()
        serve("site_app", "--fd", str(number), "--workers", "2", pass_fds=[number])
        with socket.create_connection(inherited.getsockname(), timeout=30) as client:
            assert get_from(client) == (200, b"wsgi |/x")


def test_a_descriptor_that_is_no_socket(serve, tmp_path):
    with open(tmp_path / "file", "w") as file:
        server = serve(".", "--fd", str(file.fileno()), pass_fds=[file.fileno()])
        assert server.process.wait(30) == 1
        server.wait_for(f"loomlet serve: cannot listen on descriptor {file.fileno()}: ")


def test_static_files_beside_an_application(serve, program, tmp_path):
    program(WSGI)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.css").write_text("p {}")
    server = serve("site_app", "--static-path-mount", "/static=files")
    assert server.get("/static/a.css") == (200, b"p {}")
    assert server.get("/other") == (200, b"wsgi |/other")


def test_compressed_files(serve, tmp_path):
    (tmp_path / "page.html").write_text("<p>here</p>" * 100)
    server = serve(".", "--compress")
    _, body = server.get("/page.html", fields={"Accept-Encoding": "gzip"})
    assert gzip.decompress(body) == b"<p>here</p>" * 100


@pytest.mark.parametrize(
    ("flags", "client"),
    [
        ([], b"127.0.0.1 http"),
        (["--proxy-headers"], b"192.0.2.1 https"),
        (["--forwarded-allow-ips", "127.0.0.1"], b"192.0.2.1 https"),
        (["--no-proxy-headers", "--forwarded-allow-ips", "127.0.0.1"], b"127.0.0.1 http"),
    ],
)
def test_what_a_proxy_says(serve, program, flags, client):
    program(
        "def app(environ, start_response):\n"
        "    start_response('200 OK', [])\n"
        '    return [f\'{environ["REMOTE_ADDR"]} {environ["wsgi.url_scheme"]}\'.encode()]\n'
    )
    fields = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"}
    assert serve("site_app", *flags).get("/", fields=fields) == (200, client)


def test_the_status(serve, program):
    program(WSGI)
    server = serve("site_app", "--status-path", "/-/status")
    server.get("/x")
    status, body = server.get("/-/status")
    assert status == 200
    assert b'"requests": 2' in body
    _, text = server.get("/-/status?format=prometheus")
    assert b"# TYPE loomlet_http_requests_total counter\nloomlet_http_requests_total 3\n" in text
    assert server.get("/-/other") == (200, b"wsgi |/-/other")


def test_a_blocking_call_holds_up_nobody(serve, program):
    """time.sleep() of the standard library, in an application that knows nothing of loomlet."""
    program(
        "import time\n"
        "def app(environ, start_response):\n"
        "    if environ['PATH_INFO'] == '/slow':\n"
        "        time.sleep(60)\n"
        "    start_response('200 OK', [])\n"
        "    return [b'quick']\n"
    )
    server = serve("site_app", "--timeout-graceful-shutdown", "0")
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
        slow.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        assert server.get("/quick") == (200, b"quick")


def test_each_request_is_a_thread_of_its_own(serve, program):
    """To threading.local and the name of the current thread; they do not leak into the next one."""
    program(
        "import threading\n"
        "local = threading.local()\n"
        "def app(environ, start_response):\n"
        "    found = getattr(local, 'value', 'none')\n"
        "    local.value = 'left'\n"
        "    start_response('200 OK', [])\n"
        "    return [found.encode()]\n"
    )
    server = serve("site_app")
    assert [server.get()[1] for _ in range(3)] == [b"none"] * 3


@pytest.mark.parametrize(
    ("flags", "owner"),
    [((), b"threading"), (("--sync",), b"loomlet"), (("--sync", "--preload"), b"loomlet")],
)
def test_whose_locks_and_queues(serve, program, flags, owner):
    """Those of loomlet with --sync, in what the application imports from `threading`, too."""
    program(
        "from threading import Condition\n"
        "def app(environ, start_response):\n"
        "    start_response('200 OK', [])\n"
        "    return [type(Condition()).__module__.partition('.')[0].encode()]\n"
    )
    assert serve("site_app", *flags).get() == (200, owner)


def test_variables_of_a_file(serve, program, tmp_path):
    program(
        "import os\n"
        "def app(environ, start_response):\n"
        "    start_response('200 OK', [])\n"
        "    return [os.environ['A_NAME'].encode()]\n"
    )
    (tmp_path / "env").write_text("# comment\nexport A_NAME='a value'\n")
    assert serve("site_app", "--env-file", "env").get() == (200, b"a value")


def test_its_number_is_in_a_file_while_it_runs(serve, tmp_path):
    server = serve(".", "--pid", "number")
    server.get()
    assert int((tmp_path / "number").read_text()) == server.process.pid
    server.end()
    assert not (tmp_path / "number").exists()


def test_a_change_of_the_program_is_seen(serve, program):
    program(WSGI)
    server = serve("site_app", "--reload")
    assert server.get("/x") == (200, b"wsgi |/x")
    program(WSGI.replace("wsgi ", "another wsgi "))
    end = time.monotonic() + 30
    while server.get("/x") != (200, b"another wsgi |/x"):
        assert time.monotonic() < end, server.log
        time.sleep(0.1)  # it looks once a second
