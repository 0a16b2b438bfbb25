"""What is soft in Stackless although C code runs it: the tasklet has no nesting, and is pickled.

Each body takes a channel, waits once in such a hook, and appends what it has received to a list.
"""

import contextvars

import pytest

import loomlet.compat.stackless as stackless


class Manager:
    def __init__(self, enter, leave):
        self.enter, self.leave = enter, leave

    def __enter__(self):
        return self.enter and self.enter.receive()

    def __exit__(self, kind, error, traceback):
        self.received = self.leave and self.leave.receive()
        return True


class AsyncManager:
    def __init__(self, enter, leave):
        self.enter, self.leave = enter, leave

    async def __aenter__(self):
        return self.enter and self.enter.receive()

    async def __aexit__(self, kind, error, traceback):
        self.received = self.leave and self.leave.receive()


class Called:
    def __call__(self, ch):
        return ch.receive()


class CalledClass(type):
    def __call__(cls, ch):
        return ch.receive()


class Kind(metaclass=CalledClass):
    pass


class Made:
    def __init__(self, ch):
        self.received = ch.receive()


class Awaitable:
    def __init__(self, ch):
        self.ch = ch

    def __await__(self):
        return self.ch.receive()
        yield


async def numbers(ch):
    yield ch.receive()


async def catching(ch):
    try:
        yield 0
    except KeyError:
        yield ch.receive()


def in_enter(ch):
    with Manager(ch, None) as received:
        return received


def in_exit(ch):
    manager = Manager(None, ch)
    with manager:
        pass
    return manager.received


def in_exit_with_an_exception(ch):
    manager = Manager(None, ch)
    with manager:
        raise KeyError("under way")
    return manager.received


async def looping(ch):
    async for number in numbers(ch):
        return number


async def entering(ch):
    async with AsyncManager(ch, None) as received:
        return received


async def leaving(ch):
    manager = AsyncManager(None, ch)
    async with manager:
        pass
    return manager.received


async def awaiting(ch):
    return await Awaitable(ch)


async def sending(ch):
    return await numbers(ch).asend(None)


async def throwing(ch):
    source = catching(ch)
    await source.asend(None)
    return await source.athrow(KeyError("thrown"))


def driven(function):
    """A body that runs such a coroutine to its end."""

    def body(ch):
        coroutine = function(ch)
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value

    return body


def delegated(ch):
    return ch.receive()
    yield


def in_yield_from(ch):
    def outer():
        return (yield from delegated(ch))

    generator = outer()
    try:
        next(generator)
    except StopIteration as stop:
        return stop.value


def in_a_context(ch):
    context, call = contextvars.Context(), receiving
    return context.run(call, ch)


def receiving(ch):
    return ch.receive()


def in_init(ch):
    return Made(ch).received


def in_a_call(ch):
    called = Called()
    return called(ch)


def in_the_call_of_a_class(ch):
    return Kind(ch)


HOOKS = {
    "__enter__": in_enter,
    "__exit__": in_exit,
    "__exit__ with an exception": in_exit_with_an_exception,
    "async for": driven(looping),
    "async with, enter": driven(entering),
    "async with, exit": driven(leaving),
    "await": driven(awaiting),
    "yield from": in_yield_from,
    "asend": driven(sending),
    "athrow": driven(throwing),
    "Context.run": in_a_context,
    "__init__": in_init,
    "__call__": in_a_call,
    "__call__ of a class": in_the_call_of_a_class,
}


def run_hook(name, ch, log):
    body = HOOKS[name]
    log.append(body(ch))


def waiting(name):
    ch, log = stackless.channel(), []
    task = stackless.tasklet(run_hook)(name, ch, log)
    stackless.run()
    assert task.blocked
    return task, ch, log


@pytest.mark.parametrize("name", HOOKS)
def test_no_nesting(name, soft):
    """Spec 1, soft hooks: what waits in one has the nesting level 0, cold and warm."""
    for _ in range(10):
        task, ch, log = waiting(name)
        assert (task.nesting_level, task.restorable) == (0, True)
        ch.send(5)
        stackless.run()
        assert log == [5]


@pytest.mark.parametrize("name", HOOKS)
def test_it_is_pickled(name, soft, through):
    """Spec 1, soft hooks: by each protocol and both picklers, and goes on."""
    task, ch, log = waiting(name)
    for loaded, found in through((task, log)):
        assert loaded.blocked
        loaded._channel.send(7)
        stackless.run()
        assert found == [7]
    ch.send(5)
    stackless.run()
    assert log == [5]


def test_flags_of_types():
    """Spec 1, flags of types: bit 15 for a __call__ in Python, its own or inherited; the other bits
    are those of the interpreter."""

    class Derived(Called):
        pass

    class Changed:
        pass

    def is_set(kind):
        return bool(kind.__flags__ & 1 << 15)

    assert [is_set(kind) for kind in (Called, Derived, CalledClass)] == [True] * 3
    assert [is_set(kind) for kind in (Kind, Changed, type, object, stackless.tasklet)] == [
        False
    ] * 5
    heap = 1 << 9  # the interpreter's bit for types that a program made
    assert [bool(kind.__flags__ & heap) for kind in (Called, Changed, int)] == [True, True, False]
    Changed.__call__ = Called.__call__
    assert is_set(Changed)
    del Changed.__call__
    assert not is_set(Changed)
