"""A frame continues only in the code that it was frozen in, or in what code_map gives instead."""

import sys
import textwrap

import pytest
from helpers_frozen_tasklets import resumed, waiting

import loomlet
from loomlet import Channel, CodeChanged, ThawError

FIRST = """
    def job(ch):
        step = 1
        got = ch.receive()
        return helper(step), got

    def helper(n):
        return n + 1

    def outer(ch):
        def inner():
            return "first", ch.receive()
        return inner()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module whose text can be exchanged: module(text) loads it anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"changing_{tmp_path.name}".replace("-", "_")

    def load(text):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        sys.modules.pop(name, None)
        __import__(name)
        return sys.modules[name]

    yield load
    sys.modules.pop(name, None)


def frozen(function):
    return loomlet.freeze(waiting(function, Channel()))


def test_the_same_text_elsewhere_in_the_file(module):
    """Lines and comments do not count."""
    data = frozen(module(FIRST).job)
    module("# a comment\n\n\ndef another():\n    pass\n" + textwrap.dedent(FIRST))
    assert resumed(loomlet.thaw(data), 3) == (2, 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [("step = 1", "step = 2"), ("step = 1", "log = step = 1"), ("receive()", "close()")],
    ids=["a constant", "a variable", "a name"],
)
def test_changed_code(module, old, new):
    """Is refused by name."""
    loaded = module(FIRST)
    data = frozen(loaded.job)
    module(FIRST.replace(old, new))
    with pytest.raises(CodeChanged, match=rf"{loaded.__name__}\.job: its code") as caught:
        loomlet.thaw(data)
    assert (caught.value.module, caught.value.qualname) == (loaded.__name__, "job")
    assert isinstance(caught.value, ThawError)


def test_another_function_may_change(module):
    """Only what the bytes refer to counts."""
    data = frozen(module(FIRST).job)
    module(FIRST.replace("n + 1", "n + 100"))
    assert resumed(loomlet.thaw(data), 3) == (101, 3)


def test_nested_code_that_has_changed(module):
    """Named by its qualified name."""
    data = frozen(module(FIRST).outer)
    module(FIRST.replace('"first"', '"second"'))
    with pytest.raises(CodeChanged, match=r"outer"):
        loomlet.thaw(data)


def test_a_function_that_is_gone(module):
    """The function was deleted, or its name now means something else."""
    loaded = module(FIRST)
    data = frozen(loaded.job)
    module("other = 1")
    with pytest.raises(ThawError, match=rf"{loaded.__name__}\.job is not in this process"):
        loomlet.thaw(data)
    module("job = 1")
    with pytest.raises(ThawError, match="was a function when it was frozen, now it is 1"):
        loomlet.thaw(data)


def test_the_old_code_under_another_name(module):
    """code_map by name, by pair and as a callable."""
    data = frozen(module(FIRST).job)
    new = module(FIRST.replace("step = 1", "step = 50") + FIRST.replace("def job", "def job_1"))
    name = new.__name__
    for code_map in (
        {f"{name}.job": new.job_1},
        {(name, "job"): new.job_1},
        lambda module, qualname: getattr(new, f"{qualname}_1", None),
    ):
        assert resumed(loomlet.thaw(data, code_map=code_map), 3) == (2, 3)
    with pytest.raises(CodeChanged):
        loomlet.thaw(data, code_map={})


def test_code_of_the_same_layout(module):
    """A frame continues in code where only constants and names are others."""
    data = frozen(module(FIRST).job)
    new = module(
        FIRST.replace("helper(step)", "better(step)") + "\n    def better(n):\n        return -n"
    )
    assert resumed(loomlet.thaw(data, code_map={f"{new.__name__}.job": new.job}), 3) == (-1, 3)


def test_code_of_another_layout(module):
    """A frame cannot continue there, though the user says so."""
    data = frozen(module(FIRST).job)
    new = module(FIRST.replace("step = 1", "log = step = 1"))
    with pytest.raises(CodeChanged, match="another layout"):
        loomlet.thaw(data, code_map={f"{new.__name__}.job": new.job})


def keeps(function, ch):
    return function(ch.receive())


def test_functions_without_a_frame_may_be_replaced(module):
    """Code of any layout will do where no frame has begun."""
    old = module(FIRST).helper
    data = loomlet.freeze(waiting(keeps, old, Channel()))
    new = module(FIRST.replace("return n + 1", "m = n\n        return [m]"))
    task = loomlet.thaw(data, code_map={f"{new.__name__}.helper": new.helper})
    assert resumed(task, 3) == [3]


def test_what_a_code_map_gives(module):
    """A function or None."""
    loaded = module(FIRST)
    data = frozen(loaded.job)
    with pytest.raises(ThawError, match="not a function"):
        loomlet.thaw(data, code_map={f"{loaded.__name__}.job": 5})
