"""A crawler: visits every page that links lead to, two at once, and gives up on slow ones."""

import loomlet
from loomlet import Semaphore, TaskGroup, move_on_after

LINKS = {"/": ["/a", "/b"], "/a": ["/c", "/slow"], "/b": ["/c"], "/c": ["/"], "/slow": ["/d"]}


def fetch(page):
    loomlet.sleep(10 if page == "/slow" else 0.01)
    return LINKS[page]


def visit(page, seen, group, limit):
    if page in seen:
        return
    seen[page] = "too slow"
    with limit, move_on_after(0.1):
        links = fetch(page)
        seen[page] = f"{len(links)} links"
        for link in links:
            group.spawn(visit, link, seen, group, limit)


def main():
    seen = {}
    with TaskGroup() as group:
        visit("/", seen, group, Semaphore(2))
    for page in sorted(seen):
        print(page, seen[page])


loomlet.run(main)
