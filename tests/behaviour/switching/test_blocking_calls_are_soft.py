"""A blocking function called by a plain Python call keeps no C stack."""

import pytest

import loomlet
from loomlet import Channel, Tasklet


def call_schedule(ch: Channel, other: Tasklet) -> None:
    loomlet.schedule()


def call_sleep_of_no_time(ch: Channel, other: Tasklet) -> None:
    loomlet.sleep(0)


def call_sleep(ch: Channel, other: Tasklet) -> None:
    loomlet.sleep(5)


def call_send(ch: Channel, other: Tasklet) -> None:
    ch.send("value")


def call_receive(ch: Channel, other: Tasklet) -> None:
    ch.receive()


def call_select_to_receive(ch: Channel, other: Tasklet) -> None:
    loomlet.select([ch])


def call_select_to_send(ch: Channel, other: Tasklet) -> None:
    loomlet.select([(ch, "value")])


def call_join(ch: Channel, other: Tasklet) -> None:
    other.join()


def call_result(ch: Channel, other: Tasklet) -> None:
    other.result()


def call_run(ch: Channel, other: Tasklet) -> None:
    other.remove().run()


def call_switch(ch: Channel, other: Tasklet) -> None:
    other.remove().switch()


def call_throw(ch: Channel, other: Tasklet) -> None:
    other.throw(loomlet.TaskletExit())


def call_kill(ch: Channel, other: Tasklet) -> None:
    other.kill()


CALLS = [value for name, value in sorted(globals().items()) if name.startswith("call_")]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__[5:])
def test_the_call_suspends_softly(call, switches, clock):
    """Every function that can block suspends its caller without a C stack."""
    ch, other = Channel(), loomlet.spawn(lambda: None)
    task = loomlet.spawn(call, ch, other.remove())
    switches.take()
    loomlet.schedule()
    assert switches.take() == (1, 0)
    task.kill()


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__[5:])
def test_the_same_call_a_second_time(call, switches, clock):
    """It stays so after the interpreter has specialised the instruction."""
    for _ in range(40):
        ch, other = Channel(), loomlet.spawn(lambda: None)
        task = loomlet.spawn(call, ch, other.remove())
        switches.take()
        loomlet.schedule()
        assert switches.take() == (1, 0)
        task.kill()
