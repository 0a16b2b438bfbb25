"""Two tasklets that take two locks in opposite order."""

from loomlet import schedule, spawn


def work(first, second):
    """Takes the first lock, lets the others run, and takes the second."""
    with first:
        schedule()
        with second:
            pass


def spawn_in_opposite_order(left, right):
    """The tasklets: ann takes the left lock first, bob the right one."""
    tasks = [spawn(work, left, right), spawn(work, right, left)]
    for task, name in zip(tasks, ("ann", "bob"), strict=True):
        task.name = name
    return tasks
