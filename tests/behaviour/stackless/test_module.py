"""The module itself: its properties, its star import, its names."""

import builtins
import pickle
import sys
import types

import pytest

import loomlet.compat.stackless as stackless
from loomlet import _core

STAR = """
atomic channel enable_softswitch get_channel_callback get_schedule_callback get_thread_info
getcurrent getcurrentid getdebug getmain getruncount getthreads getuncollectables
pickle_with_tracing_state run schedule schedule_remove set_channel_callback set_error_handler
set_schedule_callback switch_trap tasklet stackless
""".split()


def test_star_import_is_exact():
    """Spec 2, star import: these names and no other."""
    names = {}
    exec("from loomlet.compat.stackless import *", names)
    assert sorted(names.keys() - {"__builtins__"}) == sorted(STAR)
    assert names["tasklet"] is stackless.tasklet


def test_properties():
    """Spec 2, module properties: the old spellings of functions."""
    waiting = stackless.tasklet(print)()
    assert stackless.current is stackless.getcurrent()
    assert stackless.main is stackless.getmain()
    assert stackless.runcount == 2
    assert stackless.threads == stackless.getthreads()
    assert stackless.debug is stackless.getdebug()
    assert stackless.uncollectables == stackless.getuncollectables()
    assert stackless.stackless is stackless
    waiting.remove()
    assert stackless.runcount == 1


def test_current_in_a_tasklet(mode):
    """Spec 2, module properties: evaluated each time."""
    seen = []
    task = stackless.tasklet(lambda: seen.append((stackless.current, stackless.main)))()
    stackless.run()
    assert seen == [(task, stackless.getcurrent())]


@pytest.mark.parametrize("name", ["current", "main", "runcount", "threads", "debug"])
def test_properties_cannot_be_set(name):
    """Spec 2, module properties: all but one are read-only."""
    with pytest.raises(AttributeError):
        setattr(stackless, name, None)


def test_pickle_with_tracing_state():
    """Spec 2, pickle_with_tracing_state: bit 0 of the flags, of the thread and the default."""
    assert stackless.pickle_with_tracing_state is False
    stackless.pickle_with_tracing_state = True
    try:
        assert stackless.pickle_with_tracing_state is True
        assert (stackless.pickle_flags(), stackless.pickle_flags_default()) == (1, 1)
    finally:
        stackless.pickle_with_tracing_state = False
    assert (stackless.pickle_flags(), stackless.pickle_flags_default()) == (0, 0)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_it_pickles_by_reference(protocol):
    """Spec 2, pickling the module: it is the same module when it is loaded."""
    assert pickle.loads(pickle.dumps(stackless, protocol)) is stackless


def test_taskletexit_is_a_builtin():
    """Spec 2, TaskletExit: a direct subclass of SystemExit, there without an import."""
    assert builtins.TaskletExit.__bases__ == (SystemExit,)
    assert builtins.TaskletExit.__name__ == "TaskletExit"


def test_taskletexit_is_a_builtin_from_then_on(python):
    """Spec 2, TaskletExit: importing the module makes it one; loomlet alone does not."""
    done = python("""
        import builtins, loomlet
        print(hasattr(builtins, "TaskletExit"))
        import loomlet.compat.stackless
        print(TaskletExit is loomlet.TaskletExit)
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", ["tasklet", "channel", "bomb", "cframe", "cstack", "atomic"])
def test_types(name):
    """Spec 2, types: six types, named after the C module of Stackless."""
    kind = getattr(stackless, name)
    assert isinstance(kind, type)
    assert kind.__name__ == name
    assert repr(kind) == f"<class '_stackless.{name}'>"


def test_the_c_module_has_its_name(python):
    """Spec 2, types: installed as stackless, the C module can be imported by its own name."""
    done = python("""
        import loomlet.compat
        loomlet.compat.install("stackless")
        import stackless, _stackless
        print(_stackless.tasklet is stackless.tasklet)
    """)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


WRAP = """
frame code cell function generator coroutine coroutine_wrapper async_generator
async_generator_asend async_generator_athrow traceback module dict_keys dict_values dict_items range
""".split()


@pytest.mark.parametrize("name", [*WRAP, "set_reduce_frame"])
def test_wrap(name):
    """Spec 2, _wrap: a submodule with the surrogates of pickling."""
    import loomlet.compat.stackless._wrap as wrap

    assert wrap is stackless._wrap
    assert callable(getattr(wrap, name))
    stackless._wrap.set_reduce_frame(None)


REFUSED = """
frame code function coroutine_wrapper async_generator_asend async_generator_athrow traceback
""".split()


@pytest.mark.parametrize("name", REFUSED)
def test_surrogates_are_refused(name):
    """Spec 2, _wrap: a pickle of Stackless Python with bytecode in it cannot be loaded."""
    with pytest.raises(NotImplementedError, match=f"unpickle a {name} of Stackless Python"):
        getattr(stackless._wrap, name)()


class Saved:
    """Is pickled as the reference does it: a surrogate, its arguments, a state."""

    def __init__(self, name, *args, state):
        self.reduced = (getattr(stackless._wrap, name), args, state)

    def __reduce__(self):
        return self.reduced


def test_cells_are_loaded(through):
    """Spec 2, _wrap: a cell of a pickle of Stackless Python, which may contain itself."""
    for empty, full in through([Saved("cell", state=()), Saved("cell", state=("content",))]):
        assert (type(empty), type(full)) == (types.CellType, types.CellType)
        with pytest.raises(ValueError, match="empty"):
            empty.cell_contents  # noqa: B018 - that it raises
        assert full.cell_contents == "content"
    own = Saved("cell", state=())
    own.reduced = (*own.reduced[:2], ([own],))
    for loaded in through(own):
        assert loaded.cell_contents[0] is loaded


@pytest.mark.parametrize("name", ["keys", "values", "items"])
def test_views_are_loaded(name, through):
    """Spec 2, _wrap: a view shows the very dict that came with it."""
    values = {"a": 1}
    for loaded, view in through([values, Saved(f"dict_{name}", state=(values,))]):
        assert type(view) is type(getattr(loaded, name)())
        loaded["b"] = 2
        assert list(view) == list(getattr(loaded, name)())


def test_ranges_and_modules_are_loaded(through):
    """Spec 2, _wrap: these too; a module with what it held."""
    saved = [Saved("range", 1, 9, 2, state=()), Saved("module", "lost", state={"x": 5})]
    for numbers, module in through(saved):
        assert numbers == range(1, 9, 2)
        assert (type(numbers), type(module)) == (range, types.ModuleType)
        assert (module.__name__, module.x) == ("lost", 5)


@pytest.mark.parametrize("name", ["generator", "coroutine", "async_generator"])
def test_generators_that_have_ended_are_loaded(name, through):
    """Spec 2, _wrap: of the three kinds, with their names."""
    kinds = {
        "generator": (types.GeneratorType, "gi_frame"),
        "coroutine": (types.CoroutineType, "cr_frame"),
        "async_generator": (types.AsyncGeneratorType, "ag_frame"),
    }
    kind, frame = kinds[name]
    for loaded in through(Saved(name, state=(None, 0, None, "short", "long.short"))):
        assert (type(loaded), getattr(loaded, frame)) == (kind, None)
        assert (loaded.__name__, loaded.__qualname__) == ("short", "long.short")


def test_a_surrogate_is_of_one_kind(raises):
    """Spec 2, _wrap: other objects cannot become one."""
    with raises(TypeError, "there is no surrogate for int"):
        _core._stackless_surrogate(5)
    with raises(TypeError, "expected a view of a dict, found list"):
        _core._stackless_show_dict([], {})


def test_install(python):
    """Spec 2, install: then `import stackless` works, in all its forms."""
    done = python("""
        import loomlet.compat
        loomlet.compat.install("stackless")
        import pickle, stackless, stackless._wrap
        from stackless import tasklet, schedule
        tasklet(print)("ran")
        stackless.run()
        print(pickle.loads(pickle.dumps(stackless)) is stackless, stackless._wrap.__name__)
        import loomlet.compat.stackless as long
        print(long is stackless)
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[:1] == ["ran"]
    assert done.stdout.split()[1] == "True"
    assert done.stdout.split()[-1] == "True"


def test_install_knows_its_names():
    """Spec 2, install: an unknown module name is a ValueError, and nothing is installed."""
    import loomlet.compat

    with pytest.raises(ValueError, match="stackless"):
        loomlet.compat.install("gevent")
    assert "gevent" not in sys.modules or not hasattr(sys.modules["gevent"], "tasklet")
