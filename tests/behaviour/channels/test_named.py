"""Channel(name=...) is the process's channel of that name."""

import gc
import threading
import uuid
import weakref

import pytest

from loomlet import Channel


@pytest.fixture
def name():
    name = f"test-{uuid.uuid4()}"
    yield name
    Channel(name=name).close()


def test_the_same_name_is_the_same_channel(name):
    """The channel is made on first use and found afterwards, from any thread."""
    ch = Channel(name=name)
    assert ch.name == name
    assert Channel(name=name) is ch
    found = []
    thread = threading.Thread(target=lambda: found.append(Channel(name=name)))
    thread.start()
    thread.join()
    assert found == [ch]


def test_a_channel_without_name_is_always_new():
    """Channels without name are their own."""
    assert Channel() is not Channel()
    assert Channel().name is None
    assert Channel(name=None).name is None


def test_another_capacity_is_an_error(name):
    """A named channel is found with the same capacity or with none given; else ValueError."""
    ch = Channel(4, name=name)
    assert Channel(name=name) is ch
    assert Channel(4, name=name) is ch
    with pytest.raises(ValueError, match="exists with capacity 4, and capacity 5 was asked for"):
        Channel(5, name=name)
    with pytest.raises(ValueError, match="capacity 0 was asked for"):
        Channel(0, name=name)


def test_the_registry_holds_it_until_close(name):
    """A named channel stays though nothing else refers to it; close() takes the name back."""
    seen = weakref.ref(Channel(3, name=name))
    gc.collect()
    assert seen() is not None
    ch = seen()
    ch.send("kept")
    ch.close()
    other = Channel(5, name=name)
    assert other is not ch
    assert ch.receive() == "kept"
    del ch
    assert seen() is None


def test_closing_an_old_one_leaves_the_new_one(name):
    """A second close() of a channel that lost its name does not touch its successor."""
    old = Channel(name=name)
    old.close()
    new = Channel(name=name)
    old.close()
    assert Channel(name=name) is new


@pytest.mark.parametrize("wrong", [3, b"bytes", ("a",)])
def test_a_name_is_a_str(wrong):
    """Anything else is a TypeError."""
    with pytest.raises(TypeError, match="must be a str"):
        Channel(name=wrong)


def test_it_shows_in_repr(name):
    """The name is part of repr()."""
    assert repr(name) in repr(Channel(name=name))
