"""A function of which a call was handed over runs apart, but not for long without another one."""

from helpers_c_calls import Gate, run, teach, where

from loomlet import spawn


def test_when_its_calls_return_at_once():
    """Its tasklets go back to the others; going to and fro would cost more than a call."""

    def function(gate):
        if gate is not None:
            gate.wait()
        return where()

    def main():
        home = where()
        with Gate() as gate:
            teach(function, gate)
            return home, [spawn(function, None).result() for _ in range(1000)]

    home, found = run(main)
    assert found[0] != home
    assert {*found[-100:]} == {home}
