"""Time limits, scopes and kill() inside unmodified libraries, which remain usable."""

import gc
import os

import helpers_simultaneous_waits
import pytest

import loomlet
from loomlet import net

COUNT = 10
LATE = 1000  # a number that the server does not count
WAIT = 0.2  # seconds, in which a connection is made and begins to wait


def late(ask):
    """loomlet.timeout; nothing else ends the request."""
    with pytest.raises(TimeoutError, match="block timed out"), loomlet.timeout(WAIT):
        ask(LATE)


def cancelled(ask):
    """A scope that another tasklet cancels."""
    with loomlet.CancelScope() as scope:
        canceller = loomlet.spawn(lambda: (loomlet.sleep(WAIT), scope.cancel()))
        ask(LATE)
    canceller.join()
    assert scope.cancelled_caught


def killed(ask):
    """A tasklet that ends in the middle."""
    victim = loomlet.spawn(ask, LATE)
    loomlet.sleep(WAIT)
    victim.kill()
    with pytest.raises(loomlet.TaskletKilled):
        victim.join()


def open_descriptors():
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def wait_for_something():
    """Makes the thread's poller, which stays."""
    one, other = net.pair()
    with one, other:
        task = loomlet.spawn(one.wait_readable)
        loomlet.schedule()
        other.send_all(b"x")
        task.join()


# A request of httpx that is ended leaves its connection to the collector, with TLS or without; so
# does one of psycopg that has just been given one, where that takes longer than WAIT.
@pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")
@pytest.mark.filterwarnings("ignore:unclosed <(socket|ssl):ResourceWarning")
@pytest.mark.filterwarnings("ignore:.* was deleted while still open:ResourceWarning")
@pytest.mark.parametrize("way", [late, cancelled, killed])
@pytest.mark.parametrize("library", helpers_simultaneous_waits.LIBRARIES)
def test_a_wait_is_ended_and_the_library_still_works(library, way, request):
    """Ten at once, twice; then ten more get their answers, and no descriptor is left."""
    pytest.importorskip(helpers_simultaneous_waits.MODULES.get(library, library))
    address = request.getfixturevalue(f"{helpers_simultaneous_waits.SERVERS[library]}_server")

    def main():
        used = helpers_simultaneous_waits.LIBRARIES[library](address, COUNT)
        for _ in range(2):
            helpers_simultaneous_waits.together(lambda number: way(used.ask), COUNT)
        helpers_simultaneous_waits.ask_together(used, COUNT)
        used.close()

    loomlet.run(wait_for_something)
    before = open_descriptors()
    loomlet.run(main)
    gc.collect()
    assert open_descriptors() == before
