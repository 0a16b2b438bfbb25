"""Testing concurrent programs without luck: time that jumps, orders that repeat, leaks that show.

    virtual_clock()     sleeps and timeouts take no time and are exact
    seeded(n)           a run order chosen at random, the same for the same n
    explore(test)       runs a function once per seed and names the seed that fails
    wait_all_blocked()  goes on when every other tasklet waits
    Sequencer()         forces an order on blocks of different tasklets
    assert_no_leaks()   fails when a block leaves tasklets, objects or memory behind

All of them concern the calling thread only.
"""

from loomlet.testing.blocked import Sequencer, wait_all_blocked
from loomlet.testing.clock import VirtualClock, virtual_clock
from loomlet.testing.leaks import assert_no_leaks
from loomlet.testing.order import explore, seeded

__all__ = [
    "Sequencer",
    "VirtualClock",
    "assert_no_leaks",
    "explore",
    "seeded",
    "virtual_clock",
    "wait_all_blocked",
]
