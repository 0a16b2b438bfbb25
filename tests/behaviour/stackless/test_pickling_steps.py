"""Pickling in the midst of asynchronous code, with where it came from; frames and tracebacks."""

import copy
import pickle
import sys
import types
import warnings

import pytest

import loomlet.compat.stackless as stackless

pytestmark = pytest.mark.filterwarnings("ignore:coroutine method:RuntimeWarning")


@types.coroutine
def pause():
    return (yield "paused")


async def items():
    try:
        await pause()
        yield 1
        yield 2
    except KeyError as error:
        yield error.args


async def total():
    found = 0
    async for item in items():
        found += item
    return found


def outcome(step):
    """What a step returns, or its error."""
    try:
        while True:
            step.send(None)
    except StopIteration as end:
        return end.value
    except Exception as error:
        return str(error)


STEPS = {
    "asend": lambda: items().asend(None),
    "anext": lambda: items().__anext__(),
    "athrow": lambda: items().athrow(KeyError("thrown")),
    "aclose": lambda: items().aclose(),
}


BEGUN = [*((name, 0) for name in STEPS), ("asend", 1), ("anext", 1)]


@pytest.mark.parametrize(("name", "sends"), BEGUN)
def test_a_step_that_has_not_ended(name, sends, through):
    """Spec 8, pickling execution: what asend() and athrow() return, not begun and begun."""

    def begun():
        step = STEPS[name]()
        for _ in range(sends):
            assert step.send(None) == "paused"
        return step

    for loaded in through(begun()):
        assert type(loaded) is type(begun())
        assert repr(outcome(loaded)) == repr(outcome(begun()))


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_a_step_that_has_ended(make, through):
    """Spec 8, pickling execution: an ended one cannot be used again."""
    step = make()
    outcome(step)
    expected = outcome(step)
    for loaded in through(step):
        assert outcome(loaded) == expected


def test_a_value_that_is_sent(through):
    """Spec 8, pickling execution: a step keeps what it will send."""

    async def echo():
        while True:
            got.append((yield "item"))

    got = []
    generator = echo()
    assert outcome(generator.asend(None)) == "item"
    for loaded in through(generator.asend("sent")):
        assert outcome(loaded) == "item"
    assert got == []  # theirs are lists of their own


def test_in_the_midst_of_async_for(through):
    """Spec 8, pickling execution: a coroutine that waits for the next item goes on there."""
    coroutine = total()
    assert coroutine.send(None) == "paused"
    for loaded in through(coroutine):
        with pytest.raises(StopIteration) as ended:
            loaded.send(None)
        assert ended.value.value == 3
    coroutine.close()


async def closes(log):
    try:
        yield 1
    finally:
        log.append(await pause())


def closing(log):
    """A generator that is being closed, and the step that closes it."""
    generator = closes(log)
    assert outcome(generator.asend(None)) == 1
    step = generator.aclose()
    assert step.send(None) == "paused"
    return generator, step


def test_a_generator_that_is_being_closed(through):
    """Spec 8, pickling execution: it and its step go on where the finally block waits."""
    generator, step = closing([])
    for loaded, again, log in through((generator, step, generator.ag_frame.f_locals["log"])):
        assert loaded.ag_running
        with pytest.raises(StopIteration):
            again.send("closed")
        assert (log, loaded.ag_running, loaded.ag_frame) == (["closed"], False, None)
    outcome(step)


def test_generators_alone(through):
    """Spec 8, pickling execution: what runs, is suspended or has ended is seen afterwards."""

    def numbers():
        yield from (1, 2)

    new, suspended, ended = numbers(), numbers(), numbers()
    next(suspended)
    list(ended)
    for made in through([new, suspended, ended]):
        assert [one.gi_running for one in made] == [False] * 3
        assert [one.gi_frame is None for one in made] == [False, False, True]
        assert [one.gi_yieldfrom is None for one in made] == [True, False, True]
        assert [list(one) for one in made] == [[1, 2], [2], []]


def waits_in_generator(box):
    def inner():
        yield stackless.schedule_remove()

    box.append(inner())
    next(box[0])


@pytest.mark.usefixtures("soft")
def test_a_generator_that_runs_in_a_tasklet(through):
    """Spec 8, pickling execution: it runs afterwards, until its tasklet goes on."""
    box = []
    task = stackless.tasklet(waits_in_generator)(box)
    stackless.run()
    assert box[0].gi_running
    for loaded, (generator,) in through((task, box)):
        assert generator.gi_running
        loaded.insert()
        stackless.run()
        assert (loaded.alive, generator.gi_running) == (False, False)
        assert list(generator) == []
    task.kill()


def test_the_origin_of_a_coroutine(through):
    """Spec 8, pickling execution: cr_origin comes along."""
    sys.set_coroutine_origin_tracking_depth(2)
    try:
        coroutine = total()
    finally:
        sys.set_coroutine_origin_tracking_depth(0)
    assert coroutine.cr_origin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for loaded in through(coroutine):
            assert loaded.cr_origin == coroutine.cr_origin
            loaded.close()
    coroutine.close()


def frame_of(number, found=None):
    """Its own frame, which is one of its variables."""

    def twice():
        return number + number

    found = sys._getframe()
    return found, twice


def test_frames(through):
    """Spec 8, pickling execution: a loaded frame shows the same place and its variables."""
    frame, _ = frame_of(21)
    for loaded in through(frame):
        assert loaded.f_code.co_name == "frame_of"
        assert (loaded.f_code.co_filename, loaded.f_lineno) == (__file__, frame.f_lineno)
        assert (type(loaded), loaded.f_globals) == (types.FrameType, globals())
        values = loaded.f_locals
        assert (sorted(values), values["number"]) == (["found", "number", "twice"], 21)
        assert values["found"] is loaded
        assert values["twice"]() == 42


def test_the_frame_of_a_module(through):
    """Spec 8, pickling execution: its variables are those of the module, and stay there."""
    space = {"__name__": __name__}
    exec("import sys; frame = sys._getframe()", space)
    for loaded in through(space["frame"]):
        assert (loaded.f_code.co_name, loaded.f_locals) == ("<module>", {})


def test_copies_of_frames_and_tracebacks():
    """Spec 8, pickling execution: copy.copy() of a traceback keeps its frame."""
    try:
        {}["missing"]
    except KeyError as error:
        traceback = error.__traceback__
    copied = copy.copy(traceback)
    assert copied is not traceback
    assert copied.tb_frame is traceback.tb_frame
    assert (copied.tb_lasti, copied.tb_lineno) == (traceback.tb_lasti, traceback.tb_lineno)
    assert copy.copy(traceback.tb_frame) is traceback.tb_frame


def test_what_an_iterator_of_await_holds(through):
    """Spec 8, pickling execution: the result of __await__, before it begins."""
    coroutine = total()
    for loaded in through(coroutine.__await__()):
        assert loaded.send(None) == "paused"
        loaded.close()
    coroutine.close()


class Named(pickle.Pickler):
    """Saves one object by a name."""

    def persistent_id(self, value):
        return "the object" if value is NAMED else None


class Finding(pickle.Unpickler):
    """Finds it again."""

    def persistent_load(self, name):
        assert name == "the object"
        return NAMED


NAMED = object()


def holds(log):
    held = NAMED
    stackless.schedule_remove()
    log.append(held)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_persistent_id(protocol, tmp_path, soft):
    """Spec 8, pickling tasklets: a subclass of the C pickler may save what they hold by a name."""
    task = stackless.tasklet(holds)([])
    stackless.run()
    path = tmp_path / "pickle"
    with path.open("wb") as file:
        Named(file, protocol).dump(task)
    with path.open("rb") as file:
        loaded = Finding(file).load()
    assert b"the object" in path.read_bytes()
    assert loaded.frame.f_locals["held"] is NAMED
    task.kill()
    loaded.kill()
