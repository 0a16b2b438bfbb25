"""How a TLS stream verifies its peer: names, authorities, certificates of clients, ALPN."""

import ssl

import pytest

import loomlet
from loomlet import net


@pytest.fixture
def meet(certificates, caught):
    """connect() and a server's first read, as exceptions or results; all is closed."""

    def run(client, server, **options):
        def serve(listener):
            with listener.accept() as stream:
                return stream.receive_some()

        def ask(listener):
            with net.connect(listener.local, tls=client, **options) as stream:
                stream.send_all(b"hello")
                return stream.receive_some()

        with net.listen(("127.0.0.1", 0), tls=server or certificates.server()) as listener:
            tasks = [caught(serve, listener), caught(ask, listener)]
            return [task.result() for task in tasks]

    return run


def test_a_name_that_does_not_match(mode, certificates, meet):
    """SSLCertVerificationError at the client, an alert at the server."""
    server, client = meet(certificates.client(), None, server_hostname="another.example")
    assert isinstance(client, ssl.SSLCertVerificationError)
    assert client.verify_code == 62
    assert isinstance(server, ssl.SSLError)


def test_the_host_is_the_expected_name(mode, certificates, meet):
    """Without server_hostname; an address counts as well as a name."""
    assert meet(certificates.client(), None) == [None, None]
    assert meet(certificates.client(), None, server_hostname="localhost") == [None, None]


def test_an_unknown_authority(mode, certificates, meet):
    """The client does not know the signer and refuses; the server gets an error."""
    server, client = meet(certificates.client("other"), None)
    assert isinstance(client, ssl.SSLCertVerificationError)
    assert isinstance(server, ssl.SSLError)
    assert "UNKNOWN_CA" in str(server)


def test_the_systems_authorities(mode, meet):
    """`tls=True` trusts the system's authorities, which do not include the tests' own."""
    _, client = meet(True, None)
    assert isinstance(client, ssl.SSLCertVerificationError)


def test_a_path_has_no_name(certificates, tmp_path):
    """A UNIX socket needs server_hostname; nothing stays open."""
    path = tmp_path / "socket"
    with net.listen(path, tls=certificates.server()) as listener:
        with pytest.raises(ValueError, match="server_hostname"):
            net.connect(path, tls=certificates.client())
        listener.accept().close()
        task = loomlet.spawn(
            net.connect, path, tls=certificates.client(), server_hostname="localhost"
        )
        with listener.accept() as server:
            server.send_all(b"x")
            with task.result() as client:
                assert client.receive_some() == b"x"


def test_a_client_shows_its_certificate(mode, certificates, meet):
    """A server that demands one gets it."""
    server = certificates.server()
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(certificates.path("authority.pem"))
    client = certificates.client()
    client.load_cert_chain(certificates.path("client.pem"), certificates.path("client.key"))
    with net.listen(("127.0.0.1", 0), tls=server) as listener:
        task = loomlet.spawn(net.connect, listener.local, tls=client)
        with listener.accept() as one:
            with pytest.raises(ValueError, match="handshake"):
                one.peer_certificate()
            one.handshake()
            with task.result() as other:
                assert subject(one) == "client"
                assert subject(other) == "server"
                assert other.peer_certificate(binary_form=True)[:1] == b"\x30"


def subject(stream):
    return stream.peer_certificate()["subject"][0][0][1]


def test_a_client_without_certificate_is_refused(mode, certificates, meet):
    """Its own handshake may be over by then: the first read raises the error."""
    context = certificates.server()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificates.path("authority.pem"))
    server, client = meet(certificates.client(), context)
    assert isinstance(server, ssl.SSLError)
    assert isinstance(client, ssl.SSLError | OSError)


def test_both_ends_agree_on_a_protocol(mode, certificates):
    """ALPN; None for a side that did not ask."""
    server, client = certificates.server(), certificates.client()
    server.set_alpn_protocols(["h2", "http/1.1"])
    client.set_alpn_protocols(["http/1.1"])
    for context, expected in ((client, "http/1.1"), (certificates.client(), None)):
        with net.listen(("127.0.0.1", 0), tls=server) as listener:
            task = loomlet.spawn(net.connect, listener.local, tls=context)
            with listener.accept() as one:
                one.handshake()
                with task.result() as other:
                    found = [one.selected_alpn_protocol(), other.selected_alpn_protocol()]
                    assert found == [expected, expected]


def test_a_server_chooses_by_name(mode, certificates, meet):
    """A callback of OpenSSL runs in the tasklet that performs the handshake, and may wait."""
    names = []

    def choose(_stream, name, _context):
        loomlet.schedule()
        names.append(name)

    context = certificates.server()
    context.sni_callback = choose
    assert meet(certificates.client(), context, server_hostname="localhost") == [None, None]
    assert names == ["localhost"]


def test_a_peer_that_does_not_speak_tls(mode, certificates):
    """It gets an error at the first use, each time."""
    one, other = net.pair()
    with one, net.TLSStream(other, certificates.server(), server_side=True) as stream:
        one.send_all(b"GET / HTTP/1.0\r\n\r\n")
        for _ in range(2):
            with pytest.raises(ssl.SSLError, match=r"(?i)http.request"):
                stream.receive_some()
        with pytest.raises(ssl.SSLError, match=r"(?i)http.request"):
            stream.send_all(b"x")


def test_ssl_is_loaded_with_the_first_tls(python):
    """Programs without TLS do without the module."""
    done = python(
        """
        import sys
        from loomlet import net

        print("ssl" in sys.modules, net.TLSStream.__name__, "ssl" in sys.modules)
        try:
            net.nothing
        except AttributeError as error:
            print(error)
        """
    )
    expected = "False TLSStream True\nmodule 'loomlet.net' has no attribute 'nothing'\n"
    assert (done.stdout, done.stderr) == (expected, "")
