"""What a server allows: requests at once, sizes, times."""

import gc

import pytest

import loomlet
from loomlet.http import Limits
from loomlet.testing import virtual_clock

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CLOSE = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def status_of(answer):
    return answer[9:12]


def test_requests_beyond_the_limit_queue(site):
    """At most so many run at once, and all are answered."""
    running, most = [], []

    def handler(request):
        running.append(1)
        most.append(len(running))
        loomlet.sleep(0.01)
        running.pop()
        return "done"

    def main():
        here = site(handler, limits=Limits(concurrency=3))
        with loomlet.timeout(20):
            return loomlet.map(lambda _: here.ask(CLOSE), range(20))

    answers = loomlet.run(main)
    assert [status_of(a) for a in answers] == [b"200"] * 20
    assert max(most) == 3


def test_beyond_the_queue_they_are_refused(site):
    go_on = loomlet.Event()

    def handler(request):
        go_on.wait()
        return "done"

    def main():
        here = site(handler, limits=Limits(concurrency=1, queue=2), routes={"/fixed": "fixed"})
        with loomlet.timeout(20):
            tasks = [loomlet.spawn(here.ask, CLOSE) for _ in range(3)]
            while here.server.counts()["queued"] < 2:
                loomlet.sleep(0.001)
            refused = here.ask(CLOSE)
            fixed = here.ask(CLOSE.replace(b"/ ", b"/fixed "))
            go_on.set()
            return refused, fixed, [task.result() for task in tasks]

    refused, fixed, answers = loomlet.run(main)
    assert status_of(refused) == b"503"
    assert b"Retry-After: 1\r\n" in refused
    assert status_of(fixed) == b"200"  # what a route answers never queues
    assert [status_of(a) for a in answers] == [b"200"] * 3


def test_a_queue_keeps_the_order_of_one_connection(site):
    seen = []

    def handler(request):
        seen.append(request.path)
        loomlet.sleep(0.002)
        return "done"

    def main():
        here = site(handler, limits=Limits(concurrency=1))
        with loomlet.timeout(20):
            data = b"".join(GET.replace(b"/ ", b"/%d " % n) for n in range(5)) + CLOSE
            other = loomlet.spawn(here.ask, CLOSE)
            answer = here.ask(data)
            other.join()
            return answer

    assert loomlet.run(main).count(b"HTTP/1.1 200") == 6
    assert [path for path in seen if path != "/"] == [f"/{n}" for n in range(5)]


def test_clients_that_leave_the_queue(site):
    """They are not answered, and nobody waits for them."""
    go_on = loomlet.Event()
    calls = []

    def handler(request):
        calls.append(request.path)
        go_on.wait()
        return "done"

    def main():
        here = site(handler, limits=Limits(concurrency=1))
        with loomlet.timeout(20):
            first = loomlet.spawn(here.ask, CLOSE)
            while not calls:
                loomlet.sleep(0.001)
            streams = [here.connect() for _ in range(5)]
            for stream in streams:
                stream.send_all(GET.replace(b"/ ", b"/left "))
            last = loomlet.spawn(here.ask, CLOSE.replace(b"/ ", b"/last "))
            while here.server.counts()["queued"] < 6:
                loomlet.sleep(0.001)
            for stream in streams:
                stream.close()
            go_on.set()
            return status_of(first.result()), status_of(last.result())

    assert loomlet.run(main) == (b"200", b"200")
    assert calls[-1] == "/last"


def test_a_body_that_is_too_large(site):
    """Said before: it is never read.  In chunks: as soon as it is too much."""

    def main():
        here = site(lambda request: request.read(), limits=Limits(request_body=10))
        with loomlet.timeout(20):
            said = here.ask(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n")
            chunks = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            grown = here.ask(chunks + b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
            allowed = here.ask(chunks + b"a\r\nhelloworld\r\n0\r\n\r\n" + CLOSE)
            return status_of(said), status_of(grown), allowed.count(b"200 OK")

    assert loomlet.run(main) == (b"413", b"413", 2)


@pytest.mark.parametrize(
    ("request_", "stays"),
    [
        (GET, True),
        (CLOSE, False),
        (GET.replace(b"1.1", b"1.0"), False),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody", False),
    ],
    ids=["usual", "close", "1.0", "with-a-body"],
)
def test_who_is_refused_may_ask_again_on_the_connection(site, request_, stays):
    """Where the server knows where the next request begins."""
    go_on = loomlet.Event()

    def handler(request):
        go_on.wait()
        return "done"

    def main():
        here = site(handler, limits=Limits(concurrency=1, queue=0))
        with loomlet.timeout(20), here.connect() as stream:
            first = loomlet.spawn(here.ask, CLOSE)
            while here.server.counts()["busy"] < 1:
                loomlet.sleep(0.001)
            stream.send_all(request_)
            refused = stream.receive_some()
            go_on.set()
            first.join()
            if stays:
                stream.send_all(CLOSE)
            return refused, b"".join(stream)

    refused, after = loomlet.run(main)
    assert status_of(refused) == b"503"
    assert (b"Connection: close\r\n" in refused) is not stays
    assert after[9:12] == (b"200" if stays else b"")


@pytest.mark.parametrize("gives_up", [True, False])
def test_a_body_that_does_not_come(site, gives_up):
    """It ends the connection while somebody waits for it, not when he has given up."""

    def handler(request):
        with loomlet.move_on_after(1 if gives_up else 100):
            request.read()
        loomlet.sleep(60)
        return "done"

    def main():
        here = site(handler)
        with here.connect() as stream, loomlet.timeout(200):
            stream.send_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nsome")
            return stream.receive_some()[9:12]

    with virtual_clock():
        assert loomlet.run(main) == (b"200" if gives_up else b"")


def test_an_idle_connection_ends(site):
    def main():
        here = site(lambda request: "", limits=Limits(keep_alive=1))
        with here.connect() as stream, loomlet.timeout(20):
            stream.send_all(GET)
            answer = stream.receive_some()
            return answer[:12], b"".join(stream)  # it ends after a second or two

    assert loomlet.run(main) == (b"HTTP/1.1 200", b"")


def test_a_connection_that_goes_on_asking_does_not_end(site):
    """With fixed answers, too: it becomes idle only after the last one."""

    def main():
        here = site(lambda request: "", routes={"/fixed": "fixed"}, limits=Limits(keep_alive=10))
        with here.connect() as stream, loomlet.timeout(200):
            for _ in range(5):
                stream.send_all(GET.replace(b"/ ", b"/fixed ", 1))
                assert stream.receive_some().endswith(b"fixed")
                loomlet.sleep(6)
            return b"".join(stream)

    with virtual_clock():
        assert loomlet.run(main) == b""


def test_a_head_that_drips_is_cut_off(site):
    """Bytes that come do not extend its time."""

    def main():
        here = site(lambda request: "", limits=Limits(head=1))
        with here.connect() as stream, loomlet.timeout(20):
            dripping = loomlet.spawn(drip, stream)
            answer = b"".join(stream)
            dripping.kill()
            return answer

    def drip(stream):
        for byte in GET * 100:
            stream.send_all(bytes([byte]))
            loomlet.sleep(0.2)  # ten seconds for a head

    assert status_of(loomlet.run(main)) == b"408"


def test_a_request_that_takes_too_long(site, caplog):
    """It is killed and answered; its `finally` blocks run."""
    ended = []

    def handler(request):
        try:
            loomlet.sleep(60)
        finally:
            ended.append(True)

    def main():
        here = site(handler, limits=Limits(request=1))
        with loomlet.timeout(20):
            return here.ask(GET)

    answer = loomlet.run(main)
    assert status_of(answer) == b"504"
    assert ended == [True]
    assert "GET / has run for more than 1 s and is killed in" in caplog.text
    assert "in test_a_request_that_takes_too_long.<locals>.handler" in caplog.text


def test_a_slow_request_is_reported_while_it_runs(site, caplog):
    def handler(request):
        while "has run for more than" not in caplog.text:
            pass  # it computes: time slices let others run
        return "reported"

    def main():
        here = site(handler, limits=Limits(slow=1))
        with loomlet.timeout(20):
            return here.ask(CLOSE)

    assert loomlet.run(main).endswith(b"reported")
    assert "in test_a_slow_request_is_reported_while_it_runs.<locals>.handler" in caplog.text


def test_a_full_server_closes_idle_connections_for_new_ones(site):
    """And at no time has it more than it may have."""

    def main():
        here = site(lambda request: "done", limits=Limits(connections=3))
        counts = set()
        with loomlet.timeout(20):
            idle = [here.connect() for _ in range(10)]
            answers = []
            loomlet.spawn(lambda: answers.append(here.ask(CLOSE)))
            while not answers:
                counts.add(here.server.counts()["connections"])
                loomlet.sleep(0.001)
            for stream in idle:
                stream.close()
        return answers[0], counts

    answer, counts = loomlet.run(main)
    assert status_of(answer) == b"200"
    assert max(counts) == 3


def test_stopping_finishes_what_was_begun(site):
    """Nothing is lost: neither what runs, nor what was connected and has not asked yet."""

    def handler(request):
        loomlet.sleep(0.05)
        return "done"

    def main():
        here = site(handler)
        with loomlet.timeout(20):
            busy = loomlet.spawn(here.ask, GET)
            early = here.connect()
            while here.server.counts()["busy"] == 0:
                loomlet.sleep(0.001)
            stopping = loomlet.spawn(here.server.stop)
            loomlet.sleep(0)
            early.send_all(GET)
            answers = busy.result(), b"".join(early)
            early.close()
            stopping.join()
            return answers

    for answer in loomlet.run(main):
        assert status_of(answer) == b"200"
        assert b"Connection: close\r\n" in answer


def test_a_server_is_started_once(site):
    """What it does meanwhile goes on."""

    def main():
        here = site(lambda request: "done")
        with loomlet.timeout(20):
            with pytest.raises(RuntimeError, match="once"):
                here.server.start()
            answer = here.ask(CLOSE)
            here.server.close()
            with pytest.raises(RuntimeError, match="once"):
                here.server.start()
            loomlet.sleep(0.01)
            return answer

    assert status_of(loomlet.run(main)) == b"200"


@pytest.mark.parametrize("wait", [True, False])
def test_closing_below_requests_that_run(site, wait):
    """Their clients are cut off, and so are they when they wait for them; else they go on."""
    ended, go_on = [], loomlet.Event()

    def handler(request):
        try:
            if wait:
                request.read()
            go_on.wait()
            return "done"
        finally:
            ended.append(request.path)

    def main():
        here = site(handler)
        with loomlet.timeout(20):
            data = GET.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n")
            asking = [loomlet.spawn(here.ask, data) for _ in range(3)]
            while here.server.counts()["busy"] < 3:
                loomlet.sleep(0.001)
            here.server.close()
            go_on.set()
            return [task.result() for task in asking]

    assert loomlet.run(main) == [b""] * 3
    gc.collect()
    assert len(ended) == 3
