"""Every chain, frozen on its way or moved, returns what it returns when nothing happens to it.

The ways: resumed where it is; in another thread for each step; frozen and thawed before each step;
thawed in a process of its own for each step.  This suite decides whether a version of CPython is
supported.
"""

import functools
import pickle
import queue
import re
import subprocess
import sys
import threading
from pathlib import Path

import helpers_chains
import helpers_freezing_steps
import pytest

import loomlet
from loomlet import _core

pytestmark = [
    pytest.mark.skipif(not _core.soft(), reason="nothing is soft here"),
    # A tasklet that has been frozen or cloned is dropped where it waits, with its coroutines.
    pytest.mark.filterwarnings("ignore:tasklet .* was collected while blocked:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited:RuntimeWarning"),
]
freezes = pytest.mark.skipif(sys.version_info < (3, 12), reason="freezing needs 3.12")
NAMES = sorted(helpers_chains.chains().keys() - helpers_chains.HARD)
WARM = 30
MOST_STEPS = 60


def traced():
    """Whether a tracer, profiler or coverage tool is on: it sends calls through C."""
    monitoring = getattr(sys, "monitoring", None)
    tools = monitoring and [monitoring.get_tool(number) for number in range(6)]
    return sys.gettrace() or sys.getprofile() or any(tools or ())


def unless_traced(test):
    """A chain that a tool makes hard is no failure, if the tool is named."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        try:
            test(*args, **kwargs)
        except (loomlet.FreezeError, loomlet.TaskletError) as error:
            if not traced():
                raise
            if isinstance(error, loomlet.FreezeError):
                assert re.search(r"traces|is on", str(error))
            pytest.skip(f"a tool is in the way: {error}")

    return run


def plain(result):
    """Results as text: exceptions and the like compare by what they say."""
    return repr(result)


def in_place(name):
    """The result of a chain that is only resumed."""
    task = helpers_freezing_steps.begin(name)
    for value in range(1, MOST_STEPS):
        if task.state != "blocked":
            break
        helpers_freezing_steps.go_on(task, value)
    return task.result()


@pytest.mark.parametrize("name", NAMES)
def test_where_it_is(name):
    """Resumed by the thread that began it."""
    assert plain(in_place(name)) == plain(helpers_chains.direct(name))


class Worker(threading.Thread):
    """Takes a paused tasklet over, lets it run to its next wait, and pauses it with its value."""

    def __init__(self):
        super().__init__(daemon=True)
        self.todo, self.done = queue.Queue(), queue.Queue()
        self.start()

    def run(self):
        loomlet.current()
        while (work := self.todo.get()) is not None:
            try:
                self.done.put(self.step(*work))
            except Exception as error:
                self.done.put(error)

    def step(self, task, value):
        task.bind_thread()
        task.insert()
        loomlet.schedule()
        if task.state != "blocked":
            return False
        task.waiting_for.send(value)
        task.remove()
        return True

    def order(self, *work):
        self.todo.put(work)
        done = self.done.get(timeout=60)
        if isinstance(done, Exception):
            raise done
        return done


@pytest.fixture(scope="module")
def workers():
    """Two threads that take turns."""
    pair = Worker(), Worker()
    yield pair
    for worker in pair:
        worker.todo.put(None)
        worker.join(60)


@pytest.mark.parametrize("name", NAMES)
@unless_traced
def test_in_another_thread(name, workers):
    """Each step in another thread than the one before."""
    task = helpers_freezing_steps.begin(name)
    task.waiting_for.send(1)
    task.remove()
    for value in range(2, MOST_STEPS):
        if not workers[value % 2].order(task, value):
            break
    assert plain(task.result()) == plain(helpers_chains.direct(name))


@freezes
@pytest.mark.parametrize("rounds", [1, WARM], ids=["cold", "warm"])
@pytest.mark.parametrize("name", NAMES)
@unless_traced
def test_frozen_before_each_step(name, rounds):
    """Thawed in the same process; cold, and when the bytecode has been specialised."""
    for _ in range(rounds):
        data, value = loomlet.freeze(helpers_freezing_steps.begin(name)), 0
        while data is not None:
            value += 1
            data, result = helpers_freezing_steps.thawed_step(data, value)
        assert plain(result) == plain(helpers_chains.direct(name))


@freezes
@pytest.mark.parametrize("name", NAMES)
@unless_traced
def test_cloned_before_each_step(name):
    """A clone continues with the value that was on its way; the original stays where it was."""
    task, originals = helpers_freezing_steps.begin(name), []
    for value in range(1, MOST_STEPS):
        if task.state != "blocked":
            break
        task.waiting_for.send(value)
        originals.append(task.remove())
        task = loomlet.clone(task).insert()
        loomlet.schedule()
    assert plain(task.result()) == plain(helpers_chains.direct(name))
    assert {task.state for task in originals} == {"paused"}


def step_elsewhere(work, value):
    """One step of each chain in a new process."""
    program = Path(__file__).parent / "helpers_freezing_steps.py"
    command = [sys.executable, "-W", "ignore", str(program)]
    done = subprocess.run(
        command, input=pickle.dumps((work, value)), capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


@freezes
def test_a_fresh_process_for_each_step():
    """No step is done by a process that has seen the one before."""
    begun = {name: helpers_freezing_steps.begin(name) for name in NAMES}
    refused = {name: loomlet.why_not_freezable(task) for name, task in begun.items()}
    work = {name: loomlet.freeze(task) for name, task in begun.items() if not refused[name]}
    expected = {name: plain(helpers_chains.direct(name)) for name in work}
    results, value = {}, 0
    while work:
        value += 1
        done = step_elsewhere(work, value)
        results |= {name: result for name, (data, result) in done.items() if data is None}
        work = {name: data for name, (data, _) in done.items() if data is not None}
    found = {name: plain(result) for name, result in results.items()}
    assert found == expected
    assert traced() or expected.keys() == set(NAMES), [why for why in refused.values() if why]


@freezes
@pytest.mark.parametrize("name", sorted(helpers_chains.HARD))
def test_c_code_in_between(name):
    """A chain that is refused continues as if nothing had been asked."""
    assert plain(in_place(name)) == plain(helpers_chains.direct(name))


def test_there_are_enough_chains():
    """The suite is the gate for a new version of CPython."""
    assert len(NAMES) >= 60
