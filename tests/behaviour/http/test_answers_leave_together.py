"""Answers whose requests have come together leave together, and each as it should."""

import asyncio
import contextlib
import os
import socket
import struct
import threading

import pytest

import loomlet
from loomlet.http import Server

TOGETHER = 8


def by_coroutines(respond):
    async def application(scope, receive, send):
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        path = scope["path"].encode()[1:]
        if path.endswith(b"later"):
            await asyncio.sleep(0)
        body = respond(path)
        if body is not None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body})

    return {"application": application}


def by_views(respond):
    def application(environ, start_response):
        path = environ["PATH_INFO"].encode()[1:]
        if path.endswith(b"later"):
            loomlet.schedule()
        body = respond(path)
        start_response("200 OK", [])
        return [] if body is None else [body]

    return {"application": application}


def by_views_in_parts(respond):
    """As those of Flask: an iterator, whose only part is as long as the head says."""

    def application(environ, start_response):
        path = environ["PATH_INFO"].encode()[1:]
        if path.endswith(b"later"):
            loomlet.schedule()
        body = respond(path) or b""
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return iter([body])

    return {"application": application}


def by_handlers(respond):
    def handler(request):
        path = request.path.encode()[1:]
        if path.endswith(b"later"):
            loomlet.schedule()
        return respond(path)

    return {"handler": handler}


def ask_for(path, close=False):
    last = b"Connection: close\r\n" if close else b""
    return b"GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (path, last)


def bodies_of(answers):
    return [part.partition(b"\r\n\r\n")[2] for part in answers.split(b"HTTP/1.1 200 OK\r\n")[1:]]


def read_all(client):
    """In a thread that waits: until the server closes the connection."""

    def read():
        parts = []
        while part := client.recv(65536):
            parts.append(part)
        return b"".join(parts)

    return loomlet.run_blocking(read)


@pytest.fixture(params=[by_coroutines, by_views, by_views_in_parts, by_handlers])
def play(request):
    """Calls `act(server, clients)`; what clients send before their first wait comes together.

    The body of an answer is `respond(server, path)`; None: there is no answer.
    """

    def run(respond, act, count=TOGETHER, **options):
        servers = []
        answers = request.param(lambda path: respond(servers[0], path))

        def main():
            with contextlib.ExitStack() as stack, loomlet.timeout(60):
                server = stack.enter_context(Server(**answers, port=0, **options))
                servers.append(server)
                clients = [
                    stack.enter_context(socket.create_connection(server.address))
                    for _ in range(count)
                ]
                loomlet.sleep(0.01)  # so that they are accepted, and nothing is left of them
                return act(server, clients)

        return loomlet.run(main)

    return run


def sending(server):
    """How many answers wait."""
    return server._core._counts()["sending"]


def test_they_wait_for_each_other_and_no_longer(play):
    """Views and handlers do while they are short, as on a machine that is not busy; so at last."""
    waiting = []
    all_begin_first = "switch" in os.environ.get("LOOMLET_TORTURE", "")

    def respond(server, path):
        waiting.append(sending(server))
        return path

    def ask_all(server, clients):
        for i, client in enumerate(clients):
            client.sendall(ask_for(b"/%d" % i))
        return [bodies_of(loomlet.run_blocking(client.recv, 65536)) for client in clients]

    def act(server, clients):
        while True:
            assert ask_all(server, clients) == [[b"%d" % i] for i in range(TOGETHER)]
            assert sending(server) == 0
            if max(waiting) > 1 or all_begin_first:
                return

    play(respond, act)


def test_those_that_take_long_do_not_wait_for_each_other(play):
    """After short ones too, when the scheduler seldom looks at the clock."""
    waiting = []

    def respond(server, path):
        end = loomlet.now() + (0.001 if path == b"long" else 0)
        while loomlet.now() < end:
            pass
        if path == b"long":
            waiting.append(sending(server))
        return path

    def ask_all(clients, path):
        for client in clients:
            client.sendall(ask_for(path))
        return [bodies_of(loomlet.run_blocking(client.recv, 65536)) for client in clients]

    def act(server, clients):
        for _ in range(20):
            assert ask_all(clients, b"/short") == [[b"short"]] * TOGETHER
        assert ask_all(clients, b"/long") == [[b"long"]] * TOGETHER

    play(respond, act)
    assert max(waiting) <= 1


def test_each_client_gets_its_answers_in_the_order_of_its_requests(play):
    def act(server, clients):
        for i, client in enumerate(clients):
            paths = [b"/%d" % i, b"/route", b"/%d-later" % i, b"/route", b"/%d-end" % i]
            client.sendall(b"".join(map(ask_for, paths)) + ask_for(b"/last", close=True))
        return [bodies_of(read_all(client)) for client in clients]

    got = play(lambda server, path: path, act, routes={"/route": b"route"})
    for i, bodies in enumerate(got):
        expected = [b"%d", b"route", b"%d-later", b"route", b"%d-end", b"last"]
        assert bodies == [one % i if b"%" in one else one for one in expected]


def test_one_that_computes_holds_up_no_answer_that_is_there(play):
    """It computes until the others, which came before it, have been answered."""
    stop = []

    def respond(server, path):
        while path == b"compute" and not stop:
            pass
        return path

    def act(server, clients):
        *others, computing = clients
        for client in others:
            client.sendall(ask_for(b"/quick", close=True))
        computing.sendall(ask_for(b"/compute", close=True))
        quick = [bodies_of(read_all(client)) for client in others]
        stop.append(True)
        return quick, bodies_of(read_all(computing))

    quick, computed = play(respond, act)
    assert quick == [[b"quick"]] * (TOGETHER - 1)
    assert computed == [b"compute"]


@pytest.mark.parametrize("play", [by_views, by_views_in_parts, by_handlers], indirect=True)
def test_one_that_waits_holds_up_no_answer(play):
    """Two of them do, behind answers that are kept and before others."""
    done = threading.Event()

    def respond(server, path):
        if path == b"wait":
            loomlet.run_blocking(done.wait)
        return path

    def act(server, clients):
        for i, client in enumerate(clients):
            client.sendall(ask_for(b"/wait" if i in (3, 4) else b"/quick", close=True))
        quick = [bodies_of(read_all(one)) for one in clients[:3] + clients[5:]]
        done.set()
        return quick, [bodies_of(read_all(one)) for one in clients[3:5]]

    quick, waited = play(respond, act)
    assert quick == [[b"quick"]] * (TOGETHER - 2)
    assert waited == [[b"wait"]] * 2


def test_one_that_fails_holds_up_no_answer(play, caplog):
    def respond(server, path):
        if path == b"fail":
            raise ValueError("by intention")
        return path

    def act(server, clients):
        for i, client in enumerate(clients):
            client.sendall(ask_for(b"/fail" if i % 2 else b"/quick", close=True))
        return [read_all(client) for client in clients]

    for i, got in enumerate(play(respond, act)):
        assert got.startswith(b"HTTP/1.1 500" if i % 2 else b"HTTP/1.1 200")
    assert "by intention" in caplog.text


@pytest.mark.parametrize("end", ["reset", "half"])
def test_clients_that_go_away_before_their_answer(play, end):
    def leave(client):
        if end == "half":
            client.shutdown(socket.SHUT_WR)
            return
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()

    def act(server, clients):
        for client in clients:
            client.sendall(ask_for(b"/quick") * 2)
        for client in clients[::2]:
            leave(client)
        for client in clients[1::2]:
            client.sendall(ask_for(b"/last", close=True))
        stay = [bodies_of(read_all(client)) for client in clients[1::2]]
        half = [bodies_of(read_all(client)) for client in clients[::2] if end == "half"]
        for client in clients:
            client.close()
        while server._core._counts()["connections"]:
            loomlet.sleep(0.001)  # until the server has seen the end of each
        return stay, half

    stay, half = play(lambda server, path: path, act)
    assert stay == [[b"quick", b"quick", b"last"]] * (TOGETHER // 2)
    assert all(bodies == [b"quick", b"quick"] for bodies in half)


def test_clients_that_do_not_read(play):
    """What the system does not take waits for each of them; nothing is lost or changes places."""
    rounds, size = 400, 16000

    def respond(server, path):
        return path.ljust(size, b".")

    def act(server, clients):
        for i in range(rounds):
            close = i == rounds - 1
            for client in clients:
                client.sendall(ask_for(b"/%d" % i, close))
            loomlet.schedule()
        return [bodies_of(read_all(client)) for client in clients]

    for bodies in play(respond, act, count=2):
        assert [body.rstrip(b".") for body in bodies] == [b"%d" % i for i in range(rounds)]
        assert {len(body) for body in bodies} == {size}


def test_a_server_that_closes_sends_what_is_there(play):
    """The first closes it while the answer of the one before waits."""

    def respond(server, path):
        if path != b"close":
            return path
        server._core._close()
        return None

    def act(server, clients):
        for client, path in zip(clients, (b"/quick", b"/quick", b"/close"), strict=True):
            client.sendall(ask_for(path))
        return [bodies_of(read_all(client)) for client in clients]

    assert play(respond, act, count=3) == [[b"quick"], [b"quick"], []]


def test_more_than_leave_at_once(play):
    def act(server, clients):
        for i, client in enumerate(clients):
            client.sendall(ask_for(b"/%d" % i, close=True))
        return [bodies_of(read_all(client)) for client in clients]

    assert play(lambda server, path: path, act, count=200) == [[b"%d" % i] for i in range(200)]
