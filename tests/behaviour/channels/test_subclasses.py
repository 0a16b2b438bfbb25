"""Channel can be subclassed."""

import loomlet
from loomlet import Channel


class Counting(Channel):
    def __new__(cls, label, capacity=0):
        self = super().__new__(cls, capacity)
        self.label = label
        self.sent = 0
        return self

    def send(self, value):
        self.sent += 1
        super().send((self.label, value))


class Doubling(Channel):
    def __next__(self):
        return 2 * super().__next__()


def test_attributes_and_overrides(mode):
    """A subclass has attributes of its own and may override methods that block."""
    ch = Counting("label", capacity=1)
    task = loomlet.spawn(lambda: [ch.send(n) for n in range(3)])
    assert [ch.receive() for _ in range(3)] == [("label", n) for n in range(3)]
    task.join()
    assert (ch.sent, ch.capacity) == (3, 1)


def test_an_overridden_next(mode):
    """A loop over a subclass calls its __next__, and ends with it."""
    ch = Doubling()
    task = loomlet.spawn(lambda: [value for value in ch])
    for value in (1, 2):
        loomlet.schedule()
        ch.send(value)
    loomlet.schedule()
    ch.close()
    assert task.result() == [2, 4]


def test_select_takes_it(mode):
    """An instance of a subclass is a case for select."""
    ch = Counting("label", 1)
    ch.send(1)
    assert loomlet.select([ch]) == (0, ("label", 1))


def test_weak_references():
    """A channel can be referred to weakly."""
    import weakref

    for cls in (Channel, Doubling):
        ch = cls()
        seen = weakref.ref(ch)
        assert seen() is ch
        del ch
        assert seen() is None
