"""Arguments of a blocking call and values in unfinished expressions survive."""

import pytest

import loomlet
from loomlet import Channel


@pytest.mark.parametrize("count", range(0, 24))
def test_spawn_with_any_number_of_arguments(count, mode):
    """A tasklet gets all its arguments, positional and by keyword."""

    def body(*args, **kwargs):
        loomlet.schedule()
        return args, kwargs

    args = tuple(object() for _ in range(count))
    kwargs = {f"k{n}": object() for n in range(count)}
    assert loomlet.spawn(body, *args, **kwargs).result() == (args, kwargs)


def test_operands_below_the_call(mode):
    """What an expression has computed before it blocks is there afterwards."""

    def body():
        a, b = object(), object()
        return (
            [a, (b, "x" * int("3"), ch.receive(), {"k": ch.receive(), **{"z": ch.receive()}})],
            a,
            b,
        )

    ch = Channel()
    task = loomlet.spawn(body)
    for n in range(3):
        loomlet.schedule()
        ch.send(n)
    found, a, b = task.result()
    assert found == [a, (b, "xxx", 0, {"k": 1, "z": 2})]


def test_a_wrong_number_of_arguments_is_a_type_error(mode):
    """Blocking functions check their arguments as any function does."""
    ch = Channel()
    for call in (
        lambda: ch.send(),
        lambda: ch.send(1, 2, 3),
        lambda: ch.receive(1, 2),
        lambda: ch.send(value=1),
        lambda: loomlet.schedule(1),
        lambda: loomlet.sleep(),
        lambda: loomlet.sleep("1"),
        lambda: loomlet.sleep(float("nan")) if False else loomlet.sleep(None),
        lambda: loomlet.select(),
        lambda: loomlet.select([ch], tmeout=1),
        lambda: loomlet.current().join(1, 2),
        lambda: loomlet.spawn(),
        lambda: loomlet.spawn(1),
    ):
        with pytest.raises(TypeError):
            call()
    assert ch.balance == 0


def test_wrong_arguments_of_the_spawned_function_end_the_tasklet(mode):
    """A function spawned with arguments that it does not take ends with the TypeError."""
    task = loomlet.spawn(lambda a: a)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        task.join()
