"""The errors of the originals, for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import loomlet
from loomlet import patch


def errors_of(
    call: Callable[..., object], *args: Any, kind: type[BaseException] = Exception
) -> tuple[BaseException, BaseException]:
    """What call(*args) raises, of that kind: the original, and then ours, of the same type."""
    patch.uninstall()
    with pytest.raises(kind) as stock:
        call(*args)
    patch.install()
    with pytest.raises(stock.type) as ours:
        loomlet.spawn(call, *args).result()
    return stock.value, ours.value
