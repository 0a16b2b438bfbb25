"""Work from a channel and something every now and then, until the work is over."""

import loomlet
from loomlet import Channel, select, spawn, ticker


def produce(work):
    for n in range(5):
        loomlet.sleep(0.02)
        work.send(n)
    work.close()


def main():
    work, total = Channel(), 0
    spawn(produce, work)
    with ticker(0.05) as ticks:
        while True:
            case, value = select([work, ticks], closed=None)
            if case == 1:
                print("so far", total)
            elif value is None:
                break
            else:
                total += value
    print("in all", total)


loomlet.run(main)
