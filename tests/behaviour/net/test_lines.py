"""Stream.lines(): what arrives, line by line."""

import pytest

from loomlet import spawn


def send(stream, *parts):
    for part in parts:
        stream.send_all(part)
    stream.send_eof()


@pytest.mark.parametrize(
    ("sent", "lines"),
    [
        ([], []),
        ([b"one\n"], [b"one"]),
        ([b"one\r\ntwo\n"], [b"one", b"two"]),
        ([b"o", b"ne", b"\n\nth", b"ree\r", b"\n"], [b"one", b"", b"three"]),
        ([b"no end"], [b"no end"]),
        ([b"a\nno end\r"], [b"a", b"no end\r"]),
        ([b"a\rb\n"], [b"a\rb"]),
    ],
)
def test_lines_in_any_parts(streams, sent, lines):
    one, other = streams
    spawn(send, one, *sent)
    assert list(other.lines()) == lines


def test_the_longest_line(streams):
    one, other = streams
    spawn(send, one, b"x" * 10 + b"\n")
    assert list(other.lines(max_bytes=10)) == [b"x" * 10]


@pytest.mark.parametrize("sent", [b"x" * 11 + b"\n", b"x" * 11, b"a\n" + b"x" * 11])
def test_a_line_that_is_too_long(streams, sent):
    one, other = streams
    spawn(send, one, sent)
    with pytest.raises(ValueError, match="expected lines of at most 10 bytes, found one of 11"):
        list(other.lines(10))


def test_what_follows_a_line_can_be_read_by_the_same_iterator(streams):
    """It keeps what it has received: another reader begins behind that."""
    one, other = streams
    spawn(send, one, b"a\nb\nc\n")
    lines = other.lines()
    assert next(lines) == b"a"
    assert list(lines) == [b"b", b"c"]


def test_lines_over_tls(tls_pair):
    one, other = tls_pair()
    spawn(send, one, b"one\r\ntwo\nthree")
    assert list(other.lines()) == [b"one", b"two", b"three"]
