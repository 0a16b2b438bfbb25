"""Each allocation of a wait fails in turn: MemoryError, and the stream continues."""

import pytest

import loomlet
from loomlet import _core, net


def attempt(count, operation):
    """Runs it with the count-th allocation failing: whether that one was reached."""
    _core._fail_allocation(count)
    try:
        operation()
    except MemoryError:
        pass
    finally:
        left = _core._fail_allocation(0)
    return left == 0


@pytest.mark.parametrize("count", range(1, 6))
def test_a_wait_without_memory_is_an_error(pair, count):
    """Nothing is queued then, and the next wait works."""
    one, other = pair

    def wait():
        with pytest.raises(TimeoutError), loomlet.timeout(0.001):
            one.receive_some()

    attempt(count, wait)
    other.send_all(b"data")
    assert one.receive_some() == b"data"
    task = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    other.send_all(b"more")
    assert task.result() == b"more"


@pytest.mark.parametrize("count", range(1, 4))
def test_a_lookup_without_memory_is_an_error(count):
    """No tasklet keeps waiting, and the next lookup works."""
    attempt(count, lambda: loomlet.spawn(net.resolve, "localhost", 80).result())
    assert net.resolve("localhost", 80)


def test_a_stream_without_memory_leaves_its_descriptor():
    """The caller still owns the number."""
    one, other = net.pair()
    fd = one.detach()
    _core._fail_allocation(1)
    with pytest.raises(MemoryError):
        net.Stream(fd)
    _core._fail_allocation(0)
    net.Stream(fd).close()
    other.close()
