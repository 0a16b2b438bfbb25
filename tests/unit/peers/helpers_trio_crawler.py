"""A crawler: visits every page that links lead to, two at once, and gives up on slow ones."""

import trio

LINKS = {"/": ["/a", "/b"], "/a": ["/c", "/slow"], "/b": ["/c"], "/c": ["/"], "/slow": ["/d"]}


async def fetch(page):
    await trio.sleep(10 if page == "/slow" else 0.01)
    return LINKS[page]


async def visit(page, seen, nursery, limit):
    if page in seen:
        return
    seen[page] = "too slow"
    async with limit:
        with trio.move_on_after(0.1):
            links = await fetch(page)
            seen[page] = f"{len(links)} links"
            for link in links:
                nursery.start_soon(visit, link, seen, nursery, limit)


async def main():
    seen = {}
    async with trio.open_nursery() as nursery:
        await visit("/", seen, nursery, trio.Semaphore(2))
    for page in sorted(seen):
        print(page, seen[page])


trio.run(main)
