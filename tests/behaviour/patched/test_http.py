"""http.client and urllib, unmodified: their waits are those of sockets."""

import http.client
import http.server
import urllib.request

import loomlet


class Single(http.server.HTTPServer):
    """The same without threads."""

    request_queue_size = 512


def test_urllib_in_two_hundred_tasklets(address):
    """Each gets its own answer from a threaded server."""

    def fetch(n):
        url = f"http://localhost:{address[1]}/{n}"
        with urllib.request.urlopen(url, timeout=60) as response:
            return response.read()

    tasks = [loomlet.spawn(fetch, n) for n in range(200)]
    assert [task.result() for task in tasks] == [b"/%d" % n for n in range(200)]


def test_connections_are_kept(address, busy):
    """Several requests over one connection, while other tasklets compute."""

    def talk(n):
        connection = http.client.HTTPConnection(*address, timeout=60)
        answers = []
        for turn in range(3):
            connection.request("POST", "/", body=b"%d-%d" % (n, turn))
            answers.append(connection.getresponse().read())
        connection.close()
        return answers

    tasks = [loomlet.spawn(talk, n) for n in range(5)]
    for n, task in enumerate(tasks):
        assert task.result() == [(b"%d-%d" % (n, turn))[::-1] for turn in range(3)]
    assert busy[0] > 0


def test_server_and_clients_in_one_thread(answer):
    """The server too is unmodified: a tasklet runs it, one request after the other."""
    server = Single(("127.0.0.1", 0), answer)
    host, port = server.server_address
    serving = loomlet.spawn(server.serve_forever, 0.01)

    def fetch(n):
        connection = http.client.HTTPConnection(host, port, timeout=60)
        connection.request("GET", f"/{n}", headers={"Connection": "close"})
        body = connection.getresponse().read()
        connection.close()
        return body

    tasks = [loomlet.spawn(fetch, n) for n in range(20)]
    assert [task.result() for task in tasks] == [b"/%d" % n for n in range(20)]
    serving.kill()
    server.server_close()
