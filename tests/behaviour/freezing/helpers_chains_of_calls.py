"""Calls, variables and expressions.

See helpers_chains.py; each function whose first parameter is `ch` is a chain, but for the helpers.
"""

from __future__ import annotations

import functools


def one_call(ch):
    return ch.receive()


def nested_calls(ch):
    def deepest():
        return ch.receive()

    def middle(n):
        return n + deepest()

    return [middle(10), middle(20)]


def ask(ch, *args, plus=0, **kwargs):
    value = ch.receive()
    return value + plus, args, sorted(kwargs.items())


def defaults(ch, a=5, *, b=[7]):  # noqa: B006
    first = ch.receive()
    b = [*b, first]
    return a, b, ch.receive()


def positional_arguments(ch):
    return ask(ch, ch.receive(), ch.receive(), plus=ch.receive())


def keyword_arguments(ch):
    return ask(ch, plus=100, one=ch.receive(), two=ch.receive())


def star_call(ch):
    args = [ch.receive(), ch.receive()]
    return ask(ch, *args, *args)


def double_star_call(ch):
    given = {"x": ch.receive(), "y": 3}
    return ask(ch, **given, plus=ch.receive())


def receive_by_stars(ch):
    return [ch.receive(*()), ch.receive(**{})]


def bound_method_in_variable(ch):
    receive = ch.receive
    return receive() * 10 + receive()


def lambdas(ch):
    double = lambda x: 2 * x + ch.receive()  # noqa: E731
    return double(1), (lambda: ch.receive())()  # noqa: PLC3002


def recursion_40_deep(ch):
    return down(ch, 40)


def down(ch, n):
    here = n * n
    if n == 0:
        return [ch.receive(), ch.receive()]
    below = down(ch, n - 1)
    return below + [here] if n % 10 == 0 else below


def mutual_recursion(ch):
    def even(n):
        return [n, ch.receive()] if n == 0 else odd(n - 1) + [n]

    def odd(n):
        return even(n - 1) + [-n]

    return even(6)


def decorated(ch):
    return wrapped(ch, 4) + wrapped(ch, 5)


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return ["before", *function(*args), "after"]

    return wrapper


@logged
def wrapped(ch, n):
    return [n, ch.receive()]


def closure_cells(ch):
    count = 0

    def add(n):
        nonlocal count
        count += n + ch.receive()
        return count

    seen = [add(10), add(20)]
    count += 1000
    return seen, add(30), count


def two_closures_share_a_cell(ch):
    total = 0

    def put(n):
        nonlocal total
        total += n

    def get():
        return total + ch.receive()

    put(5)
    first = get()
    put(6)
    return first, get(), total


def empty_cell(ch):
    def late():
        return x

    first = ch.receive()
    x = first + 1
    return late(), ch.receive(), late()


def deleted_variable(ch):
    x = y = 1
    del x
    first = ch.receive()
    try:
        x  # noqa: B018, F821
    except UnboundLocalError:
        y = "unbound"
    return y, first, ch.receive()


def closure_made_by_a_call(ch):
    def adder(n):
        def add(x):
            return x + n + ch.receive()

        return add

    three, four = adder(3), adder(4)
    return three(1), four(1), three(2)


def class_in_a_function(ch):
    class Local:
        factor = 3

        def __add__(self, other):
            return NotImplemented

        def times(self):
            return self.factor * ch.receive()

    it = Local()
    it.factor = 4
    return it.times(), Local().times(), type(it).__qualname__


def global_state(ch):
    before = len(REGISTER)
    first = ch.receive()
    return len(REGISTER) - before, first, REGISTER is globals()["REGISTER"]


REGISTER = ["kept by the module"]


def shared_objects(ch):
    one = [1]
    pair = (one, one)
    ring = {"pair": pair}
    ring["self"] = ring
    one.append(ch.receive())
    ring["pair"][1].append(ch.receive())
    return pair[0] is pair[1], one, ring["self"] is ring, ring["pair"][0] is one


def half_evaluated(ch):
    return 2 * (3 + ch.receive()) - [10, ch.receive(), 30][1] ** 2


def f_string(ch):
    return f"a{ch.receive()}b{ch.receive()!r:>5}c{ch.receive() + 1:03}"


def displays(ch):
    return [1, ch.receive(), *[ch.receive()]], {ch.receive(): ch.receive()}, {9, ch.receive()}


def comparison_chain(ch):
    return 0 < ch.receive() <= ch.receive() < 10, ch.receive() in (3, 4)


def conditional(ch):
    return ("yes" if ch.receive() == 1 else "no") + ("yes" if ch.receive() == 1 else "no")


def boolean_operators(ch):
    return (ch.receive() and 0) or ch.receive() or ch.receive()


def walrus(ch):
    found = []
    while (value := ch.receive()) < 4:
        found.append(value)
    return found, value


def slices_and_items(ch):
    data = list(range(10))
    data[ch.receive()] = ch.receive()
    return data[ch.receive() : ch.receive() + 3], data


def augmented(ch):
    table = {"a": 1}
    table["a"] += ch.receive()
    table["a"] *= ch.receive() + 1
    return table


def unpacking(ch):
    a, *b, (c, d) = ch.receive(), ch.receive(), 3, (4, ch.receive())
    return a, b, c, d
