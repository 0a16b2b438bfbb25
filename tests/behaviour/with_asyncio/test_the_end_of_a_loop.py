"""A loop ends with run(), its thread or the process, or by close(): nothing of it is left."""

import asyncio
import errno
import threading

import pytest

import loomlet
from loomlet import _core, aio


async def begin(coroutine):
    """Makes a task that is not awaited."""
    return asyncio.create_task(coroutine)


async def generate(ended):
    """An asynchronous generator that waits while it ends."""
    try:
        while True:
            await asyncio.sleep(0)
            yield len(ended)
    finally:
        await asyncio.sleep(0.001)
        ended.append("generator")


def use(steps, ended, held):
    """Leaves a task, a generator half-way, a thread of the executor, and a timer behind."""

    async def main():
        held.append(generate(ended))
        await anext(held[0])
        loop = asyncio.get_running_loop()
        loop.call_later(1000, print)
        await loop.run_in_executor(None, int)

    aio.await_(main())
    aio.await_(begin(steps.wait()))
    steps.started()
    return aio.get_loop()


def check(loop, steps, ended):
    """All that use() left has been ended in order."""
    assert steps.seen == ["begun", "cancelled", "ended"]
    assert ended == ["generator"]
    assert loop.is_closed()
    assert not [t for t in threading.enumerate() if t.name.startswith("asyncio")]


def test_close(mode, steps):
    """And the next call begins a new one."""
    ended, held = [], []
    loop = use(steps, ended, held)
    aio.close()
    check(loop, steps, ended)
    aio.close()
    assert aio.await_(asyncio.sleep(0, "new")) == "new"
    assert aio.get_loop() is not loop


@pytest.mark.parametrize("slice", [None, 0.01])
def test_the_end_of_run(mode, steps, slice):
    """One loop for each run(), unless the thread had one before."""
    ended, held = [], []
    loop = loomlet.run(use, steps, ended, held, slice=slice)
    check(loop, steps, ended)


@pytest.mark.parametrize("inside", [True, False])
def test_the_end_of_a_thread(steps, inside):
    """With run() and without."""
    ended, held, loops = [], [], []

    def body():
        loops.append(use(steps, ended, held))

    thread = threading.Thread(target=loomlet.run if inside else body, args=(body,) * inside)
    thread.start()
    thread.join()
    check(loops[0], steps, ended)


def test_the_end_of_run_before_the_loop_has_run(mode):
    """It is closed all the same."""
    assert loomlet.run(aio.get_loop).is_closed()


def test_tasklets_that_wait_at_the_end_of_run(mode):
    """Killed: they and their coroutines clean up, in whichever order they are met."""
    seen = []

    async def wait(n):
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.001)
            seen.append(("coroutine", n))

    def body(n):
        try:
            aio.await_(wait(n))
        finally:
            seen.append(("tasklet", n))

    def main():
        for n in range(5):
            loomlet.spawn(body, n)
        loomlet.sleep(0.01)

    loomlet.run(main)
    assert sorted(seen) == sorted((kind, n) for kind in ("coroutine", "tasklet") for n in range(5))


def test_a_task_that_fails_at_the_end_is_reported(mode, steps):
    """Through the loop's exception handler, as by asyncio.run()."""
    errors = []

    async def fail():
        try:
            await asyncio.sleep(1000)
        finally:
            raise LookupError("while ending")

    task = aio.await_(begin(fail()))
    aio.await_(asyncio.sleep(0))
    aio.get_loop().set_exception_handler(lambda loop, context: errors.append(context["exception"]))
    aio.close()
    assert [repr(error) for error in errors] == ["LookupError('while ending')"]
    assert task.done()


def test_a_stopped_loop_is_run_again(mode):
    """stop() is for those who run a loop themselves."""
    loop = aio.get_loop()
    loop.call_soon(loop.stop)
    assert aio.await_(asyncio.sleep(0.001, "on")) == "on"


EXIT = """
import asyncio, sys
import loomlet
from loomlet import aio

async def wait():
    begun.append(True)
    try:
        await asyncio.sleep(1000)
    finally:
        await asyncio.sleep(0.01)
        print("ended", flush=True)

async def begin():
    return asyncio.create_task(wait()), asyncio.create_task(asyncio.to_thread(int))

begun = []
held = aio.await_(begin())
while not begun:
    loomlet.schedule()
loomlet.spawn(aio.await_, asyncio.sleep(1000))
loomlet.schedule()
"""


@pytest.mark.parametrize("last", ["", "sys.exit(3)", "raise KeyboardInterrupt"])
def test_the_end_of_the_interpreter(python, last):
    """However it ends, and with every warning enabled."""
    done = python(EXIT + last, PYTHONWARNINGS="always", PYTHONASYNCIODEBUG="1")
    assert done.stdout == "ended\n"
    for trouble in ("Warning", "never", "destroyed", "RuntimeError", "Fatal", "Segmentation"):
        assert trouble not in done.stderr


EXECUTOR = """
import asyncio, time
import loomlet
from loomlet import aio, patch

patch.install(threads=True)
done = []

def work():
    time.sleep(0.05)  # the loop shall end meanwhile
    done.append(True)

async def begin():
    asyncio.get_running_loop().run_in_executor(None, work)

for _ in range(2):
    loomlet.run(aio.await_, begin(), slice=0.01, handoff=%s)
print(len(done))
"""


@pytest.mark.parametrize("handoff", [False, True])
def test_the_end_of_run_in_a_patched_program(python, handoff):
    """A wait of the ending loop holds the thread there too, so no kill interrupts it."""
    if handoff and not _core._can_hand_over():
        pytest.skip("handoff needs 3.12 or later")
    done = python(EXECUTOR % handoff, PYTHONWARNINGS="always")
    assert (done.stdout, done.stderr) == ("2\n", "")


FORK = """
import asyncio, os
import loomlet
from loomlet import aio

async def echo(reader, writer):
    while data := await reader.read(100):
        writer.write(data)
    writer.close()

async def open_pair():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    return server, *await asyncio.open_connection(*server.sockets[0].getsockname())

async def ask(data):
    writer.write(data)
    return await reader.readexactly(len(data))

async def finish():
    writer.close()
    await writer.wait_closed()
    server.close()
    await asyncio.sleep(0.01)  # asyncio complains of handlers that are cancelled

def wait():
    try:
        aio.await_(asyncio.sleep(1000))
    except loomlet.TaskletError as error:
        return "lost"

server, reader, writer = aio.await_(open_pair())
assert aio.await_(ask(b"before")) == b"before"
waiting = loomlet.spawn(wait)
loomlet.schedule()
pid = os.fork()
if pid == 0:
    assert waiting.result() == "lost"
    assert aio.await_(asyncio.sleep(0.001, "new")) == "new"
    print("child", flush=True)
    raise SystemExit
assert os.waitpid(pid, 0)[1] == 0
assert aio.await_(ask(b"after")) == b"after"
aio.await_(finish())
print("parent", flush=True)
"""


def test_the_child_of_a_fork_has_no_loop(python):
    """Waiters get an error; the parent's continues; the child can begin one of its own."""
    done = python(FORK)
    assert done.stdout == "child\nparent\n", done.stderr
    assert "Error" not in done.stderr
    assert "destroyed" not in done.stderr


def test_a_fork_in_a_coroutine(python):
    """The child's coroutine continues to its next await, and no further."""
    done = python(
        """
        import asyncio, os, sys
        from loomlet import aio

        async def main():
            pid = os.fork()
            if pid == 0:
                try:
                    asyncio.get_running_loop()
                except RuntimeError:
                    print("none", flush=True)
                await asyncio.sleep(0)
                print("never")
            assert os.waitpid(pid, 0)[1] == 0
            await asyncio.sleep(0)
            return "parent"

        try:
            print(aio.await_(main()))
        except Exception as error:
            print(type(error).__name__, flush=True)
        """
    )
    assert done.stdout == "none\nTaskletError\nparent\n", done.stderr


WITHIN = """
import asyncio, os, resource
from loomlet import aio

def room_for(count):
    "Takes all descriptors but that many; gives those it took."
    taken = [os.open(os.devnull, os.O_RDONLY)]
    last = max(taken[0], *map(int, os.listdir("/proc/self/fd")))
    while taken[-1] < last:
        taken.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[-1] + 1 + count, limits[1]))
    return taken

def loop_within(count):
    "Begins a loop when so many descriptors are left; gives what comes of it."
    taken = room_for(count)
    try:
        aio.get_loop()
        return "begun"
    except OSError as error:
        return error.errno
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for fd in taken:
            os.close(fd)

limits = resource.getrlimit(resource.RLIMIT_NOFILE)
aio.await_(asyncio.sleep(0))  # so that all is imported
aio.close()
print([loop_within(count) for count in range(4)])
print(aio.await_(asyncio.sleep(0, "now")))
"""


def test_without_descriptors_a_loop_cannot_begin(mode, python):
    """OSError, and nothing is left half made; it takes a set and a pair of sockets."""
    done = python(WITHIN, LOOMLET_SOFT="1" if mode == "soft" else "0")
    full = errno.EMFILE
    assert done.stdout == f"{[full, full, full, 'begun']}\nnow\n", done.stderr
