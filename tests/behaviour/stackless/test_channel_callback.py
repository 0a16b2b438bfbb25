"""The channel callback sees each action on a channel before it happens."""

import pytest

import loomlet.compat.stackless as stackless


@pytest.fixture
def seen():
    """(channel, tasklet, sending, willblock, value on its way) of each action."""
    calls = []

    def callback(ch, task, sending, willblock):
        calls.append((ch, task, sending, willblock, task.tempval if sending else None))

    stackless.set_channel_callback(callback)
    yield calls
    stackless.set_channel_callback(None)


def test_it_is_called_for_each_action(seen, mode):
    """Spec 2, set_channel_callback: which tasklet acts, in which direction, and if it must wait."""
    main, ch = stackless.getcurrent(), stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    ch.send("value")
    assert seen == [(ch, task, 0, 1, None), (ch, main, 1, 0, "value")]


def test_the_value_of_a_sender(seen, mode):
    """Spec 2, set_channel_callback: tempval is what is sent, also when the sender must wait."""
    main, ch = stackless.getcurrent(), stackless.channel()
    task = stackless.tasklet(ch.send)("value")
    stackless.run()
    assert ch.receive() == "value"
    assert seen == [(ch, task, 1, 1, "value"), (ch, main, 0, 0, None)]
    stackless.run()


def test_it_returns_the_old_one(thread):
    """Spec 2, get_channel_callback: one for all threads, None at first."""

    def callback(*args):
        pass

    assert stackless.get_channel_callback() is None
    assert stackless.set_channel_callback(callback) is None
    assert stackless.get_channel_callback() is callback
    assert thread(stackless.get_channel_callback).result() is callback
    assert stackless.set_channel_callback(None) is callback
    assert stackless.get_channel_callback() is None


@pytest.mark.parametrize("wrong", [1, "text", ()])
def test_it_must_be_callable(wrong, raises):
    """Spec 2, set_channel_callback: anything else is refused."""
    with raises(TypeError, "channel callback must be callable"):
        stackless.set_channel_callback(wrong)
    assert stackless.get_channel_callback() is None


@pytest.mark.parametrize("action", ["send", "receive"])
def test_it_must_not_use_channels(action):
    """Spec 2, set_channel_callback: a channel action inside it is an error there."""
    ch, other, texts = stackless.channel(), stackless.channel(), []
    task = stackless.tasklet(ch.receive)()
    stackless.run()

    def callback(*args):
        try:
            other.send(None) if action == "send" else other.receive()
        except RuntimeError as error:
            texts.append(str(error))

    stackless.set_channel_callback(callback)
    ch.send(None)
    stackless.set_channel_callback(None)
    assert texts == ["Recursive channel call due to callbacks!"]
    assert not task.alive


def test_its_exceptions_surface_in_the_actor(mode):
    """Spec 2, set_channel_callback: the tasklet that acts gets them, soon."""
    ch, log = stackless.channel(), []
    stackless.tasklet(lambda: log.append(ch.receive()))()
    stackless.run()

    def callback(*args):
        raise KeyError("from the callback")

    def act():
        ch.send("value")
        for _ in range(10):
            log.append("continues")

    stackless.set_channel_callback(callback)
    try:
        with pytest.raises(KeyError, match="from the callback"):
            act()
    finally:
        stackless.set_channel_callback(None)
    if ch.balance:
        ch.send("value")
    assert log.count("continues") < 10
    assert "value" in log


@pytest.mark.parametrize("action", ["send", "receive"])
def test_a_partner_of_another_thread(action, thread):
    """Spec 2, set_channel_callback: it is called when the exchange has happened."""
    ch, seen = stackless.channel(), []
    other = thread(ch.receive) if action == "send" else thread(ch.send, "value")
    while ch.balance == 0:
        pass  # the other thread is about to wait
    stackless.set_channel_callback(lambda ch, task, *flags: seen.append((task, *flags, ch.balance)))
    done = ch.send("value") if action == "send" else ch.receive()
    stackless.set_channel_callback(None)
    assert seen == [(stackless.getcurrent(), int(action == "send"), 0, 0)]
    assert (done, other.result()) == ((None, "value") if action == "send" else ("value", None))


@pytest.mark.parametrize("name", ["send_exception", "send_throw", "send_sequence", "__next__"])
def test_it_is_called_for_every_kind_of_action(seen, name, mode):
    """Spec 2, set_channel_callback: exceptions are sent as bombs; iterating is receiving."""
    ch = stackless.channel()
    if name == "__next__":
        stackless.tasklet(ch.send)("value")
        stackless.run()
        assert next(ch) == "value"
    else:
        stackless.tasklet(ch.receive)()
        stackless.run()
        getattr(ch, name)({"send_sequence": ["value"]}.get(name, TaskletExit))
    stackless.run()
    _, task, sending, willblock, value = seen[-1]
    assert (task, willblock) == (stackless.getcurrent(), 0)
    assert sending == (name != "__next__")
    if sending:
        assert value == "value" or value.type is TaskletExit
