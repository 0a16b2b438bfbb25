"""loomlet.aio: both sides keep the type of the result."""

import asyncio
from typing import Any, assert_type

from loomlet import Tasklet, aio


async def fetch(url: str) -> bytes:
    """A coroutine."""
    return url.encode()


def render(page: str, depth: int = 0) -> str:
    """A plain function."""
    return page * depth


def waiting(future: asyncio.Future[int]) -> None:
    """A tasklet waits for any awaitable."""
    assert_type(aio.await_(fetch("x")), bytes)
    assert_type(aio.await_(future), int)
    assert_type(aio.get_loop(), aio.EventLoop)
    aio.get_loop().call_soon_threadsafe(print, "x")
    aio.close()


async def calling(tasklet: Tasklet) -> None:
    """A coroutine waits for a function in a tasklet."""
    assert_type(await aio.to_tasklet(render, "x", depth=2), str)
    assert_type(await aio.result(tasklet), Any)


def own_loop() -> None:
    """asyncio takes the loop for one of its own."""
    with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
        assert_type(runner.run(fetch("x")), bytes)
