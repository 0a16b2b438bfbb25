"""Deterministic tests of concurrent programs: virtual time, repeatable run orders, leak checks.

    virtual_clock()     sleeps and timeouts take no time and are exact
    seeded(n)           a run order chosen at random, the same for the same n
    explore(test)       runs a function once per seed and names the seed that fails
    wait_all_blocked()  returns when every other tasklet waits
    Sequencer()         forces an order on blocks of different tasklets
    assert_no_leaks()   fails when a block leaves tasklets, objects or memory behind

All of them apply to the calling thread only.
"""

from loomlet._public import show_in
from loomlet.testing._clock import VirtualClock, virtual_clock
from loomlet.testing._leaks import assert_no_leaks
from loomlet.testing._run_order import explore, seeded
from loomlet.testing._sequencing import Sequencer, wait_all_blocked

__all__ = [
    "Sequencer",
    "VirtualClock",
    "assert_no_leaks",
    "explore",
    "seeded",
    "virtual_clock",
    "wait_all_blocked",
]

show_in(__name__, *[globals()[name] for name in __all__])
