"""settrace, setprofile and sys.monitoring may be on, or be turned on and off, at any moment."""

import sys

import pytest

import loomlet
from loomlet import Channel


def nest(depth, ch):
    return ch.receive() if depth == 0 else nest(depth - 1, ch) + 1


def generate(ch):
    for _ in range(2):
        yield ch.receive()


def body(ch):
    total = nest(5, ch)
    for value in generate(ch):
        total += value
    for value in ch:
        total += value
    return total + sorted([1], key=lambda v: loomlet.schedule() or v)[0]


def drive(count, on, off):
    """Runs `count` tasklets; turns the tool on and off between their suspensions."""
    channels = [Channel() for _ in range(count)]
    tasks = [loomlet.spawn(body, ch) for ch in channels]
    for turn in range(5):
        on() if turn % 2 else off()
        loomlet.schedule()
        for ch in channels:
            ch.send(10) if turn < 4 else ch.close()
    on()
    results = [task.result() for task in tasks]
    off()
    return results


class Tool:
    events = 0

    def see(self, *args):
        Tool.events += 1
        return self.see


def trace():
    return lambda: sys.settrace(Tool().see), lambda: sys.settrace(None)


def profile():
    return lambda: sys.setprofile(Tool().see), lambda: sys.setprofile(None)


def monitoring():
    if not hasattr(sys, "monitoring"):
        pytest.skip("this interpreter has no sys.monitoring")
    tool, events = sys.monitoring.PROFILER_ID, sys.monitoring.events
    wanted = (events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD
              | events.CALL | events.LINE | events.INSTRUCTION | events.JUMP)  # fmt: skip

    def on():
        if sys.monitoring.get_tool(tool) is None:
            sys.monitoring.use_tool_id(tool, "test")
            for n in range(8):
                sys.monitoring.register_callback(tool, 1 << n, Tool().see)
            sys.monitoring.set_events(tool, wanted)

    def off():
        if sys.monitoring.get_tool(tool) is not None:
            sys.monitoring.set_events(tool, 0)
            sys.monitoring.free_tool_id(tool)

    return on, off


@pytest.fixture(params=[trace, profile, monitoring], ids=lambda make: make.__name__)
def tool(request):
    Tool.events = 0
    before = sys.gettrace(), sys.getprofile()
    on, off = request.param()
    yield on, off
    off()
    sys.settrace(before[0])
    sys.setprofile(before[1])


def test_toggled_while_tasklets_sleep(tool, mode):
    """Turning a tool on and off while tasklets are suspended changes no result."""
    assert drive(20, *tool) == [46] * 20
    assert Tool.events > 0


def test_on_all_the_time(tool, mode):
    """With a tool on from start to end every result is right."""
    on, _ = tool
    on()
    assert drive(5, on, lambda: None) == [46] * 5


def test_turned_on_by_the_tasklet_itself(tool, mode):
    """A tasklet may turn a tool on before it blocks and off after it."""
    on, off = tool

    def self_traced(ch):
        on()
        value = nest(3, ch)
        off()
        return value + nest(3, ch)

    for _ in range(3):
        ch = Channel()
        task = loomlet.spawn(self_traced, ch)
        for value in (10, 20):
            loomlet.schedule()
            ch.send(value)
        assert task.result() == 36


def test_kill_and_throw_while_a_tool_is_on(tool, mode):
    """Exceptions reach suspended tasklets when a tool was turned on or off meanwhile."""
    on, off = tool
    for turn_on_late in (False, True):
        channels = [Channel() for _ in range(10)]
        off() if turn_on_late else on()
        tasks = [loomlet.spawn(body, ch) for ch in channels]
        loomlet.schedule()
        on() if turn_on_late else off()
        for n, task in enumerate(tasks):
            task.kill() if n % 2 else task.throw(loomlet.TaskletExit)
            assert task.state == "done"
        off()
