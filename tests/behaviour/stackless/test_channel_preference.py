"""preference and schedule_all decide which tasklet runs when two meet in a channel."""

import pytest

import loomlet.compat.stackless as stackless


@pytest.mark.parametrize(
    ("value", "stored"), [(-1, -1), (0, 0), (1, 1), (-7, -1), (99, 1), (True, 1), (False, 0)]
)
def test_the_sign_is_stored(value, stored):
    """Spec 4, channel.preference: any int is taken, its sign kept; -1 at first."""
    ch = stackless.channel()
    assert ch.preference == -1
    ch.preference = value
    assert ch.preference == stored


@pytest.mark.parametrize("wrong", [None, "text", 1.0])
def test_preference_is_an_int(wrong, raises):
    """Spec 4, channel.preference: anything else is refused."""
    ch = stackless.channel()
    with raises(TypeError, "preference must be set to an integer"):
        ch.preference = wrong
    assert ch.preference == -1


def test_schedule_all_is_a_flag():
    """Spec 4, channel.schedule_all: 0 or 1, 0 at first."""
    ch = stackless.channel()
    assert ch.schedule_all == 0
    ch.schedule_all = 1
    assert ch.schedule_all == 1
    ch.schedule_all = False
    assert ch.schedule_all == 0
    with pytest.raises(TypeError):
        ch.schedule_all = "text"


def meet(preference, schedule_all, act):
    """The order in which things happen when main meets a waiting partner; two others are queued."""
    ch, log = stackless.channel(), []
    ch.preference, ch.schedule_all = preference, schedule_all

    def partner():
        ch.receive() if act == "send" else ch.send(None)
        log.append("partner")

    stackless.tasklet(partner)()
    stackless.run()
    for name in "ab":
        stackless.tasklet(log.append)(name)
    ch.send(None) if act == "send" else ch.receive()
    log.append("main")
    stackless.run()
    return log


@pytest.mark.parametrize(
    ("preference", "act"), [(-1, "receive"), (0, "send"), (0, "receive"), (1, "send")]
)
def test_the_acting_tasklet_continues(preference, act, mode):
    """Spec 4, who runs: not preferred, the partner goes to the tail; no switch."""
    assert meet(preference, 0, act) == ["main", "a", "b", "partner"]


@pytest.mark.parametrize(("preference", "act"), [(-1, "send"), (1, "receive")])
def test_the_preferred_partner_runs_at_once(preference, act, mode):
    """Spec 4, who runs: the partner right behind the actor, which continues in ring order."""
    assert meet(preference, 0, act) == ["partner", "a", "b", "main"]


@pytest.mark.parametrize("preference", [-1, 0, 1])
@pytest.mark.parametrize("act", ["send", "receive"])
def test_schedule_all_overrides(preference, act, mode):
    """Spec 4, who runs: with schedule_all the partner goes to the tail and the actor yields."""
    assert meet(preference, 1, act) == ["a", "b", "partner", "main"]


def test_a_blocked_actor_lets_the_next_run(mode):
    """Spec 4, who runs: without a partner the actor leaves the queue and the next one runs."""
    ch, log = stackless.channel(), []

    def body():
        log.append("blocks")
        ch.receive()
        log.append("received")

    stackless.tasklet(body)()
    for name in "ab":
        stackless.tasklet(log.append)(name)
    stackless.run()
    ch.send(None)
    assert log == ["blocks", "a", "b", "received"]


def test_two_talk_in_tasklets(mode):
    """Spec 4, who runs: the same between two tasklets, neither of them the main one."""
    ch, log = stackless.channel(), []

    def sender():
        for n in range(3):
            log.append(f"send {n}")
            ch.send(n)
            log.append(f"sent {n}")

    def receiver():
        for _ in range(3):
            log.append(f"received {ch.receive()}")

    stackless.tasklet(receiver)()
    stackless.tasklet(sender)()
    stackless.run()
    assert log == [
        "send 0",
        "received 0",
        "sent 0",
        "send 1",
        "received 1",
        "sent 1",
        "send 2",
        "received 2",
        "sent 2",
    ]
