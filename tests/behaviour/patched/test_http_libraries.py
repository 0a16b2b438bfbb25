"""requests and httpx, unmodified, in many tasklets: pools, locks and connections of their own."""

import http.server
import resource

import pytest

import loomlet

NEEDED = 2500


@pytest.fixture(autouse=True)
def enough_descriptors():
    """Two for each connection, for the time of a test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < NEEDED:
        pytest.skip(f"this process may open {hard} descriptors only, the test needs {NEEDED}")
    if soft < NEEDED:
        resource.setrlimit(resource.RLIMIT_NOFILE, (NEEDED, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Server(http.server.ThreadingHTTPServer):
    """With a tasklet instead of a thread for each connection."""

    request_queue_size = 2048

    def __init__(self, *args):
        super().__init__(*args)
        self.connections = []

    def process_request(self, request, client_address):
        task = loomlet.spawn(self.process_request_thread, request, client_address)
        self.connections.append(task)

    def join_connections(self):
        """A connection that is killed while it closes its socket leaves it open."""
        for task in self.connections:
            task.join()


@pytest.fixture
def server(answer):
    """In this thread."""
    server = Server(("127.0.0.1", 0), answer)
    task = loomlet.spawn(server.serve_forever, 0.01)
    yield server
    task.kill()
    server.server_close()


@pytest.fixture
def url(server):
    """Of the server."""
    return f"http://localhost:{server.server_address[1]}/"


def fetch_all(get, url, count):
    """Each tasklet gets its own answer."""
    tasks = [loomlet.spawn(get, f"{url}{n}") for n in range(count)]
    assert [task.result() for task in tasks] == [b"/%d" % n for n in range(count)]


def test_requests_in_a_thousand_tasklets(url):
    """Each with a connection of its own."""
    requests = pytest.importorskip("requests", reason="requests is not installed")
    fetch_all(lambda one: requests.get(one, timeout=60).content, url, 1000)


def test_one_session_of_requests(server, url):
    """A pool of connections, whose lock is a builtin lock, over time slices."""
    requests = pytest.importorskip("requests", reason="requests is not installed")

    def main():
        with requests.Session() as session:
            adapter = requests.adapters.HTTPAdapter(pool_maxsize=20, pool_block=True)
            session.mount("http://", adapter)
            fetch_all(lambda one: session.get(one, timeout=60).content, url, 200)
        server.join_connections()

    loomlet.run(main, slice=0.001)


def test_one_client_of_httpx(server, url):
    """The same for httpx."""
    httpx = pytest.importorskip("httpx", reason="httpx is not installed")

    def main():
        limits = httpx.Limits(max_connections=20)
        with httpx.Client(limits=limits, timeout=60, trust_env=False) as client:
            fetch_all(lambda one: client.get(one).content, url, 100)
        server.join_connections()

    loomlet.run(main, slice=0.001)
