"""A pool of workers: what fails is a result like others; the first fatal failure ends them all."""

import trio


async def parse(text):
    await trio.sleep(0.01)
    return int(text)


async def guarded(text):
    try:
        return await parse(text)
    except ValueError as error:
        return error


async def work(function, index, item, results, limit):
    async with limit:
        results[index] = await function(item)


async def pool(function, items, limit):
    results, limiter = [None] * len(items), trio.CapacityLimiter(limit)
    async with trio.open_nursery() as nursery:
        for index, item in enumerate(items):
            nursery.start_soon(work, function, index, item, results, limiter)
    return results


async def main():
    print(await pool(guarded, ["1", "two", "3"], limit=2))
    try:
        await pool(parse, ["1", "two", "3"], limit=2)
    except* ValueError as group:
        print(group.exceptions[0])


trio.run(main)
