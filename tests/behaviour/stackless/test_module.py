"""The module itself: its properties, its star import, its names."""

import builtins
import pickle
import sys

import pytest

import loomlet.compat.stackless as stackless

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


@pytest.mark.parametrize("name", WRAP)
def test_surrogates_are_refused(name):
    """Spec 2, _wrap: a pickle that Stackless Python made of one of these cannot be loaded."""
    with pytest.raises(NotImplementedError, match=f"unpickle a {name} of Stackless Python"):
        getattr(stackless._wrap, name)()


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
