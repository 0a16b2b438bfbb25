"""Channels: by name, or with settings and buffered values; waiting tasklets only with_partners.

A new channel is filled in a second step, which also remembers the order in which tasklets waited;
they wait again when all of them are filled.
"""

from __future__ import annotations

from typing import Any

from loomlet import _core
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._compact import cut, grown, own_attributes, set_attributes
from loomlet.snapshot._functions import shared
from loomlet.snapshot._progress import CURRENT, Saving

__all__ = ["fill_channel", "reduce_channel"]


def reduce_channel(saving: Saving, channel: _core.Channel) -> Any:
    """A named channel by its name; else a new one with the same settings and buffered values."""
    if saving.shared is not None:
        return shared(saving, channel)
    if type(channel) is _core.Channel and not saving.partners and _is_fresh(channel):
        return _core.Channel, (channel.capacity,) if channel.capacity else ()
    snapshot = _core._channel_snapshot(channel)
    capacity, name, values, senders, receivers = *snapshot[:2], *snapshot[6:]
    kind = type(channel)
    partners = (*senders, *receivers) if saving.partners else ()
    if name is not None and not channel.closed:
        state: tuple[Any, ...] = cut((None, None, None, partners or None))
        return _with_state(kind, (capacity, name), state)
    own = own_attributes(channel)
    settings = None if snapshot[2:6] == _usual(kind) else snapshot[2:6]
    state = cut((settings, values or None, own, partners or None))
    return _with_state(kind, (capacity,) if capacity else (), state)


def _is_fresh(channel: _core.Channel) -> bool:
    """Whether it is like a new Channel(capacity), except for waiting tasklets."""
    if channel.name is not None or channel.closed or len(channel):
        return False
    return channel.preference == _PREFERENCE


def _with_state(make: Any, args: tuple[Any, ...], state: tuple[Any, ...]) -> Any:
    return (make, args, state, None, None, fill_channel) if state else (make, args)


_PREFERENCE = _core.Channel().preference


def _usual(kind: type[Any]) -> tuple[Any, ...]:
    """The settings of a new channel."""
    return _SETTINGS[issubclass(kind, _core.StacklessChannel)]


_SETTINGS = tuple(
    _core._channel_snapshot(kind())[2:6] for kind in (_core.Channel, _core.StacklessChannel)
)


@named_in_bytes
def fill_channel(channel: Any, state: tuple[Any, ...]) -> None:
    """The second step; remembers the order of waiting tasklets."""
    settings, values, own, partners = grown(state, 4)
    loading = CURRENT.get()
    if loading is not None and partners is not None:
        loading.waiters += partners
    if settings is not None or values:
        preference, closed, closing, every = settings or _usual(type(channel))
        _core._channel_fill(channel, preference, closed, closing, every, values or ())
    if own:
        set_attributes(channel, own)
