"""Bytes that are damaged, foreign or wrongly signed are refused, and the error says why."""

import random

import pytest

import loomlet
from loomlet import ThawError
from loomlet.snapshot import _envelope

KEY = b"a secret of this test"


def wait(ch):
    return ch.receive()


@pytest.fixture(params=[None, KEY], ids=["plain", "signed"])
def key(request):
    """Without a signature and with one."""
    return request.param


@pytest.fixture
def data(key):
    """A tasklet that has not started, which can be frozen everywhere."""
    task = loomlet.spawn(wait, loomlet.Channel()).remove()
    yield loomlet.freeze(task, key=key)
    task.kill()


def test_it_comes_back(data, key):
    """Whole bytes with the right key."""
    task = loomlet.thaw(data, key=key)
    assert task.state == "paused"
    task.insert()
    loomlet.schedule()
    task.waiting_for.send("value")
    assert task.result() == "value"


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_kinds_of_bytes(data, key, kind):
    """Any object with a buffer of bytes is accepted."""
    loomlet.thaw(kind(data), key=key).kill()


def test_cut_short(data, key):
    """At every length."""
    for length in range(len(data)):
        with pytest.raises(ThawError):
            loomlet.thaw(data[:length], key=key)


def test_bytes_appended_to_the_end(data, key):
    """More bytes than were frozen."""
    with pytest.raises(ThawError, match="changed or cut short"):
        loomlet.thaw(data + b"x", key=key)


def test_every_flipped_bit(data, key):
    """One bit anywhere."""
    for place in range(8 * len(data)):
        wrong = bytearray(data)
        wrong[place // 8] ^= 1 << place % 8
        with pytest.raises(ThawError):
            loomlet.thaw(bytes(wrong), key=key)


def test_random_bytes():
    """Noise, with and without the header of the format."""
    noise = random.Random(7)
    for length in (0, 1, 8, 9, 13, 40, 400):
        for head in (b"", b"LMLT"):
            with pytest.raises(ThawError):
                loomlet.thaw(head + noise.randbytes(length))


def test_sealed_noise():
    """A valid envelope around noise: pickle's errors become ThawError."""
    noise = random.Random(8)
    for _ in range(300):
        payload = (
            noise.choice([b"", b"h\x00", b"(", b"K\x01\x85", b"N"]) + noise.randbytes(6) + b"."
        )
        with pytest.raises(ThawError):
            loomlet.thaw(_envelope.seal(payload, None))


def test_sealed_values_that_are_no_tasklet():
    """A payload must be a tasklet or a list of them."""
    for payload in (b"N.", b"K\x01.", b"]K\x01a."):
        with pytest.raises(ThawError, match="these bytes do not hold tasklets"):
            loomlet.thaw(_envelope.seal(payload, None))


def test_keys():
    """Missing, wrong, or given for bytes without a signature."""
    task = loomlet.spawn(wait, None).remove()
    signed, plain = loomlet.freeze(task, key=KEY), loomlet.freeze(task)
    with pytest.raises(ThawError, match="are signed; give the key="):
        loomlet.thaw(signed)
    with pytest.raises(ThawError, match="the key is wrong"):
        loomlet.thaw(signed, key=KEY + b"!")
    with pytest.raises(ThawError, match="these bytes are not signed"):
        loomlet.thaw(plain, key=KEY)
    with pytest.raises(TypeError, match="expected a key of bytes"):
        loomlet.freeze(task, key="text")
    with pytest.raises(ValueError, match="not empty"):
        loomlet.freeze(task, key=b"")
    task.kill()
    with pytest.raises(TypeError, match="expected frozen bytes"):
        loomlet.thaw("text")


@pytest.mark.parametrize(
    ("place", "says"),
    [(4, "format 2"), (5, "free-threaded"), (6, r"CPython 3\.\d+"), (7, "bytecode")],
)
def test_another_python(place, says):
    """Format, build, minor version and bytecode are named."""
    task = loomlet.spawn(wait, None).remove()
    data = bytearray(loomlet.freeze(task))
    task.kill()
    data[place] ^= 3 if place == 4 else 2 if place == 5 else 1
    with pytest.raises(ThawError, match=says):
        loomlet.thaw(bytes(data))
