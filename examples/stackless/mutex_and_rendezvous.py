"""A lock and a meeting point, each made of one channel.

The mutex: a channel on which the tasklets that want it wait.  A release sends the right to continue
to the first of them, so it is fair, and no newcomer can slip in between.

The rendezvous: a place where N tasklets wait for each other.  The last one to arrive finds the
others in the channel and wakes each of them.

Shows: balance counts waiters; the next tasklet to run is known exactly, so tests are deterministic.
Run: python examples/stackless/mutex_and_rendezvous.py
"""

import loomlet.compat.stackless as stackless


class Mutex:
    """For with-blocks; one tasklet at a time is in it, the others come in order."""

    def __init__(self):
        self._waiting, self._taken = stackless.channel(), False
        self._waiting.preference = 0  # a release must not switch away from the caller

    def __enter__(self):
        if self._taken:
            self._waiting.receive()
        self._taken = True
        return self

    def __exit__(self, *exc_info):
        if self._waiting.balance < 0:
            self._waiting.send(None)  # stays taken: it changes hands
        else:
            self._taken = False


class Rendezvous:
    """wait() returns when `size` tasklets have called it; then it can be used again."""

    def __init__(self, size):
        self._size, self._waiting = size, stackless.channel()
        self._waiting.preference = 0

    def wait(self):
        if 1 - self._waiting.balance < self._size:
            self._waiting.receive()
            return
        for _ in range(self._size - 1):
            self._waiting.send(None)


class Account:
    """A balance that is changed in two steps with a switch in between: it needs the mutex."""

    def __init__(self):
        self.balance, self.mutex = 0, Mutex()

    def deposit_carelessly(self, amount):
        balance = self.balance
        stackless.schedule()  # meanwhile another tasklet reads the same balance
        self.balance = balance + amount

    def deposit(self, amount):
        with self.mutex:
            self.deposit_carelessly(amount)


def save(account, how):
    for _ in range(10):
        getattr(account, how)(1)


def walk(name, stages, meeting, log):
    for stage in range(stages):
        for _ in range(len(name)):
            stackless.schedule()  # some are faster than others
        log.append(f"{name}{stage}")
        meeting.wait()


def main():
    for how in ("deposit_carelessly", "deposit"):
        account = Account()
        for _ in range(5):
            stackless.tasklet(save)(account, how)
        stackless.run()
        print(f"{how}: 50 were brought, {account.balance} are there")
    names, log, meeting = ("a", "bbb", "cc"), [], Rendezvous(3)
    for name in names:
        stackless.tasklet(walk)(name, 3, meeting, log)
    stackless.run()
    for stage in range(3):
        print(f"stage {stage}:", *log[3 * stage : 3 * stage + 3])


if __name__ == "__main__":
    main()
