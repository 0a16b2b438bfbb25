"""Tasklets and asyncio in one thread: plain functions call coroutines, and the reverse.

    from loomlet import aio, run, spawn

    def fetch(url):                                # a plain function, in a tasklet
        return aio.await_(client.get(url))         # ... waits for a coroutine

    async def handler(request):                    # a coroutine
        return await aio.to_tasklet(render, request)   # ... waits for a plain function

Each thread has one event loop, started when it is first needed and run by one tasklet.  It is
asyncio's own selector loop; only its wait is ours (_event_loop.py).  So asyncio's libraries see a
running loop like any other, and tasklets run while it waits.

Invariants.
  1. Inside that tasklet asyncio.get_running_loop() is the loop; every other tasklet has none.  This
     holds at each moment: in a wait, in a blocking call of a coroutine, between two time slices.
     The native core swaps what a running loop has set when it switches to or from its tasklet
     (src/core/sched/guests/event_loop.c).
  2. An interrupted wait leaves no task behind: await_() cancels the coroutine, `await to_tasklet()`
     kills the tasklet, and both wait for its end.
  3. The loop ends with its tasklet: at the end of run(), of the thread, or of the interpreter.  Its
     tasks are cancelled and waited for, its asynchronous generators and its executor are shut down.
  4. In the child of a fork there is no loop: its open descriptors belong to the parent.

Names.  to_tasklet is asyncio.to_thread with a tasklet; result(tasklet) is tasklet.result() for
coroutines; get_loop() and close() are those of asyncio.Runner.

Threads.  Each function here applies to the calling thread and its loop.

Rejected.
  A loop in a thread of its own: every call costs two thread switches, and shared objects need
  locks.  Running coroutines without asyncio: its libraries ask for a loop, and check its type.
  Coroutines in the calling tasklet, each with its own loop: connections, queues and locks belong to
  one loop and could not be shared.
"""

from loomlet._public import show_in
from loomlet.aio._bridge import await_, result, to_tasklet
from loomlet.aio._event_loop import EventLoop
from loomlet.aio._loop_runner import close, get_loop

__all__ = ["EventLoop", "await_", "close", "get_loop", "result", "to_tasklet"]

show_in(__name__, *[globals()[name] for name in __all__])
