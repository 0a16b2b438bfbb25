"""Each tasklet has its own context of context variables, which can be chosen."""

import contextvars

import pytest

import loomlet.compat.stackless as stackless

VAR = contextvars.ContextVar("VAR", default="unset")


def a_context(value):
    context = contextvars.Context()
    context.run(VAR.set, value)
    return context


def test_a_change_stays_in_the_tasklet(mode):
    """Spec 1, context: what one tasklet sets, others do not see."""
    seen = []

    def body(value):
        VAR.set(value)
        stackless.schedule()
        seen.append(VAR.get())

    for value in "ab":
        stackless.tasklet(body)(value)
    stackless.run()
    assert seen == ["a", "b"]
    assert VAR.get() == "unset"


def test_set_context(mode):
    """Spec 3, tasklet.set_context: the tasklet runs in the given context; returns the tasklet."""
    seen, context = [], a_context("given")

    def body():
        seen.append(VAR.get())
        VAR.set("changed")

    task = stackless.tasklet(body)
    assert task.set_context(context) is task
    task()
    stackless.run()
    assert seen == ["given"]
    assert context[VAR] == "changed"


def test_set_context_takes_contexts():
    """Spec 3, tasklet.set_context: anything else is a TypeError."""
    with pytest.raises(TypeError):
        stackless.tasklet().set_context({})


def test_context_run(mode):
    """Spec 3, tasklet.context_run: calls a function in the tasklet's context."""
    task = stackless.tasklet(print, ()).set_context(a_context("given"))

    def swap(new, *, also):
        old = VAR.get()
        VAR.set(new)
        return old, also

    assert task.context_run(swap, "new", also=1) == ("given", 1)
    assert task.context_run(VAR.get) == "new"
    assert VAR.get() == "unset"


def test_context_id():
    """Spec 3, tasklet.context_id: the same number for the same context only."""
    context = a_context("given")
    a, b, c = (stackless.tasklet(print, ()) for _ in range(3))
    a.set_context(context)
    b.set_context(context)
    c.set_context(a_context("other"))
    assert isinstance(a.context_id, int)
    assert a.context_id == b.context_id != c.context_id
    with pytest.raises(AttributeError):
        a.context_id = 1


def test_the_current_tasklet_has_its_context():
    """Spec 3, tasklet.context_id: it can be asked for, and stays; it cannot be exchanged."""
    me = stackless.getcurrent()
    assert me.context_id == me.context_id != 0
    assert me.context_run(divmod, 17, 5) == (3, 2)
    with pytest.raises(RuntimeError, match="context of the current tasklet"):
        me.set_context(contextvars.Context())
    with pytest.raises(TypeError):
        me.set_context(5)


def test_an_exception_in_another_context():
    """Spec 3, tasklet.context_run: it is raised here, and the context is left."""
    task = stackless.tasklet(int)
    before = contextvars.copy_context()
    with pytest.raises(ZeroDivisionError):
        task.context_run(divmod, 1, 0)
    assert task.context_run(divmod, 17, 5) == (3, 2)
    assert list(contextvars.copy_context().items()) == list(before.items())


def test_a_tasklet_that_waits_in_a_context(soft):
    """Spec 3, tasklet.set_context: refused while it waits in Context.run(), to which it returns."""
    log, context, ch = [], contextvars.Context(), stackless.channel()

    def body():
        call = ch.receive
        log.append(context.run(lambda: call()))

    task = stackless.tasklet(body)()
    stackless.run()
    with pytest.raises(RuntimeError, match=r"waits in Context.run\(\) keeps"):
        task.set_context(contextvars.Context())
    ch.send(1)
    assert log == [1]
    with pytest.raises(RuntimeError, match="is already entered"):
        context.run(context.run, int)
