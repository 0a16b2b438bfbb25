"""requests, urllib3 and httpx, unmodified, with an nginx."""

import http.client
import urllib.request
from urllib.parse import urlsplit

import pytest
from helpers_many_tasklets import MANY, Gate, crowd


def by_requests(url):
    requests = pytest.importorskip("requests")
    session = requests.Session()
    session.trust_env = False

    def get(number, gate):
        with session.get(f"{url}/?n={number}", stream=True) as response:
            gate.meet()
            return response.text

    return get


def by_urllib3(url):
    urllib3 = pytest.importorskip("urllib3")
    pool = urllib3.PoolManager()

    def get(number, gate):
        response = pool.request("GET", f"{url}/?n={number}", preload_content=False)
        gate.meet()
        return response.read().decode()

    return get


def by_httpx(url):
    httpx = pytest.importorskip("httpx")

    def get(number, gate):
        with (
            httpx.Client(trust_env=False, timeout=60, verify=False) as client,
            client.stream("GET", f"{url}/?n={number}") as response,
        ):
            gate.meet()
            return response.read().decode()

    return get


def by_http_client(url):
    def get(number, gate):
        connection = http.client.HTTPConnection(urlsplit(url).netloc)
        connection.request("GET", f"/?n={number}")
        gate.meet()
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    return get


def by_urllib(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(number, gate):
        with opener.open(f"{url}/?n={number}") as response:
            gate.meet()
            return response.read().decode()

    return get


@pytest.mark.parametrize("client", [by_requests, by_urllib3, by_httpx, by_http_client, by_urllib])
def test_all_wait_at_once(client, nginx_server):
    """A thousand requests, none of which ends before all have been answered."""
    get, gate = client(nginx_server.url), Gate(MANY)
    found = crowd(lambda number: get(number, gate))
    assert found == [f"GET {number}" for number in range(MANY)]
