"""Calls that would do nothing, or something else than they seem to, are errors at the call."""

import functools

import pytest

import loomlet
from loomlet import Channel, TaskGroup


async def fetch():
    return "page"


async def pages():
    yield "page"


class Site:
    async def fetch(self):
        return "page"

    async def __call__(self):
        return "page"


COROUTINE_FUNCTIONS = [fetch, pages, Site().fetch, Site(), functools.partial(fetch)]


@pytest.mark.parametrize("function", COROUTINE_FUNCTIONS)
def test_a_coroutine_function_is_no_tasklet(function, mode):
    """Its body would not run; the text names it and says what does run it."""
    before = len(loomlet._core.tasklets())
    with TaskGroup() as group:
        for spawn in (loomlet.spawn, group.spawn):
            with pytest.raises(TypeError, match=r"coroutine function .* spawn\(aio\.await_"):
                spawn(function)
    assert len(loomlet._core.tasklets()) == before


@pytest.mark.parametrize("function", COROUTINE_FUNCTIONS)
def test_a_coroutine_function_is_no_main(function):
    """The same for run()."""
    with pytest.raises(TypeError, match=r"coroutine function .*, whose .* run\(aio\.await_"):
        loomlet.run(function)


def test_a_coroutine_is_no_main():
    """It is closed, so that only this error is shown."""
    with pytest.raises(TypeError, match=r"found coroutine; use run\(aio\.await_"):
        loomlet.run(fetch())


@pytest.mark.parametrize("result", [None, 3, "text"])
def test_the_result_of_main_is_no_main(result):
    """run(main()) for run(main)."""
    with pytest.raises(TypeError, match=r"found \w+; use run\(main\), not run\(main\(\)\)"):
        loomlet.run(result)
    assert loomlet.run(lambda: "not inside run() now") == "not inside run() now"


def test_keywords_of_run_are_its_own():
    """Those of main go by functools.partial, or a lambda."""

    def main(*, colour):
        return colour

    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        loomlet.run(main, colour="blue")
    assert loomlet.run(functools.partial(main, colour="blue")) == "blue"


def test_select_takes_a_list():
    """A channel can be iterated, and so would be emptied."""
    one, two = Channel(3), Channel(3)
    one.send("value")
    with pytest.raises(TypeError, match=r"found a Channel; use select\(\[channel\]\)"):
        loomlet.select(one)
    with pytest.raises(TypeError, match=r"found a Channel; use select\(\[a, b\]\)"):
        loomlet.select(one, two)
    with pytest.raises(TypeError, match=r"found a Channel; use select\(\[channel\]\)"):
        loomlet.select(one, timeout=1)
    assert len(one) == 1
    assert loomlet.select([one]) == (0, "value")
