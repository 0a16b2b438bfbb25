"""Tasklets and channels in ordinary pickles, by every pickler, in every protocol."""

import ast
import contextlib
import copyreg
import pickle
import subprocess
import sys
import types

import cloudpickle
import pytest
from helpers_frozen_tasklets import resumed, waiting

import loomlet
from loomlet import Channel, snapshot
from loomlet.snapshot._copyreg_support import unboxed

# A tasklet that has been pickled is dropped where it waits.
pytestmark = pytest.mark.filterwarnings(
    "ignore:tasklet .* was collected while blocked:ResourceWarning"
)

PICKLERS = {"c": pickle.dumps, "python": pickle._dumps, "cloudpickle": cloudpickle.dumps}
EVERY = [
    (name, protocol)
    for name in PICKLERS
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    if name != "cloudpickle" or protocol >= 2
]


@pytest.fixture(params=EVERY, ids=lambda way: f"{way[0]}-{way[1]}")
def through(request):
    """There and back."""
    name, protocol = request.param
    return lambda value: pickle.loads(PICKLERS[name](value, protocol))


def numbers(ch):
    for _ in range(2):
        yield ch.receive()


def body(ch, extra):
    total = 0

    def add(n):
        nonlocal total
        total += n
        return total

    add(10)
    seen = []
    for number in numbers(ch):
        seen.append(add(number))
    return seen, total, extra


def test_a_tasklet(through):
    """Loaded paused; it continues when it is inserted, with the cells of its closure shared."""
    ch, extra = Channel(), ["extra"]
    task = waiting(body, ch, extra)
    ch.send(1)
    task.remove()
    copy, also = through((task, extra))
    assert copy.state == "paused"
    copy.insert()
    loomlet.schedule()
    assert copy.waiting_for is not ch
    seen, total, mine = resumed(copy, 5)
    assert (seen, total) == ([11, 16], 16)
    assert mine is also


def test_a_tasklet_that_has_not_begun(through):
    """With its arguments."""
    copy = through(loomlet.spawn(divmod, 17, 5).remove())
    assert copy.state == "paused"
    assert copy.insert().result() == (3, 2)


def test_channels(through):
    """Values and settings; the same channel in two places stays one."""
    ch = Channel(3)
    ch.send("a")
    ch.preference = 1
    one, other = through((ch, {"x": ch}))
    assert other["x"] is one
    assert (one.capacity, one.preference, one.receive(), len(one)) == (3, 1, "a", 0)
    assert len(ch) == 1


def test_several_share(through):
    """One pickle keeps what two tasklets share."""
    ch = Channel()
    first, second = (waiting(body, ch, ch) for _ in range(2))
    ch.send(1)
    ch.send(2)
    pair = through((first.remove(), second.remove()))
    for task in pair:
        task.insert()
    loomlet.schedule()
    assert pair[0].waiting_for is pair[1].waiting_for


def test_what_cannot_be_pickled():
    """The same errors as freeze()."""
    task = waiting(lambda ch: max([1, 2], key=lambda n: ch.receive()), Channel())
    with pytest.raises(loomlet.FreezeError, match="waits for C: <built-in function max>"):
        pickle.dumps(task)
    task.kill()


def test_channels_with_waiting_tasklets(through):
    """They wait again, in their order; a tasklet pickled with its own channel is loaded paused."""
    ch = Channel()
    first, second = (waiting(body, ch, name) for name in ("first", "second"))
    copy = through(ch)
    assert copy.balance == -2
    for n in range(4):
        copy.send(n)
        loomlet.schedule()
    assert copy.balance == 0
    assert through(first).state == "paused"
    assert ch.balance == -2
    first.kill()
    second.kill()


def sends(ch, value):
    return ch.send(value)


def test_senders(through):
    """With what they send."""
    ch = Channel()
    task = waiting(sends, ch, ["value"])
    copy = through(ch)
    assert (copy.balance, copy.receive(), copy.balance) == (1, ["value"], 0)
    alone = through(task)
    assert alone.insert().result() is None
    task.kill()


def test_a_channel_with_a_name(through):
    """The name stands for this process's channel; its waiting tasklets are not pickled."""
    ch = Channel(name="pickled by name")
    task = waiting(body, ch, None)
    assert through(ch) is ch
    assert ch.balance == -1
    task.kill()
    ch.close()


@pytest.mark.parametrize("kind", [Channel, loomlet.Tasklet])
def test_the_state(kind):
    """As Stackless has it; the first part of a tasklet says how it was blocked."""
    ch = Channel()
    task = waiting(body, ch, None)
    state = (task if kind is loomlet.Tasklet else ch).__reduce__()[2]
    if kind is Channel:
        assert state == (-1, 0, [task])
    else:
        assert (*state[:3], len(state[3])) == (0b11, None, 0, 2)
        assert state[4:7] == (None, None, None)
        assert unboxed(state[7]).__name__ == numbers.__name__  # boxed until Stackless is imported
    task.kill()


def test_an_exception_to_be_raised(through):
    """It comes along, and is raised when the copy continues."""
    ch = Channel()
    task = waiting(body, ch, None)
    ch.close()
    copy = through(task.remove())
    with pytest.raises(loomlet.ChannelClosed):
        copy.insert().result()
    with pytest.raises(loomlet.ChannelClosed):
        task.insert().result()


def test_names_and_variables(through):
    """A name that was given, and context variables that a module holds."""
    task = waiting(body, Channel(), None)
    task.name = "Ada"
    assert through(task).name == "Ada"
    task.kill()


def test_importing_loomlet_changes_no_pickler():
    """Other libraries pickle and fail as without loomlet."""
    program = (
        "import copyreg, loomlet\n"
        "print([kind for kind, reduce in copyreg.dispatch_table.items()"
        " if reduce.__module__.startswith('loomlet')])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == []


@pytest.fixture
def installed():
    """install(), and back."""
    before = dict(copyreg.dispatch_table)
    snapshot.install()
    yield
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(before)


async def coroutine():
    await pause()
    return "end"


@types.coroutine
def pause():
    yield "paused"


def counting():
    total = 0
    while True:
        total += yield total


def test_generators(installed, through):
    """In the middle of their work."""
    machine = counting()
    next(machine)
    machine.send(3)
    copy = through(machine)
    assert (copy.send(4), machine.send(1)) == (7, 4)


def test_coroutines(installed, through):
    """Waiting for something."""
    work = coroutine()
    work.send(None)
    copy = through(work)
    work.close()
    with pytest.raises(StopIteration, match="end"):
        copy.send(None)


def test_other_parts(installed, through):
    """Cells, code, modules; cloudpickle handles some of them itself."""
    cell = types.CellType([1])
    assert through(cell).cell_contents == [1]
    assert through(sys) is sys
    assert through(body.__code__) == body.__code__
    assert list(through({"a": 1}.keys())) == ["a"]


def test_circles_and_views(installed):
    """With pickle a cell may hold itself, and a view stays one of its dict."""
    cell = types.CellType([1])
    cell.cell_contents.append(cell)
    copy = pickle.loads(pickle.dumps(cell))
    assert copy.cell_contents[1] is copy
    data = {"a": 1}
    keys, same = pickle.loads(pickle.dumps((data.keys(), data)))
    same["b"] = 2
    assert list(keys) == ["a", "b"]


def test_tracebacks(installed, through):
    """As they are printed."""
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError as error:
        trace = error.__traceback__
    assert through(trace).tb_lineno == trace.tb_lineno
    with contextlib.suppress(ZeroDivisionError):
        raise ZeroDivisionError().with_traceback(through(trace))
