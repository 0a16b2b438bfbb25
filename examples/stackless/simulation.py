"""Six thousand actors in simulated time: a day at a post office with eight counters.

Each visitor is a tasklet that sleeps until it arrives, waits for a counter, is served and leaves.
No clock is involved: the simulation keeps a heap of tasklets by the time when they wake, and sets
its own time to the first of them whenever all tasklets wait.  That is all, and so a day of
thousands takes a moment, and is the same day each time.

Shows: your own scheduler in twenty lines, made of schedule_remove() and insert().
Run: python examples/stackless/simulation.py
"""

import heapq
import random

import loomlet.compat.stackless as stackless


class World:
    """Simulated time: sleep() is for actors, run() for the owner of the world."""

    def __init__(self):
        self.now, self._sleepers, self._count = 0, [], 0

    def sleep(self, seconds):
        """The calling actor continues `seconds` later."""
        self._count += 1  # first asleep, first awake
        entry = (self.now + seconds, self._count, stackless.getcurrent())
        heapq.heappush(self._sleepers, entry)
        stackless.schedule_remove()

    def run(self):
        """Until no actor sleeps any more."""
        stackless.run()
        while self._sleepers:
            self.now, _, actor = heapq.heappop(self._sleepers)
            actor.insert()
            stackless.run()


class PostOffice:
    """Counters are tokens that the office holds; a visitor who finds none waits in line."""

    def __init__(self, world, counters):
        self.world, self.free, self.line = world, counters, stackless.channel()
        self.served, self.waited, self.longest = 0, 0, 0

    def visit(self, comes_at, takes):
        self.world.sleep(comes_at)
        came = self.world.now
        if self.free:
            self.free -= 1
        else:
            self.longest = max(self.longest, 1 - self.line.balance)
            self.line.receive()
        self.waited += self.world.now - came
        self.world.sleep(takes)
        self.served += 1
        if self.line.balance < 0:
            self.line.send(None)  # the counter goes to the first in the line
        else:
            self.free += 1


def main(visitors=6000, counters=8):
    world, dice = World(), random.Random(1913)
    office = PostOffice(world, counters)
    for _ in range(visitors):
        comes_at, takes = dice.randrange(8 * 3600), dice.randrange(10, 60)
        stackless.tasklet(office.visit)(comes_at, takes)
    print(f"{stackless.getruncount() - 1} visitors on their way")
    world.run()
    print(f"{office.served} were served, all counters free: {office.free == counters}")
    print(f"the last one left {world.now} seconds after opening")
    print(f"the longest line: {office.longest}; all waiting together: {office.waited} seconds")


if __name__ == "__main__":
    main()
