"""tasklet(func=None, args=None, kwargs=None) and what may be derived from it."""

import gc
import threading
import weakref

import pytest

import loomlet.compat.stackless as stackless


def test_the_constructor_binds(mode):
    """Spec 3, tasklet(): its arguments are those of bind()."""
    log = []

    def body(a, b=None):
        log.append((a, b))

    stackless.tasklet(body)(1)
    stackless.tasklet(body, (2,)).insert()
    stackless.tasklet(body, (3,), {"b": 4}).insert()
    stackless.tasklet(func=body, args=(5,), kwargs={"b": 6}).insert()
    stackless.run()
    assert log == [(1, None), (2, None), (3, 4), (5, 6)]


def test_a_wrong_function(raises):
    """Spec 3, tasklet(): anything that is not callable is refused."""
    with raises(TypeError, "tasklet function must be a callable or None"):
        stackless.tasklet(3)


def test_it_belongs_to_the_thread_that_made_it(thread):
    """Spec 3, tasklet(): thread_id shows it."""
    assert stackless.tasklet().thread_id == threading.get_ident()
    other = thread(lambda: stackless.tasklet().thread_id)
    assert other.result() == other.id


def test_a_derived_class_has_a_dict(mode):
    """Spec 3, tasklet subclasses: instances take attributes, getcurrent() gives them back."""

    class Mine(stackless.tasklet):
        def body(self):
            self.seen = stackless.getcurrent()

    task = Mine()
    task.bind(task.body)()
    stackless.run()
    assert task.seen is task


def test_a_derived_class_with_slots(mode):
    """Spec 3, tasklet subclasses: __slots__ are kept to."""

    class Mine(stackless.tasklet):
        __slots__ = ("name",)

    task = Mine(lambda: None)
    task.name = "slot"
    with pytest.raises(AttributeError):
        task.other = 1
    task()
    stackless.run()
    assert task.name == "slot"


def test_derived_init_and_call(mode):
    """Spec 3, tasklet subclasses: both can be overridden and call up."""
    log = []

    class Mine(stackless.tasklet):
        def __init__(self, name):
            super().__init__(self.body)
            self.name = name

        def __call__(self, value):
            return super().__call__(value, named=self.name)

        def body(self, value, named):
            log.append((value, named))

    assert isinstance(Mine("a")(1), Mine)
    Mine("b")(2)
    stackless.run()
    assert log == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("name", ["name", "id", "state", "result", "join", "waiting_for"])
def test_names_of_extensions_are_free(name, mode):
    """Spec 3, tasklet subclasses: what Stackless does not define, programs define themselves."""

    class Mine(stackless.tasklet):
        pass

    task, value = Mine(lambda: None), object()
    setattr(task, name, value)
    assert getattr(task, name) is value
    task()
    stackless.run()
    assert getattr(task, name) is value


def test_derived_new_and_bind(mode):
    """Spec 3, tasklet subclasses: __new__ takes what it likes; a wrapper around each function."""
    log = []

    class Mine(stackless.tasklet):
        __slots__ = ("context", "name")

        def __new__(cls, context, func=None):
            self = stackless.tasklet.__new__(cls, func)
            self.context = context
            return self

        def __init__(self, context, func=None):
            if func:
                self.bind(func)

        def bind(self, func, *args):
            def wrapped(*args, **kwargs):
                log.append(self.context)
                return func(*args, **kwargs)

            return super().bind(wrapped, *args)

    Mine("setup", log.append)("a")
    task = Mine("bind")
    task.bind(log.append, ("b",)).insert()
    stackless.run()
    assert log == ["setup", "a", "bind", "b"]
    assert task.context == "bind"


def test_new_makes_an_unbound_one():
    """Spec 3, tasklet subclasses: without __init__ of the base there is no function yet."""

    class Mine(stackless.tasklet):
        def __init__(self, func):
            pass

    task = Mine(print)
    assert not task.alive
    assert task.tempval is None


def test_weak_references(mode):
    """Spec 3, tasklet(): can be referred to weakly, with a callback."""
    log = []
    task = stackless.tasklet(lambda: None)()
    ref = weakref.ref(task, log.append)
    stackless.run()
    del task
    gc.collect()
    assert log == [ref]


def test_the_collector_sees_it():
    """Spec 3, tasklet(): tracked, and cycles through it are found."""

    class Mine(stackless.tasklet):
        pass

    task = Mine(print)
    task.me = task
    assert gc.is_tracked(task)
    ref = weakref.ref(task)
    del task
    gc.collect()
    assert ref() is None
