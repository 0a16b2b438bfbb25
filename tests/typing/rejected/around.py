"""Mistakes with the modules around the core."""

from typing import assert_type

from loomlet import Tasklet, aio, blocking, net, observe, patch, run_blocking, testing
from loomlet.compat import stackless


def streams(stream: net.Stream, listener: net.Listener) -> None:
    """Text for bytes, sockets for descriptors, and a `timeout` that nothing takes."""
    stream.send_all("text")  # wrong: arg-type, reportArgumentType
    stream.receive_exactly()  # wrong: call-arg, reportCallIssue
    stream.receive_into("text")  # wrong: arg-type, reportArgumentType
    net.connect(("host", 80), timeout=3)  # wrong: call-overload, reportCallIssue
    net.connect(("host", 80), tls=False)  # wrong: call-overload, reportCallIssue
    net.connect(("host", 80), server_hostname="host")  # wrong: call-overload, reportCallIssue
    net.listen(("", 0), tls=True)  # wrong: call-overload, reportCallIssue
    net.Stream("path")  # wrong: arg-type, reportArgumentType
    assert_type(listener.accept(), net.TLSStream)  # wrong: assert-type, reportAssertTypeFailure
    stream.handshake()  # wrong: attr-defined, reportAttributeAccessIssue


async def coroutine() -> int:
    """A coroutine."""
    return 1


async def awaiting(tasklet: Tasklet) -> None:
    """A function for a coroutine, and the reverse."""
    aio.await_(coroutine)  # wrong: arg-type, reportArgumentType
    assert_type(aio.await_(coroutine()), str)  # wrong: assert-type, reportAssertTypeFailure
    await aio.to_tasklet(len, 1)  # wrong: arg-type, reportArgumentType
    await aio.result(coroutine())  # wrong: arg-type, reportArgumentType
    await tasklet  # wrong: misc, reportGeneralTypeIssues


def calls() -> None:
    """Arguments of the function, and of what is set."""
    run_blocking(len)  # wrong: call-arg, reportCallIssue
    assert_type(run_blocking(len, "x"), str)  # wrong: assert-type, reportAssertTypeFailure
    blocking.configure(3)  # wrong: call-arg, reportCallIssue
    print(blocking.threads().busy)  # wrong: attr-defined, reportAttributeAccessIssue
    patch.install(True)  # wrong: call-arg, reportCallIssue
    patch.install(sockets=True)  # wrong: call-arg, reportCallIssue


def tests() -> None:
    """Seeds and clocks are numbers, a test takes no argument."""
    testing.seeded("7")  # wrong: arg-type, reportArgumentType
    testing.virtual_clock("now")  # wrong: arg-type, reportArgumentType
    testing.explore(testing.seeded)  # wrong: arg-type, reportArgumentType
    with testing.Sequencer() as sequencer:  # wrong: attr-defined, reportGeneralTypeIssues
        print(sequencer)
    observe.dump("1234")  # wrong: arg-type, reportArgumentType
    observe.report_stalls("1")  # wrong: arg-type, reportArgumentType


def reference(tasklet: stackless.tasklet, channel: stackless.channel) -> None:
    """Signatures of the reference."""
    stackless.tasklet(1)  # wrong: arg-type, reportArgumentType
    tasklet.bind(print, args=1)  # wrong: arg-type, reportArgumentType
    tasklet.alive = False  # wrong: misc, reportAttributeAccessIssue
    channel.send_exception(ValueError("x"))  # wrong: arg-type, reportArgumentType
    stackless.run("long")  # wrong: arg-type, reportArgumentType
    stackless.set_schedule_callback(print, print)  # wrong: call-arg, reportCallIssue
    stackless.schedule_callback(print)  # wrong: attr-defined, reportAttributeAccessIssue
