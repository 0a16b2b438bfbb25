"""Two producers, one buffer, three consumers: a queue with an end, made of channels alone.

A channel holds nothing: a sender waits for a receiver.  So the buffer is a tasklet of its own
between two channels.  While it has items it serves waiting consumers; otherwise it takes from the
producers as long as it has room.

Producers end with the end of their goods.  When the last one has ended, the buffer empties itself
and closes the channel to the consumers, which ends their loops.

Shows: channel.balance to see what waits, close(), and loops over a channel.
Run: python examples/stackless/producer_consumer.py
"""

from collections import deque

import loomlet.compat.stackless as stackless

DONE = object()


def produce(name, amount, goods):
    for n in range(amount):
        goods.send(f"{name}{n}")
    goods.send(DONE)


def buffer(size, producers, goods, orders):
    """Keeps up to `size` items; ends when all producers have."""
    items, most = deque(), 0
    while producers or items:
        wanted = orders.balance < 0 and items
        if wanted or not producers or len(items) == size:
            orders.send(items.popleft())
            continue
        item = goods.receive()
        if item is DONE:
            producers -= 1
        else:
            items.append(item)
            most = max(most, len(items))
    orders.close()
    while orders.balance < 0:
        orders.send_exception(StopIteration)  # consumers that wait already
    print(f"the buffer held {most} items at most")


def consume(name, orders, eaten):
    for item in orders:
        eaten.append((name, item))
        stackless.schedule()  # the others are hungry too


def main():
    goods, orders, eaten = stackless.channel(), stackless.channel(), []
    stackless.tasklet(buffer)(3, 2, goods, orders)
    for name in ("apple", "pear"):
        stackless.tasklet(produce)(name, 6, goods)
    for name in ("Ann", "Bob", "Cem"):
        stackless.tasklet(consume)(name, orders, eaten)
    stackless.run()
    for name in ("Ann", "Bob", "Cem"):
        print(f"{name} ate", *[item for who, item in eaten if who == name])
    items = [item for _, item in eaten]
    print(f"{len(items)} items were eaten, {len(set(items))} different ones")
    apples = [item for item in items if item.startswith("apple")]
    print("apples in order:", apples == sorted(apples))


if __name__ == "__main__":
    main()
