"""Keywords do not make a blocking call hard."""

import pytest

import loomlet
from loomlet import Channel

CALLS = {
    "join(timeout=None)": lambda ch, other: other.join(timeout=None),
    "join(timeout=9)": lambda ch, other: other.join(timeout=9),
    "result(timeout=9)": lambda ch, other: other.result(timeout=9),
    "select(c, timeout=None)": lambda ch, other: loomlet.select([ch], timeout=None),
    "select(c, timeout=9)": lambda ch, other: loomlet.select((ch,), timeout=9),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_with_keywords_suspends_softly(call, switches, clock):
    """A call with keywords suspends without a C stack, cold and warm."""
    for _ in range(20):
        ch, other = Channel(), loomlet.spawn(lambda: 1).remove()
        task = loomlet.spawn(call, ch, other)
        switches.take()
        loomlet.schedule()
        assert switches.take() == (1, 0)
        task.kill()
