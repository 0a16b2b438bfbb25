"""A dump names what each tasklet waits for, and its holder."""

PROGRAM = """
import threading
import loomlet
from loomlet import net

channel = loomlet.Channel(name="jobs")
lock, stock, plain = loomlet.Lock(), threading.RLock(), threading.Lock()
one, other = net.pair()

def holder():
    with lock, stock, plain:
        loomlet.sleep(60)

def acquire(what):
    with what:
        pass

def join(task):
    task.join()

def group():
    with loomlet.TaskGroup() as group:
        group.spawn(loomlet.sleep, 60).name = "child"

def late():
    with loomlet.timeout(60):
        channel.receive()

def several():
    loomlet.select([channel, loomlet.Channel(name="other")])

def data():
    one.receive_some()

def main():
    tasks = [loomlet.spawn(holder), loomlet.spawn(channel.receive)]
    loomlet.schedule()
    for what in lock, stock, plain:
        tasks.append(loomlet.spawn(acquire, what))
    tasks.append(loomlet.spawn(join, tasks[0]))
    tasks += [loomlet.spawn(f) for f in (group, late, several, data)]
    names = "holder receive lock stock plain join group late several data"
    for name, task in zip(names.split(), tasks):
        task.name = name
    loomlet.sleep(0.01)
    print("ready", flush=True)
    loomlet.sleep(60)

loomlet.run(main)
"""


def test_every_kind_of_wait(begin, look):
    """A channel with its name, a lock with its holder, a join, a group, a sleep, a select, data."""
    process = begin(PROGRAM)
    found = look(process.pid, lambda dump: not dump.threads[0].running)
    tasks = {task.name: task for task in found.tasks()}
    holder, child = tasks["holder"].id, tasks["child"].id
    shown = {
        name: (task.waiting_in, [(t.type, t.name, t.holder) for t in task.targets])
        for name, task in tasks.items()
    }
    assert shown == {
        "main": ("sleep", []),
        "holder": ("sleep", []),
        "child": ("sleep", []),
        "receive": ("receive", [("loomlet.Channel", "jobs", 0)]),
        "lock": ("acquire", [("loomlet.Lock", "", holder)]),
        "stock": ("acquire", [("_thread.RLock", "", holder)]),
        "plain": ("acquire", [("_thread.lock", "", holder)]),
        "join": ("join", [("loomlet.Tasklet", "", holder)]),
        "group": ("join", [("TaskGroup", "", child)]),
        "late": ("receive", [("loomlet.Channel", "jobs", 0)]),
        "several": ("select", [("loomlet.Channel", "jobs", 0), ("loomlet.Channel", "other", 0)]),
        "data": ("read", [("Stream", "", 0)]),
    }
    assert 0 < tasks["holder"].deadline <= 60
    assert tasks["join"].deadline is None
