"""Work from a channel and something every now and then, until the work is over."""

import trio


async def produce(send):
    async with send:
        for n in range(5):
            await trio.sleep(0.02)
            await send.send(n)


async def tick(seconds, send):
    async with send:
        while True:
            await trio.sleep(seconds)
            await send.send("tick")


async def main():
    total = 0
    events, receive = trio.open_memory_channel(0)
    async with trio.open_nursery() as nursery:
        work, jobs = trio.open_memory_channel(0)
        nursery.start_soon(produce, work)
        nursery.start_soon(tick, 0.05, events.clone())

        async def feed():
            async for value in jobs:
                await events.send(value)
            await events.send(None)

        nursery.start_soon(feed)
        async for event in receive:
            if event == "tick":
                print("so far", total)
            elif event is None:
                nursery.cancel_scope.cancel()
                break
            else:
                total += event
    print("in all", total)


trio.run(main)
