"""TLS connections of the ssl module: handshake, read, write and end, while others run."""

import shutil
import socket
import ssl
import subprocess
import threading

import pytest
from helpers_original_errors import errors_of

import loomlet
from loomlet import patch


@pytest.fixture(scope="module")
def contexts(tmp_path_factory):
    """(for a server, for a client that trusts it), made before anything is patched."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl command on this machine to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    key, certificate = str(folder / "key"), str(folder / "certificate")
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command += ["-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert not patch.installed()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=certificate)


@pytest.fixture(params=["TLSv1_2", "TLSv1_3"])
def secured(request, contexts, sockets):
    """Two ends of a connection, the client's first, of each version of TLS."""
    server, client = contexts
    client.maximum_version = getattr(ssl.TLSVersion, request.param)
    one, other = sockets
    task = loomlet.spawn(server.wrap_socket, other, server_side=True)
    mine = client.wrap_socket(one, server_hostname="localhost")
    theirs = task.result()
    with mine, theirs:
        yield mine, theirs


def test_both_ends_in_one_thread(mode, secured, busy, talk):
    """Each byte arrives, and a third tasklet runs in between."""
    task = talk(*secured)
    assert busy[0] > 50
    task.kill()


def test_much_to_a_slow_reader(secured):
    """sendall waits for room again and again."""
    mine, theirs = secured
    message = bytes(range(256)) * 20_000
    task = loomlet.spawn(mine.sendall, message)
    got = bytearray()
    buffer = bytearray(10_000)
    while len(got) < len(message):
        got += buffer[: theirs.recv_into(buffer)]
        loomlet.schedule()
    task.join()
    assert got == message


def test_the_end_is_agreed_upon(mode, secured):
    """unwrap() by both, and the plain sockets continue to work."""
    mine, theirs = secured
    task = loomlet.spawn(theirs.unwrap)
    with mine.unwrap() as one, task.result() as other:
        other.sendall(b"plain")
        assert one.recv(5) == b"plain"


def texts(act):
    """Type and text of what `act` raises, unpatched and then patched."""
    return [(type(error), str(error)) for error in errors_of(act, kind=TimeoutError)]


def test_a_timeout_while_reading(secured):
    """The socket's own; the connection stays usable."""
    mine, theirs = secured
    mine.settimeout(0.01)
    stock, ours = texts(lambda: mine.recv(1))
    assert stock == ours
    assert mine.gettimeout() == 0.01
    mine.settimeout(None)
    theirs.sendall(b"later")
    assert mine.recv(5) == b"later"


def test_a_timeout_while_writing(secured):
    """The same."""
    mine, _ = secured
    mine.settimeout(0.01)
    stock, ours = texts(lambda: mine.sendall(bytes(10_000_000)))
    assert stock == ours


def test_a_timeout_in_the_handshake(contexts):
    """The same, with a peer that says nothing."""

    def act():
        one, other = socket.socketpair()
        with one, other:
            one.settimeout(0.01)
            contexts[1].wrap_socket(one, server_hostname="localhost")

    stock, ours = texts(act)
    assert stock == ours


def test_a_timeout_at_the_end(secured):
    """The same, with a peer that does not answer."""
    mine, _ = secured
    mine.settimeout(0.01)
    with pytest.raises(TimeoutError, match="The read operation timed out"):
        loomlet.spawn(mine.unwrap).result()


def test_by_the_clock_of_the_scheduler(clock, secured):
    """Virtual, if it is."""
    mine, _ = secured
    mine.settimeout(5)
    with pytest.raises(TimeoutError, match="The read operation timed out"):
        loomlet.spawn(mine.recv, 1).result()
    assert clock() == 5.0


def test_a_connection_that_does_not_wait(secured):
    """SSLWantReadError, without a switch."""
    mine, _ = secured
    mine.setblocking(False)
    beside = loomlet.spawn(lambda: None)
    with pytest.raises(ssl.SSLWantReadError):
        mine.recv(1)
    assert beside.state == "runnable"


def test_nothing_of_it_is_seen_from_outside(secured):
    """While a tasklet waits, timeout and mode are as the user set them."""
    mine, _ = secured
    for timeout in (None, 7.5):
        mine.settimeout(timeout)
        task = loomlet.spawn(mine.recv, 1)
        loomlet.schedule()
        assert task.waiting_for is mine
        assert mine.gettimeout() == timeout
        task.kill()


@pytest.mark.parametrize("end", ["kill", "throw", "timeout", "cancel"])
def test_a_wait_can_be_ended(mode, secured, caught, end):
    """And the connection stays usable."""
    mine, theirs = secured
    scope = loomlet.CancelScope()

    def body():
        with scope:
            mine.recv(1)

    task = caught(body)
    loomlet.schedule()
    if end == "kill":
        task.kill()
    elif end == "throw":
        task.throw(KeyError("x"))
    elif end == "timeout":
        scope.deadline = loomlet.now()
    else:
        scope.cancel()
    if end != "kill":
        task.join()
    theirs.sendall(b"later")
    assert mine.recv(5) == b"later"


def test_a_close_by_another(mode, secured, caught):
    """OSError EBADF for the reader."""
    mine, _ = secured
    task = caught(mine.recv, 1)
    loomlet.schedule()
    mine.close()
    error = task.result()
    assert isinstance(error, OSError)
    assert error.errno == 9


def test_a_memory_bio_never_waits(contexts):
    """asyncio is built on it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = contexts[1].wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        loomlet.spawn(client.do_handshake).result()
    assert outgoing.pending


def test_a_wrong_name_is_refused(contexts, sockets, caught):
    """The error of the handshake is the library's."""
    one, other = sockets
    task = caught(lambda: contexts[0].wrap_socket(other, server_side=True).close())
    with pytest.raises(ssl.SSLCertVerificationError):
        contexts[1].wrap_socket(one, server_hostname="elsewhere.test")
    task.join()


def test_a_plain_thread_is_the_peer(contexts, sockets, busy):
    """The originals wait there as usual, while the tasklets of this thread run."""
    one, other = sockets

    def run():
        with contexts[0].wrap_socket(other, server_side=True) as theirs:
            while data := theirs.recv(100):
                theirs.sendall(data.upper())
            theirs.unwrap().close()

    thread = threading.Thread(target=run)
    thread.start()
    with contexts[1].wrap_socket(one, server_hostname="localhost") as mine:
        for n in range(10):
            mine.sendall(b"hello %d" % n)
            assert mine.recv(100) == b"HELLO %d" % n
        mine.unwrap().close()
    thread.join()
    assert busy[0] > 0
