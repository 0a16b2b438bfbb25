"""Functions whose frozen frames are kept for ever; nothing in here may change."""


def counts(ch):
    total = 0

    def add(n):
        nonlocal total
        total += n
        return total

    seen = []
    for number in values(ch):
        seen.append(add(number))
    return seen


def values(ch):
    for _ in range(3):
        yield ch.receive()


def handles(ch):
    try:
        raise KeyError("old")
    except KeyError as error:
        got = ch.receive()
        return repr(error), got, {"a": 1}.items() | {("b", got)}


def loops(ch):
    found = []
    for place, (key, value) in enumerate({"x": 1, "y": 2}.items()):
        found.append((place, key, value, ch.receive()))
    return found


def local(ch):
    class Local:
        def ask(self):
            return super().__init__(), ch.receive()

    return Local().ask(), ch.receive()


EXPECTED = {
    "counts": [7, 15, 24],
    "handles": ("KeyError('old')", 7, {("a", 1), ("b", 7)}),
    "loops": [(0, "x", 1, 7), (1, "y", 2, 8)],
    "local": ((None, 7), 8),
}
"""What they return when they receive 7, 8, 9…"""
