"""What the tests of the GIL's priority share: a thread that computes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from loomlet import gil


@pytest.fixture
def computing() -> Iterator[threading.Thread]:
    """A thread that computes in Python until the test is over."""
    stop = threading.Event()

    def compute() -> None:
        rounds = 0
        while not stop.is_set():
            for _ in range(100):
                rounds += 1

    thread = threading.Thread(target=compute)
    thread.start()
    yield thread
    stop.set()
    thread.join()


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Afterwards everything is as loomlet sets it by itself."""
    yield
    gil.restore()
