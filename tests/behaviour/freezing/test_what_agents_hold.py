"""What functions that pause hold and stand in: frozen and continued, or refused by name."""

import gc
import warnings

import helpers_agents
import pytest

import loomlet
from loomlet import freeze, spawn, thaw

pytestmark = pytest.mark.usefixtures("switches")


def pause():
    loomlet._core._pause()


def told(value):
    """What can be compared of a value that has no equality of its own."""
    return value if not isinstance(value, Exception) else str(value)


@pytest.mark.parametrize("name", [*helpers_agents.HOLDS, *helpers_agents.STANDS_IN])
def test_it_goes_on(name):
    """There as here."""
    case = {**helpers_agents.HOLDS, **helpers_agents.STANDS_IN}[name]
    task = spawn(case, pause)
    loomlet.schedule()
    assert task.state == "paused"
    again = thaw(freeze(task))
    results = []
    for each in (task, again):
        while each.state != "done":
            each.insert()
            loomlet.schedule()
        results.append(told(each.result()))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", helpers_agents.REFUSED)
def test_it_is_refused_by_name(name):
    case, words = helpers_agents.REFUSED[name]
    task = spawn(case, pause)
    loomlet.schedule()
    with pytest.raises(loomlet.FreezeError) as caught:
        freeze(task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of what the case left open
        task.kill()
        del task, case
        gc.collect()
    assert words in str(caught.value)
