"""contextvars and what is built on them: each tasklet has its own, spawned or a thread."""

import contextvars
import decimal
import threading

import pytest

import loomlet


@pytest.fixture(params=[False, True], ids=["spawned", "threads"])
def run_all(request):
    """Runs functions in a tasklet each until all have ended."""

    def start(body):
        if not request.param:
            return loomlet.spawn(body)
        thread = threading.Thread(target=body)
        thread.start()
        return thread

    return lambda *bodies: loomlet.run(
        lambda: [one.join() for one in [start(body) for body in bodies]]
    )


def test_a_context_variable(run_all):
    """What one sets no other sees, over switches and time slices."""
    var = contextvars.ContextVar("var", default=0)

    def body(n):
        var.set(n)
        for _ in range(5):
            loomlet.schedule()
            assert var.get() == n

    run_all(*[lambda n=n: body(n) for n in range(1, 6)])
    assert var.get() == 0


def test_the_precision_of_decimal(run_all):
    """setcontext(), getcontext() and localcontext()."""
    before = decimal.getcontext().prec

    def body(places):
        decimal.setcontext(decimal.Context(prec=places))
        loomlet.schedule()
        assert len(str(decimal.Decimal(1) / 3)) == places + 2
        with decimal.localcontext() as context:
            context.prec = places + 1
            loomlet.schedule()
            assert len(str(decimal.Decimal(1) / 3)) == places + 3
        loomlet.schedule()
        assert decimal.getcontext().prec == places

    run_all(*[lambda n=n: body(n) for n in range(5, 10)])
    assert decimal.getcontext().prec == before
