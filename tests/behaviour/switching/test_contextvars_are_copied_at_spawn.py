"""Every tasklet has its own context, a copy of its spawner's."""

import contextvars

import loomlet
from loomlet import Channel

variable = contextvars.ContextVar("variable", default="default")


def test_a_tasklet_sees_what_its_spawner_had_set(mode):
    """Values are those at the moment of spawn, not of the start."""

    def main():
        variable.set("at spawn")
        task = loomlet.spawn(variable.get)
        variable.set("later")
        return task.result(), variable.get()

    assert contextvars.copy_context().run(main) == ("at spawn", "later")


def test_a_value_set_by_a_tasklet_stays_with_it(mode):
    """Tasklets that set the same variable and switch see only their own value."""

    def body(n):
        variable.set(n)
        seen = []
        for _ in range(5):
            loomlet.schedule()
            seen.append(variable.get())
        return seen

    tasks = [loomlet.spawn(body, n) for n in range(4)]
    assert [task.result() for task in tasks] == [[n] * 5 for n in range(4)]
    assert variable.get() == "default"


def test_an_empty_context(mode):
    """A tasklet spawned in an empty context starts empty, and can set variables."""

    def body():
        before = variable.get()
        variable.set("mine")
        loomlet.schedule()
        return before, variable.get(), len(contextvars.copy_context())

    def main():
        return [loomlet.spawn(body) for _ in range(2)]

    tasks = contextvars.Context().run(main)
    assert [task.result() for task in tasks] == [("default", "mine", 1)] * 2


def test_a_chain_of_spawns(mode):
    """A tasklet's tasklets inherit its values."""

    def body(depth):
        variable.set(depth)
        loomlet.schedule()
        inner = loomlet.spawn(body, depth - 1).result() if depth else []
        return [variable.get(), *inner]

    assert loomlet.spawn(body, 3).result() == [3, 2, 1, 0]


def test_a_context_entered_by_a_tasklet(mode):
    """Context.run in a tasklet may block; the other tasklets keep their contexts."""
    ch = Channel()

    def inside():
        variable.set("inside")
        ch.receive()
        return variable.get()

    def body():
        variable.set("outside")
        return contextvars.Context().run(inside), variable.get()

    task = loomlet.spawn(body)
    loomlet.schedule()
    assert variable.get() == "default"
    ch.send(None)
    assert task.result() == ("inside", "outside")


def test_a_token_is_reset_after_a_switch(mode):
    """A value set before a switch can be reset by its token after it."""

    def body():
        token = variable.set("set")
        loomlet.schedule()
        variable.reset(token)
        return variable.get()

    tasks = [loomlet.spawn(body) for _ in range(2)]
    assert [task.result() for task in tasks] == ["default"] * 2
