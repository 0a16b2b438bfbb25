"""Beside the extension module greenlet: one tasklet uses it, every other one is refused by name."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig

import pytest

if importlib.util.find_spec("greenlet") is None:
    pytest.skip("no greenlet", allow_module_level=True)
if sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 14):
    pytest.skip("greenlet turns the GIL on here", allow_module_level=True)

PROGRAM = """
    import gc, sys, time
    import greenlet, loomlet
    from loomlet import spawn

    REFUSAL = "the extension module greenlet works in one tasklet of a thread"

    def to_parent(*args):
        return greenlet.getcurrent().parent.switch(*args)

    def user(waits):
        def inner(value):
            for _ in range(20):
                loomlet.sleep(0.0001) if waits else sum(range(20000))
                value = to_parent(value + 1)
            return -1
        child, value, total = greenlet.greenlet(inner), 0, 0
        while (value := child.switch(value)) != -1:
            total += value
            loomlet.schedule()
        return total

    def computes():
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            sorted(range(100), key=lambda n: (loomlet.schedule(), n)[1])

    def outcome(tasklet):
        try:
            return tasklet.result()
        except loomlet.TaskletError as refusal:
            assert REFUSAL in str(refusal), refusal
            return "refused"

    def main():
        {main}

    loomlet.set_error_handler(lambda tasklet, exception: None)
    loomlet.run(main, slice={slice})
    print("done")
"""


def check(python, main: str, first: str = "greenlet, loomlet", slice: float | None = 0.001) -> None:
    """Runs it as `main`; nothing is said on stderr, and the process does not crash."""
    body = main.strip().replace("\n", "\n        ")
    program = PROGRAM.replace("import greenlet, loomlet", f"import {first}")
    program = program.replace("{slice}", str(slice))
    done = python(program.replace("{main}", body))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("waits", [True, False])
def test_one_tasklet_beside_others(python, waits) -> None:
    """It waits and is interrupted in its greenlets, while others compute and wait."""
    check(
        python,
        f"""
others = [spawn(computes) for _ in range(3)]
assert spawn(user, {waits}).result() == 210
for other in others: other.join()
""",
    )


@pytest.mark.parametrize("waits", [True, False])
def test_a_second_tasklet_is_refused(python, waits) -> None:
    """By name, at its first switch; the first one is not disturbed."""
    check(
        python,
        f"""
found = [outcome(each) for each in [spawn(user, {waits}) for _ in range(5)]]
assert sorted(map(str, found)) == ["210"] + ["refused"] * 4, found
""",
    )


def test_a_throw_of_a_second_tasklet_is_refused(python) -> None:
    """Into a greenlet of the first, and into one of its own."""
    check(
        python,
        """
box, go = [], loomlet.Channel()
def catches():
    try:
        to_parent()
    except KeyError:
        return "caught"
def owner():
    box.append(greenlet.greenlet(catches))
    box[0].switch()
    go.receive()
    return box[0].throw(KeyError)
first = spawn(owner)
loomlet.schedule()
assert outcome(spawn(box[0].throw, KeyError)) == "refused"
assert outcome(spawn(greenlet.greenlet(len).throw, KeyError)) == "refused"
go.send(None)
assert first.result() == "caught"
""",
    )


def test_loaded_after_loomlet(python) -> None:
    """The order of the imports makes no difference."""
    main = """
found = [outcome(each) for each in [spawn(user, True), spawn(user, True)]]
assert found == [210, "refused"], found
"""
    check(python, main, first="loomlet, greenlet")


def test_getcurrent_of_a_second_tasklet_is_refused(python) -> None:
    """It would be a greenlet of the first."""
    check(
        python,
        """
first = spawn(user, True)
loomlet.schedule()
assert outcome(spawn(greenlet.getcurrent)) == "refused"
assert first.result() == 210
""",
    )


def test_one_after_the_other(python) -> None:
    """When a tasklet has ended, the next one may use greenlets, not those of the first."""
    check(
        python,
        """
left = []
def leaves_one():
    left.append(greenlet.greenlet(to_parent))
    left[0].switch()
spawn(leaves_one).result()
assert outcome(spawn(user, True)) == 210
assert outcome(spawn(left[0].switch)) == "refused"
assert outcome(spawn(user, False)) == 210
left.clear()
gc.collect()
""",
    )


def test_dropped_in_another_tasklet(python) -> None:
    """A suspended greenlet is ended when its own tasklet switches again."""
    check(
        python,
        """
ended, box, go = [], [], loomlet.Channel()
class Mine(greenlet.greenlet):
    pass
def body():
    try:
        to_parent()
    finally:
        ended.append(loomlet.current().name)
def owner():
    for kind in (Mine, greenlet.greenlet):
        box.append(kind(body))
        box[-1].switch()
    go.receive()
    greenlet.greenlet(len).switch(())
tasklet = spawn(owner)
tasklet.name = "owner"
loomlet.schedule()
spawn(box.clear).join()
assert ended == []
go.send(None)
tasklet.result()
assert ended == ["owner", "owner"], ended
""",
    )


def test_the_main_tasklet(python) -> None:
    """It may use them too, and then it is the one."""
    check(
        python,
        """
assert user(True) == 210
assert outcome(spawn(user, True)) == "refused"
assert user(False) == 210
""",
    )


def test_gevent_in_a_second_tasklet_is_refused(python) -> None:
    """It uses greenlet's interface in C.

    The first one waits: gevent's own code is not interrupted, which may not be entered twice.
    """
    pytest.importorskip("gevent")
    check(
        python,
        slice=None,
        main="""
import warnings
warnings.simplefilter("ignore")
import gevent
def work(n):
    loomlet.schedule()
    gevent.sleep(0.001)
    return n * n
def hub():
    return sum(each.value for each in gevent.joinall([gevent.spawn(work, n) for n in range(10)]))
found = [outcome(each) for each in [spawn(hub), spawn(hub)]]
assert sorted(map(str, found)) == ["285", "refused"], found
""",
    )
